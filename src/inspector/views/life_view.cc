#include <fmt/format.h>

#include <algorithm>

#include "client/partitioner.h"
#include "inspector/settings_text.h"
#include "inspector/views/partition_files.h"
#include "inspector/views/records_view.h"
#include "inspector/views/retention_walk.h"
#include "inspector/views/views.h"
#include "offline/rendering.h"
#include "storage/cleaner/cleanable.h"
#include "storage/directory_files.h"
#include "storage/retention.h"
#include "storage/segment_file_name.h"

namespace cordwood::inspector {
namespace {

class Steps {
 public:
  explicit Steps(std::vector<api::LifeStep>& into) : into_(into) {}
  api::LifeStep& add(api::LifeStage stage, bool done, std::string says, std::optional<std::int64_t> at_ms = {}) {
    api::LifeStep& step = into_.emplace_back();
    step.stage = stage;
    step.done = done;
    step.says = std::move(says);
    step.at_ms = at_ms;
    return step;
  }

 private:
  std::vector<api::LifeStep>& into_;
};

void fact(api::LifeStep& step, std::string name, std::string value, std::string from) {
  step.facts.push_back({std::move(name), std::move(value), std::move(from)});
}

void add_choice(const PartitionAt& at, const FoundLogRecord& found, Steps& steps) {
  const std::int32_t partition = at.partition.partition.value;
  if (found.header && found.header->is_control()) {
    steps.add(api::LifeStage::partition_choice, true, "The transaction coordinator wrote this marker to each partition of the transaction.");
    return;
  }
  if (!found.key) {
    api::LifeStep& step = steps.add(api::LifeStage::partition_choice, true,
                                    fmt::format("The record has no key: its producer chose partition {} itself, or its sticky partitioner filled one batch "
                                                "after the other.",
                                                partition));
    fact(step, "key", "none", "record");
    return;
  }
  const std::int32_t hash = client::murmur2(*found.key);
  const auto bits = static_cast<std::uint32_t>(hash);
  const std::int32_t count = std::max(at.topic_partitions, 1);
  const std::int32_t chosen = client::partition_of_key(*found.key, count);
  const bool fits = chosen == partition;
  api::LifeStep& step = steps.add(
      api::LifeStage::partition_choice, true,
      fits ? fmt::format("The producer hashed the key with murmur2, took the sign bit away, and what is left modulo {} partitions is {}: this partition.",
                         count, chosen)
           : fmt::format("By the hash of its key the record would belong to partition {} of {}: the producer chose the partition itself, uses another "
                         "partitioner, or the topic had another number of partitions then.",
                         chosen, count));
  fact(step, "murmur2(key)", fmt::format("0x{:08x}, as a signed number {}", bits, hash), "record key");
  fact(step, "without its sign", fmt::format("{}", bits & 0x7fffffffU), "murmur2 & 0x7fffffff, as Kafka's toPositive");
  fact(step, "partitions", fmt::format("{}", count), "topic");
  fact(step, "partition by key", fmt::format("{}", chosen), "(murmur2 & 0x7fffffff) mod partitions");
}

void add_batch(const FoundLogRecord& found, Steps& steps) {
  const storage::BatchInfo& batch = found.batch;
  std::string says = fmt::format("It was sent in a batch of {} with offsets {} to {}", offline::human_size(batch.size), batch.base_offset, batch.last_offset);
  if (found.header) {
    const auto codec = record::codec_from_bits(found.header->codec_bits());
    if (codec && *codec != record::Codec::none) says += fmt::format(", compressed with {}", record::to_string(*codec));
    if (found.header->is_transactional()) says += found.aborted ? ", in a transaction that was aborted" : ", in a transaction";
  }
  api::LifeStep& step = steps.add(api::LifeStage::batch, true, says + "." + (found.problem.empty() ? "" : " " + found.problem + "."), known_time(TimestampMs{found.record.timestamp_ms}));
  const std::string log = storage::segment_file_name(found.segment.base, storage::kLogSuffix);
  fact(step, "place in the batch", fmt::format("{}", found.record.index_in_batch), log);
  if (!found.header) {
    fact(step, "magic", fmt::format("{}", batch.magic), log);
    return;
  }
  fact(step, "records in the batch", fmt::format("{}", found.header->record_count), "recordsCount");
  fact(step, "producer id", fmt::format("{}", found.header->producer_id), "producerId");
  if (found.header->has_producer_id()) fact(step, "first sequence", fmt::format("{}", found.header->base_sequence), "baseSequence");
}

Result<void> add_index(const PartitionAt& at, const FoundLogRecord& found, Steps& steps) {
  const std::string file = storage::segment_file_name(found.segment.base, storage::kOffsetIndexSuffix);
  const std::optional<IndexOnDisk> index = TRY(open_offset_index(at, found.segment.base));
  if (!index) {
    steps.add(api::LifeStage::index, false, fmt::format("There is no {}: look-ups read the segment from its first batch on.", file));
    return {};
  }
  const std::int64_t count =
      TRY(index->count_before([&](BytesView entry) { return load_be<std::int32_t>(entry, 4) <= found.batch.position.value; }));
  if (count == 0) {
    api::LifeStep& step = steps.add(api::LifeStage::index, true,
                                    "No entry of the index lies at or before its batch: a look-up starts at the first batch of the segment.");
    fact(step, "entries", fmt::format("{}", index->entries()), file);
    return {};
  }
  const ByteVector raw = TRY(index->read(count - 1, 1));
  if (raw.empty()) return {};
  const storage::IndexEntry entry = offset_entry_of(raw, found.segment.base);
  const bool is_own = entry.position == found.batch.position;
  api::LifeStep& step = steps.add(
      api::LifeStage::index, true,
      is_own ? fmt::format("Entry {} of {} points at its batch.", count - 1, file)
             : fmt::format("The index is sparse: entry {} of {} is the nearest before its batch, and a look-up reads on from there for {} bytes.", count - 1,
                           file, (found.batch.position - entry.position).value));
  fact(step, "entry", fmt::format("{}", count - 1), file);
  fact(step, "offset", fmt::format("{}", entry.offset), file);
  fact(step, "position", fmt::format("{}", entry.position), file);
  fact(step, "index.interval.bytes", fmt::format("{}", at.config.index_interval_bytes), "topic configuration");
  return {};
}

void add_durable(const PartitionAt& at, const ExtentAt& extent, const FoundLogRecord& found, Steps& steps) {
  if (!extent.has_log) {
    steps.add(api::LifeStage::durable, true, "It lies in a file; up to where the files were synced the checkpoints say.");
    return;
  }
  const Offset point = at.log->recovery_point();
  const bool is_durable = found.batch.last_offset < point;
  api::LifeStep& step = steps.add(
      api::LifeStage::durable, is_durable,
      is_durable ? fmt::format("It lies below the recovery point {}: an fsync has put it on the disk.", point)
                 : fmt::format("It lies at or above the recovery point {}: it is in the page cache, and the operating system writes it when it likes, "
                               "at the latest when the segment is closed. A power cut now could lose it here; replicas are there for that.",
                               point));
  fact(step, "recovery point", fmt::format("{}", point), "memory");
  fact(step, "flush.messages", at.config.flush_messages == INT64_MAX ? "no limit" : fmt::format("{}", at.config.flush_messages), "topic configuration");
  fact(step, "flush.ms", at.config.flush_ms.value == INT64_MAX ? "no limit" : fmt::format("{}", at.config.flush_ms), "topic configuration");
}

void add_watermark(const ExtentAt& extent, const FoundLogRecord& found, Steps& steps) {
  const Offset offset{found.record.offset};
  const bool is_seen = offset < extent.high_watermark;
  const bool is_stable = offset < extent.last_stable;
  std::string says = is_seen ? fmt::format("It lies below the high watermark {}: consumers may read it.", extent.high_watermark)
                             : fmt::format("It lies at or above the high watermark {}: no consumer sees it until all in-sync replicas have it.",
                                           extent.high_watermark);
  if (is_seen && !is_stable) {
    says += fmt::format(" Consumers with isolation.level=read_committed wait: a transaction is open from {} on.", extent.last_stable);
  }
  if (found.aborted) says += " Consumers with isolation.level=read_committed pass over it: its transaction was aborted.";
  api::LifeStep& step = steps.add(api::LifeStage::high_watermark, is_seen, std::move(says));
  fact(step, "high watermark", fmt::format("{}", extent.high_watermark), extent.has_log ? "memory" : "files");
  fact(step, "last stable offset", fmt::format("{}", extent.last_stable), extent.has_log ? "memory" : "files");
}

void add_reads(const PartitionAt& at, const FoundLogRecord& found, Steps& steps) {
  constexpr std::size_t kMostGroups = 200;
  std::size_t shown = 0;
  for (const CommittedAt& group : at.groups) {
    if (++shown > kMostGroups) break;
    const bool done = group.offset > Offset{found.record.offset};
    api::LifeStep& step = steps.add(api::LifeStage::read, done,
                                    done ? fmt::format("Group {} has committed {}: it is through with this record.", group.group, group.offset)
                                         : fmt::format("Group {} stands at {}: this record is {} offsets ahead of it.", group.group, group.offset,
                                                       record::subtract_wrapping(found.record.offset, group.offset.value)),
                                    done ? known_time(group.committed) : std::nullopt);
    fact(step, "committed offset", fmt::format("{}", group.offset), "__consumer_offsets");
  }
}

void add_end(const PartitionAt& at, const ExtentAt& extent, const FoundLogRecord& found, TimestampMs now, Steps& steps) {
  const std::vector<ByteCount> sizes = sizes_of(at, extent);
  const auto place = std::ranges::lower_bound(extent.segments, found.segment.base, {}, &SegmentAt::base);
  const auto i = static_cast<std::size_t>(place - extent.segments.begin());
  const JudgedSegments judged = judge_segments(at, extent, sizes, storage::RetentionLimits::of(at.config), now, i, i + 1);
  if (!judged.verdicts.empty()) {
    const storage::RetentionVerdict& verdict = judged.verdicts.front();
    std::optional<std::int64_t> at_ms;
    if (verdict.goes) at_ms = now.value;
    if (verdict.goes_at) at_ms = verdict.goes_at->value;
    api::LifeStep& step = steps.add(api::LifeStage::end, false, "It goes with its segment. " + plain_words(verdict, now), at_ms);
    fact(step, "rule", storage::to_string(verdict.rule), "retention");
    fact(step, "retention.ms", fmt::format("{}", at.config.retention_ms), source_words(at.config.retention_ms_source));
    fact(step, "retention.bytes", fmt::format("{}", at.config.retention_bytes), source_words(at.config.retention_bytes_source));
    fact(step, "cleanup.policy", cleanup_policy_of(at.config), source_words(at.config.cleanup_policy_source));
    fact(step, "check every", duration_words(at.retention_check_interval), "log.retention.check.interval.ms");
  }
  if (!at.config.cleanup_compact) return;
  if (!found.key) {
    steps.add(api::LifeStage::end, false, "Compaction drops it: it has no key.");
    return;
  }
  // A later record of the key, as far as one look may read.
  std::optional<Offset> later;
  bool complete = false;
  const auto walk = walk_log(at, extent, Offset{found.record.offset}, extent.log_end, ByteCount{64 * MiB}, [&](const EntryAt& entry) {
    if (entry.header && entry.header->is_control()) return record::Walk::go_on;
    const auto walked = each_record(entry.bytes, entry.info.magic, [&](const RecordInEntry& record) {
      const bool is_it = record.record.offset > Offset{found.record.offset} && record.record.key && std::ranges::equal(*record.record.key, *found.key);
      if (!is_it) return record::Walk::go_on;
      later = record.record.offset;
      return record::Walk::stop;
    });
    static_cast<void>(walked.has_value());
    return later ? record::Walk::stop : record::Walk::go_on;
  });
  if (walk) complete = walk->complete;
  std::string says;
  if (later) {
    says = fmt::format("Compaction drops it: offset {} has the same key.", *later);
  } else if (!found.has_value) {
    says = "It is a tombstone: compaction keeps it until its time is over";
    if (found.header && found.header->has_delete_horizon()) {
      says += fmt::format(", {}.", time_words(found.header->base_timestamp, now));
    } else {
      says += fmt::format(", {} after the compaction that first meets it.", duration_words(at.config.delete_retention_ms));
    }
  } else {
    says = complete ? "Compaction keeps it: no later record has its key." : "No later record with its key was found in what one look may read.";
  }
  api::LifeStep& step = steps.add(api::LifeStage::end, false, std::move(says));
  if (later) fact(step, "superseded by", fmt::format("{}", *later), "the log");
  fact(step, "delete.retention.ms", fmt::format("{}", at.config.delete_retention_ms), "topic configuration");
}

}  // namespace

Result<api::Life> view_life(const PartitionAt& at, const api::LifeQuery& query, TimestampMs now) {
  const ExtentAt extent = TRY(extent_of(at));
  const FoundLogRecord found = TRY(find_log_record(at, extent, Offset{query.offset}));
  api::Life life;
  life.record = found.record;
  Steps steps(life.steps);
  add_choice(at, found, steps);
  add_batch(found, steps);
  const std::string log = storage::segment_file_name(found.segment.base, storage::kLogSuffix);
  api::LifeStep& append = steps.add(api::LifeStage::append, true,
                                    fmt::format("The broker gave it offset {} and appended its batch to {}, at position {}.", query.offset, log,
                                                found.batch.position),
                                    found.header && found.header->timestamp_type() == record::TimestampType::log_append_time
                                        ? known_time(found.header->max_timestamp)
                                        : std::nullopt);
  fact(append, "segment", fmt::format("{}", found.segment.base), log);
  fact(append, "position", fmt::format("{}", found.batch.position), log);
  fact(append, "leader epoch", fmt::format("{}", found.batch.leader_epoch), "partitionLeaderEpoch");
  TRY(add_index(at, found, steps));
  add_durable(at, extent, found, steps);
  add_watermark(extent, found, steps);
  add_reads(at, found, steps);
  add_end(at, extent, found, now, steps);
  return life;
}

}  // namespace cordwood::inspector
