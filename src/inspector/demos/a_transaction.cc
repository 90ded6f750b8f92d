// Records that count together or not at all: what is in the log, and what a reader is given.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "inspector/demos/scripts.h"
#include "inspector/demos/stage.h"
#include "record/control_record.h"
#include "record/record.h"

namespace cordwood::inspector::demos {
namespace {

constexpr std::int64_t kAnna = 7;
constexpr std::int64_t kBert = 8;

BatchToAppend payments(std::vector<std::string> values, std::int64_t producer, std::int32_t sequence) {
  BatchToAppend batch;
  for (std::string& value : values) batch.records.push_back({std::nullopt, std::move(value)});
  batch.producer_id = producer;
  batch.sequence = sequence;
  batch.transactional = true;
  return batch;
}

ByteVector end_marker(std::int64_t producer, record::ControlType type, TimestampMs now) {
  record::MarkerToWrite marker;
  marker.producer_id = {producer};
  marker.producer_epoch = {0};
  marker.type = type;
  marker.coordinator_epoch = 0;
  marker.timestamp = now;
  return record::make_marker_batch(marker);
}

struct Reading {
  std::vector<std::int64_t> offsets;  // that a consumer is given
  std::vector<std::int64_t> dropped;  // that came along and are dropped by it
  std::vector<storage::AbortedTransaction> aborted;
};

// What the engine answers to a fetch from the start, and what a consumer does with it: from a transaction of the aborted list on
// it drops the producer's records, until that producer's marker comes. Markers themselves it never gives to anybody.
Result<Reading> read_from_start(const storage::PartitionLog& log, storage::ReadLimit limit) {
  Reading reading;
  const storage::ReadResult answer = TRY(log.read({log.log_start_offset(), ByteCount{1 * MiB}, true, limit}));
  reading.aborted = answer.aborted;
  if (answer.range.size == ByteCount{0}) return reading;
  ByteVector bytes(static_cast<std::size_t>(answer.range.size.value));
  bytes.resize(TRY(answer.range.source->read_at(answer.range.position, bytes)));
  std::vector<storage::AbortedTransaction> to_come = answer.aborted;
  std::vector<std::int64_t> dropping;
  for (BytesView rest = bytes; !rest.empty();) {
    const record::BatchView batch = TRY(record::BatchView::parse(rest));
    const record::BatchHeader header = batch.header();
    std::erase_if(to_come, [&](const storage::AbortedTransaction& one) {
      if (one.first_offset > header.last_offset()) return false;
      dropping.push_back(one.producer_id);
      return true;
    });
    if (header.is_control()) {
      std::erase(dropping, header.producer_id);
    } else {
      const bool is_dropped = header.is_transactional() && std::find(dropping.begin(), dropping.end(), header.producer_id) != dropping.end();
      for (Offset offset = header.base_offset; offset <= header.last_offset(); offset = next(offset)) {
        (is_dropped ? reading.dropped : reading.offsets).push_back(offset.value);
      }
    }
    rest = rest.subspan(static_cast<std::size_t>(header.total_size().value));
  }
  return reading;
}

std::string list_of_offsets(const std::vector<std::int64_t>& offsets) {
  return offsets.empty() ? std::string("none") : fmt::format("{}", fmt::join(offsets, ", "));
}

Result<std::vector<api::Fact>> both_readers(const storage::PartitionLog& log) {
  const Reading all = TRY(read_from_start(log, storage::ReadLimit::high_watermark));
  const Reading committed = TRY(read_from_start(log, storage::ReadLimit::last_stable));
  std::vector<std::string> aborted;
  for (const storage::AbortedTransaction& one : committed.aborted) {
    aborted.push_back(fmt::format("producer {} from offset {}", one.producer_id, one.first_offset));
  }
  return std::vector<api::Fact>{
      fact("read_uncommitted gets", list_of_offsets(all.offsets), "a fetch up to the high watermark"),
      fact("read_committed gets", list_of_offsets(committed.offsets), "a fetch up to the last stable offset, without what was aborted"),
      fact("read_committed drops", list_of_offsets(committed.dropped), "records of the aborted list's transactions"),
      fact("aborted list", aborted.empty() ? std::string("empty") : fmt::format("{}", fmt::join(aborted, ", ")),
           "the answer to a fetch; from the .txnindex"),
  };
}

}  // namespace

Result<api::Demo> a_transaction() {
  Stage stage("a_transaction", "A transaction", "How can records be written and yet not count?");
  storage::OpenOptions options;
  options.last_stop = storage::StopKind::clean;
  options.config.segment_index_bytes = {1200};
  const auto log = TRY(stage.open({"payments", PartitionId{0}}, options));
  const auto show = [&](std::string title, std::string does, std::string says) -> Result<void> {
    return stage.show(std::move(title), std::move(does), std::move(says), TRY(both_readers(*log)));
  };
  const auto end = [&](std::int64_t producer, record::ControlType type) {
    stage.wait({1000});
    return stage.append_bytes(*log, end_marker(producer, type, stage.clock.now()), storage::AppendOrigin::coordinator);
  };

  stage.wait({1000});
  TRY(stage.append(*log, payments({"anna pays 10", "bert gets 10"}, kAnna, 0)));
  TRY(show("A transaction begins", fmt::format("producer {} appends 2 records in a transaction", kAnna),
           fmt::format("The records are in the log at once, like any others. But the last stable offset stays at {}, the first offset of the open "
                       "transaction: a read_committed consumer reads only below it. A read_uncommitted one gets both.",
                       log->last_stable_offset())));

  stage.wait({1000});
  BatchToAppend plain;
  plain.records = {{std::nullopt, "a rate changes"}};
  TRY(stage.append(*log, plain));
  TRY(show("Others wait", "another producer appends 1 record, without a transaction",
           fmt::format("This record belongs to no transaction, and still a read_committed consumer has to wait for it: it lies behind an open one. The "
                       "last stable offset is {}, the high watermark {}.",
                       log->last_stable_offset(), log->high_watermark())));

  TRY(end(kAnna, record::ControlType::commit));
  TRY(show("Commit", fmt::format("the coordinator writes a commit marker for producer {}", kAnna),
           fmt::format("The marker is a control record. It has offset {} of its own, which no consumer ever gets: offsets seen by a consumer may have "
                       "gaps. The last stable offset jumps to {}.",
                       log->log_end_offset().value - 1, log->last_stable_offset())));

  stage.wait({1000});
  TRY(stage.append(*log, payments({"cleo pays 99", "dora gets 99"}, kBert, 0)));
  TRY(show("A second transaction", fmt::format("producer {} appends 2 records in a transaction", kBert),
           fmt::format("Open again: the last stable offset waits at {}.", log->last_stable_offset())));

  stage.wait({1000});
  TRY(stage.append(*log, payments({"anna pays 5"}, kAnna, 2)));
  TRY(show("Two at a time", fmt::format("producer {} appends 1 record in a new transaction", kAnna),
           fmt::format("Transactions of several producers lie between each other in the log. The earliest open one decides: the last stable offset is "
                       "still {}.",
                       log->last_stable_offset())));

  TRY(end(kBert, record::ControlType::abort));
  TRY(show("Abort", fmt::format("the coordinator writes an abort marker for producer {}", kBert),
           fmt::format("Nothing is deleted: the two records stay where they are. The .txnindex file gets an entry that says from where to where producer "
                       "{} was aborted. The last stable offset moves on to {}, where the other transaction is still open.",
                       kBert, log->last_stable_offset())));

  TRY(end(kAnna, record::ControlType::commit));
  const Reading committed = TRY(read_from_start(*log, storage::ReadLimit::last_stable));
  TRY(show("All are ended", fmt::format("the coordinator writes a commit marker for producer {}", kAnna),
           fmt::format("No transaction is open: last stable offset, high watermark and log end are all {}. A read_committed consumer gets the bytes of "
                       "everything, and beside them the list of what was aborted; it drops offsets {} itself.",
                       log->log_end_offset(), list_of_offsets(committed.dropped))));

  stage.wait({1000});
  TRY(log->roll());
  TRY(show("On the disk", "roll the segment",
           "What a broker knows of its producers is in files, too: the .snapshot beside the new segment has the last sequence number of each, and the "
           ".txnindex stays with the segment in which the abort marker lies."));
  return std::move(stage.demo());
}

}  // namespace cordwood::inspector::demos
