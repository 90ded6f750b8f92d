// storage/cleaner/cleaner_testing.h — what the tests of the cleaner share: batches with keys, and logs read back.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/record.h"
#include "storage/cleaner/cleaning_pass.h"
#include "storage/log_testing.h"

namespace cordwood::storage::testing_support {

struct KeyedRecord {
  std::optional<std::string> key;
  std::optional<std::string> value;  // absent: a tombstone
  TimestampMs timestamp{1'700'000'000'000};
};

struct KeyedBatch {
  std::vector<KeyedRecord> records;
  record::BatchOptions options;
};

inline ByteVector make_keyed(const KeyedBatch& spec) {
  record::BatchBuilder builder(spec.options);
  for (const KeyedRecord& r : spec.records) {
    std::optional<BytesView> key;
    std::optional<BytesView> value;
    if (r.key) key = as_bytes(*r.key);
    if (r.value) value = as_bytes(*r.value);
    builder.add(r.timestamp, key, value);
  }
  return builder.build();
}

inline record::BatchOptions from_producer(std::int64_t id, std::int32_t sequence, bool transactional,
                                          std::int16_t epoch = 0) {
  record::BatchOptions options;
  options.producer_id = id;
  options.producer_epoch = epoch;
  options.base_sequence = sequence;
  options.transactional = transactional;
  return options;
}

inline Offset append_keyed(PartitionLog& log, const KeyedBatch& spec) {
  ByteVector batch = make_keyed(spec);
  const AppendResult result = log.append_as_leader(batch, {0}, AppendOrigin::client);
  EXPECT_EQ(result.fault, AppendFault::none);
  log.set_high_watermark(log.log_end_offset());
  return result.base_offset;
}

struct ReadBack {
  std::int64_t offset;
  std::string key;
  std::optional<std::string> value;
  bool operator==(const ReadBack&) const = default;
};

// Every data record from the start, control batches left out.
inline std::vector<ReadBack> records_of(const PartitionLog& log) {
  std::vector<ReadBack> found;
  Offset from = log.log_start_offset();
  while (from < log.log_end_offset()) {
    auto read = log.read({from, ByteCount{1 << 20}, true, ReadLimit::log_end});
    EXPECT_TRUE(read.has_value()) << read.error().message();
    if (!read || read->range.size == ByteCount{0}) break;
    ByteVector bytes(static_cast<std::size_t>(read->range.size.value));
    EXPECT_EQ(read->range.source->read_at(read->range.position, bytes).value(), bytes.size());
    BytesView rest = bytes;
    while (!rest.empty()) {
      const record::BatchView batch = record::BatchView::parse(rest).value();
      EXPECT_TRUE(batch.crc_is_valid());
      if (!batch.header().is_control()) {
        record::for_each_record(batch, [&](const record::RecordView& r) {
          ReadBack record{r.offset.value, std::string(as_text(r.key.value_or(BytesView()))), {}};
          if (r.value) record.value = std::string(as_text(*r.value));
          found.push_back(std::move(record));
          return record::Walk::go_on;
        }).value();
      }
      from = batch.header().next_offset();
      rest = rest.subspan(batch.bytes().size());
    }
  }
  return found;
}

inline OpenOptions compacted(StopKind last_stop = StopKind::clean) {
  OpenOptions options = small_segments(last_stop);
  options.config.cleanup_compact = true;
  options.config.cleanup_delete = false;
  options.config.min_cleanable_dirty_ratio = 0;
  return options;
}

// One pass over what the verdict says is dirty; nothing when nothing is due.
inline std::optional<Result<PassResult>> try_clean(PartitionLog& log, const LogEnvironment& environment,
                                                   std::optional<Offset> checkpoint = {}, std::int64_t map_slots = 10'000) {
  auto facts = log.cleanable_facts(checkpoint);
  if (!facts) return Result<PassResult>(facts.error());
  const CleaningVerdict verdict = judge(*facts, log.config(), environment.clock->now());
  if (!verdict.is_due()) return std::nullopt;
  SeededRandom secret(99);
  OffsetMap map(ByteCount{map_slots * OffsetMap::kSlotSize}, 1.0, secret);
  PassSettings settings;
  settings.read_buffer = ByteCount{300};
  settings.between = [](ByteCount) { return Result<void>(); };
  return clean_log(log, environment, verdict, map, settings);
}

inline PassResult clean(PartitionLog& log, World& world, std::optional<Offset> checkpoint = {},
                        std::int64_t map_slots = 10'000) {
  auto result = try_clean(log, world.environment(), checkpoint, map_slots);
  EXPECT_TRUE(result.has_value()) << "nothing is due";
  if (!result) return {};
  EXPECT_TRUE(result->has_value()) << result->error().message();
  return result->has_value() ? **result : PassResult{};
}

}  // namespace cordwood::storage::testing_support
