// Replays random histories of producers and expects, step by step, what Kafka 4.4.0's own producer state said to them.
// The file and its format: tests/differential/ProducerStateCases.java.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/source_path_testing.h"
#include "storage/producer_state.h"

namespace cordwood::storage {
namespace {

using record::BatchHeader;

constexpr DurationMs kExpiration{1000};

std::string to_hex(BytesView bytes) {
  std::string hex;
  for (std::byte b : bytes) hex += fmt::format("{:02x}", std::to_integer<int>(b));
  return hex;
}

const char* name_of(ProducerFault fault) {
  switch (fault) {
    case ProducerFault::none: return "ok";
    case ProducerFault::out_of_order_sequence: return "out_of_order_sequence";
    case ProducerFault::invalid_producer_epoch: return "invalid_producer_epoch";
    case ProducerFault::invalid_txn_state: return "invalid_txn_state";
    case ProducerFault::transaction_coordinator_fenced: return "transaction_coordinator_fenced";
  }
  return "?";
}

AppendOrigin origin_of(char c) {
  return c == 'c' ? AppendOrigin::client : c == 'o' ? AppendOrigin::coordinator : AppendOrigin::replication;
}

std::string describe(const ProducerState& state, std::int64_t producer) {
  auto found = state.producers().find(producer);
  if (found == state.producers().end()) return "unknown";
  const ProducerEntry& e = found->second;
  std::string batches;
  for (const CachedBatch& b : e.batches) {
    if (!batches.empty()) batches += ',';
    batches += fmt::format("{}-{}@{}-{}t{}", b.first_sequence(), b.last_sequence, b.first_offset(), b.last_offset,
                           b.timestamp);
  }
  std::string open = e.current_txn_first_offset ? fmt::format("{}", *e.current_txn_first_offset) : "-";
  return fmt::format("epoch {} coordinator {} time {} txn {} [{}]", e.epoch, e.coordinator_epoch, e.last_timestamp, open,
                     batches);
}

class Replay {
 public:
  // The answer to one step, in the words of the file.
  std::string step(const std::string& text) {
    std::istringstream in(text);
    std::string what;
    in >> what;
    std::int64_t shown = 0;  // the file shows the state of this producer
    std::string answer;
    if (what == "batch") {
      answer = batch(in, shown);
    } else if (what == "marker") {
      answer = marker(in, shown);
    } else if (what == "watermark") {
      Offset offset;
      in >> offset.value;
      state_.on_high_watermark(offset);
      answer = "ok";
    } else if (what == "expire") {
      TimestampMs now;
      in >> now.value;
      state_.expire(now);
      answer = "ok";
    } else if (what == "reload") {
      TimestampMs now;
      in >> now.value;
      answer = "ok " + reload(now);
    }
    std::optional<Offset> unstable = state_.first_unstable_offset();
    prefix_ = fmt::format("{} / {} / {} / ", answer, unstable ? fmt::format("{}", *unstable) : "-",
                          state_.map_end_offset());
    return prefix_ + describe(state_, shown);
  }

  // The file shows some other producer after `expire` and `reload`: any of the four may match there.
  bool matches_for_some_producer(const std::string& expected) const {
    for (std::int64_t p = 0; p < 4; ++p) {
      if (prefix_ + describe(state_, p) == expected) return true;
    }
    return false;
  }

 private:
  std::string batch(std::istream& in, std::int64_t& shown) {
    char from;
    BatchHeader header;
    int count = 0;
    bool txn = false, bump = false;
    in >> from >> header.producer_id >> header.producer_epoch >> header.base_sequence >> count >>
        header.base_offset.value >> header.max_timestamp.value >> txn >> bump;
    shown = header.producer_id;
    header.record_count = count;
    header.last_offset_delta = count - 1;
    if (txn) header.attributes = 0x10;
    if (from == 'c') {
      if (auto known = state_.find_duplicate(header)) {
        return fmt::format("duplicate {} {} {}", known->first_offset(), known->last_offset, known->timestamp);
      }
    }
    ProducerFault fault = state_.check(header, origin_of(from), {}, {.producer_bumps_epoch = bump});
    if (fault != ProducerFault::none) return name_of(fault);
    EXPECT_FALSE(state_.update(header));
    return "ok";
  }

  std::string marker(std::istream& in, std::int64_t& shown) {
    char from, kind;
    std::int32_t coordinator = 0;
    int version = 0;
    BatchHeader header;
    in >> from >> header.producer_id >> header.producer_epoch >> coordinator >> header.base_offset.value >>
        header.max_timestamp.value >> kind >> version;
    shown = header.producer_id;
    header.record_count = 1;
    header.attributes = 0x30;
    ProducerFault fault = state_.check(header, origin_of(from), coordinator, {.marker_bumps_epoch = version >= 2});
    if (fault != ProducerFault::none) return name_of(fault);
    auto done = state_.update(header, coordinator, kind == 'A');
    if (!done) return "ok";
    EXPECT_EQ(done->producer_id, header.producer_id);
    return fmt::format("done {} {} {} {}", done->first_offset, done->last_offset, done->aborted ? 'A' : 'C',
                       state_.last_stable_offset_after(*done));
  }

  std::string reload(TimestampMs now) {
    ByteVector snapshot = encode_producer_snapshot(state_);
    Offset end = state_.map_end_offset();
    state_.clear();
    auto entries = decode_producer_snapshot(snapshot, "test").value();
    for (ProducerEntry& entry : entries) state_.restore(std::move(entry), now);
    state_.set_map_end_offset(end);
    return to_hex(snapshot);
  }

  ProducerState state_{kExpiration};
  std::string prefix_;
};

TEST(ProducerStateGolden, AnswersAsKafkaDoes) {
  std::ifstream file(source_path("tests/golden/storage/producer_state_cases.txt"));
  ASSERT_TRUE(file.is_open());
  std::optional<Replay> replay;
  std::string line;
  int number = 0, steps = 0;
  while (std::getline(file, line)) {
    ++number;
    if (line == "history") {
      replay.emplace();
      continue;
    }
    ASSERT_TRUE(replay);
    std::size_t arrow = line.find(" -> ");
    ASSERT_NE(arrow, std::string::npos) << number;
    std::string step = line.substr(0, arrow), expected = line.substr(arrow + 4);
    std::string answer = replay->step(step);
    if (step.starts_with("expire") || step.starts_with("reload")) {
      ASSERT_TRUE(replay->matches_for_some_producer(expected)) << "line " << number << ": " << line << "\nours: " << answer;
    } else {
      ASSERT_EQ(answer, expected) << "line " << number << ": " << step;
    }
    ++steps;
  }
  EXPECT_GT(steps, 1500);
}

}  // namespace
}  // namespace cordwood::storage
