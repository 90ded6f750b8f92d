#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "inspector/views/partition_checks.h"
#include "inspector/views/partition_files.h"
#include "inspector/views/retention_walk.h"
#include "inspector/views/segment_maps.h"
#include "inspector/views/views.h"
#include "offline/rendering.h"
#include "storage/check/partition_check.h"
#include "storage/checkpoint_file.h"
#include "storage/damaged_files.h"
#include "storage/directory_files.h"
#include "storage/producer_state.h"
#include "storage/segment_file_name.h"

namespace cordwood::inspector {
namespace {

constexpr std::size_t kMostFileRows = 2000;
constexpr std::size_t kMostProducers = 500;
constexpr std::size_t kMostTransactions = 500;
constexpr std::size_t kMostDamage = 500;

// An index file's entries as they lie, without reading more than its size where zeros may follow.
std::int64_t entries_of(const PartitionAt& at, Offset base, std::string_view suffix, std::int64_t entry_size, bool& is_there) {
  const auto index = IndexOnDisk::open(*at.fs, io::join(at.directory, storage::segment_file_name(base, suffix)), entry_size);
  is_there = index && index->has_value();
  return is_there ? (*index)->entries() : 0;
}

struct NamedFile {
  std::string name;
  storage::SegmentFileName parsed;
};

api::FileKind kind_of_file(const NamedFile& file) {
  using storage::SegmentFileKind;
  if (file.parsed.state == storage::SegmentFileState::deleted || file.name.ends_with(storage::kDeletedSuffix)) return api::FileKind::deleted;
  if (file.parsed.state != storage::SegmentFileState::current) return api::FileKind::cleaned;
  if (!file.parsed.offset && file.parsed.kind != SegmentFileKind::other) return api::FileKind::other;
  switch (file.parsed.kind) {
    case SegmentFileKind::log: return api::FileKind::log;
    case SegmentFileKind::offset_index: return api::FileKind::offset_index;
    case SegmentFileKind::time_index: return api::FileKind::time_index;
    case SegmentFileKind::txn_index: return api::FileKind::txn_index;
    case SegmentFileKind::snapshot: return api::FileKind::producer_snapshot;
    case SegmentFileKind::other: break;
  }
  if (file.name == storage::kLeaderEpochCheckpoint) return api::FileKind::leader_epochs;
  if (file.name == storage::kPartitionMetadata) return api::FileKind::partition_metadata;
  if (file.name.starts_with(storage::kDamagedDirectory)) return api::FileKind::damaged;
  return api::FileKind::other;
}

std::string what_it_is(const NamedFile& file, api::FileKind kind, const ExtentAt& extent, ByteCount size) {
  const Offset base = file.parsed.offset.value_or(Offset{0});
  const SegmentAt* segment = file.parsed.offset ? extent.find(base) : nullptr;
  const bool active = segment != nullptr && segment->active;
  switch (kind) {
    case api::FileKind::log: {
      if (segment == nullptr) return "Batches of records that are no part of the log.";
      if (segment->next <= base) return "The active segment, still empty: the next records are appended here.";
      const std::string range = fmt::format("The records of offsets {} to {}, batch behind batch", base, segment->next.value - 1);
      return range + (active ? "; the active segment, where new records are appended." : "; closed, never appended to again.");
    }
    case api::FileKind::offset_index:
      return fmt::format("For every few KiB of {} an offset and the position of its batch, 8 bytes each, so that a reader need not scan "
                         "from the front{}.",
                         storage::segment_file_name(base, storage::kLogSuffix),
                         active ? "; at full length while the segment grows, most of it a hole" : "");
    case api::FileKind::time_index:
      return fmt::format("For times, the offset up to which no record is later, 12 bytes each: from a time to an offset{}.",
                         active ? "; at full length while the segment grows, most of it a hole" : "");
    case api::FileKind::txn_index:
      return fmt::format("{} aborted transactions whose markers lie in this segment, 34 bytes each: what a read_committed consumer leaves out.",
                         size.value / storage::TxnIndex::kEntrySize);
    case api::FileKind::producer_snapshot:
      return fmt::format("What the broker knew of producers when the log ended at offset {}: ids, epochs, last sequences, so that a start "
                         "need not read everything again.",
                         base);
    case api::FileKind::leader_epochs: return "From which offset on each leader epoch wrote: how replicas find where their logs part.";
    case api::FileKind::partition_metadata: return "The topic id, so that a topic made anew under the same name is not taken for the old one.";
    case api::FileKind::deleted: return "No part of the log any more: it waits for file.delete.delay.ms, then it is removed.";
    case api::FileKind::cleaned:
      return file.name.ends_with(storage::kSwapSuffix) ? "The cleaner's output on its way to the place of what it replaces; a start completes that."
                                                       : "The cleaner's output, not finished yet; a start removes it.";
    case api::FileKind::damaged: return "What a recovery took out of the log and kept.";
    case api::FileKind::other: break;
  }
  if (storage::is_odd(file.parsed)) return "Looks like a file of a log, and its name is none: it is passed over.";
  return "Not a file of the log: nobody reads it.";
}

// The newest segments' files first, the small files of the partition before all.
std::vector<NamedFile> in_order(const std::vector<io::DirectoryEntry>& entries) {
  std::vector<NamedFile> files;
  std::vector<NamedFile> of_segments;
  files.reserve(entries.size());
  for (const io::DirectoryEntry& entry : entries) {
    NamedFile file{entry.name, storage::parse_segment_file_name(entry.name)};
    (file.parsed.offset ? of_segments : files).push_back(std::move(file));
  }
  // Sorted by name means by the twenty digits.
  files.insert(files.end(), std::move_iterator(of_segments.rbegin()), std::move_iterator(of_segments.rend()));
  return files;
}

void add_files(const PartitionAt& at, const ExtentAt& extent, const std::vector<NamedFile>& files, api::Partition& answer) {
  answer.files_total = static_cast<std::int64_t>(files.size());
  // Of many entries without an offset in their names no more than half the rows, so that the segments are seen.
  std::size_t nameless = 0;
  for (const NamedFile& file : files) {
    if (answer.files.size() == kMostFileRows) break;
    if (!file.parsed.offset && ++nameless > kMostFileRows / 2) continue;
    api::FileRow row;
    row.name = file.name;
    row.kind = kind_of_file(file);
    if (file.parsed.offset && row.kind != api::FileKind::producer_snapshot) row.segment = file.parsed.offset->value;
    const auto status = at.fs->status(io::join(at.directory, file.name));
    if (!status) {
      // It went between the two looks.
      if (status.error().code == Errc::not_found) continue;
      row.problem = status.error().message();
    } else {
      row.size_bytes = status->size.value;
      row.modified_ms = status->modified.value;
      if (status->allocated) row.allocated_bytes = status->allocated->value;
    }
    row.says = what_it_is(file, row.kind, extent, ByteCount{row.size_bytes});
    const bool is_index = row.kind == api::FileKind::offset_index || row.kind == api::FileKind::time_index;
    const std::int64_t entry = row.kind == api::FileKind::offset_index ? 8 : row.kind == api::FileKind::time_index ? 12 : 34;
    if ((is_index || row.kind == api::FileKind::txn_index) && row.size_bytes % entry != 0) {
      row.problem = fmt::format("{} bytes are not a whole number of entries of {}", row.size_bytes, entry);
    }
    if (is_index && extent.find(*file.parsed.offset) == nullptr) row.problem = "there is no .log file beside it";
    answer.files.push_back(std::move(row));
  }
}

api::Segment segment_row(const PartitionAt& at, const SegmentAt& segment, const storage::RetentionVerdict& verdict, TimestampMs now) {
  api::Segment row;
  row.base = segment.base.value;
  row.next = segment.next.value;
  row.size_bytes = verdict.segment.size.value;
  row.state = verdict.goes ? api::SegmentState::going : segment.active ? api::SegmentState::active : api::SegmentState::closed;
  if (verdict.segment.timestamp_source == storage::TimestampSource::records) row.largest_timestamp_ms = known_time(verdict.segment.largest_timestamp);
  const io::Path path = io::join(at.directory, storage::segment_file_name(segment.base, storage::kLogSuffix));
  if (const auto status = at.fs->status(path)) {
    row.modified_ms = status->modified.value;
  } else {
    row.problem = status.error().message();
  }
  if (segment.segment) {
    if (const auto first = segment.segment->first_batch_timestamp()) row.first_timestamp_ms = known_time(*first);
  } else if (const auto open = open_segment(at, segment)) {
    storage::BatchScan scan(*open->file, FilePosition{0}, open->end);
    const auto first = scan.next();
    if (first && *first && is_plausible(**first, segment.base, {})) row.first_timestamp_ms = known_time((*first)->max_timestamp);
  }
  bool is_there = false;
  const std::int64_t offsets = entries_of(at, segment.base, storage::kOffsetIndexSuffix, storage::OffsetIndex::kEntrySize, is_there);
  if (is_there) row.offset_index_entries = offsets;
  const std::int64_t times = entries_of(at, segment.base, storage::kTimeIndexSuffix, storage::TimeIndex::kEntrySize, is_there);
  if (is_there) row.time_index_entries = times;
  if (!segment.segment || segment.segment->has_txn_index()) {
    const auto status = at.fs->status(io::join(at.directory, storage::segment_file_name(segment.base, storage::kTxnIndexSuffix)));
    if (status) row.aborted_transactions = status->size.value / storage::TxnIndex::kEntrySize;
  }
  if (verdict.goes_at) row.goes_at_ms = verdict.goes_at->value;
  row.says = plain_words(verdict, now);
  if (segment.segment && segment.segment->index_is_suspect()) {
    row.problem = "a look-up met an index that does not fit the batches: it is made anew, and look-ups are slower until then";
  }
  return row;
}

void add_producers(const std::vector<storage::ProducerEntry>& entries, const std::string& source, api::Partition& answer) {
  for (const storage::ProducerEntry& entry : entries) {
    if (answer.producers.size() == kMostProducers) return;
    api::ProducerRow row;
    row.producer_id = entry.producer_id;
    row.epoch = entry.epoch;
    row.last_sequence = entry.last_sequence();
    row.last_offset = entry.batches.empty() ? -1 : entry.batches.back().last_offset.value;
    row.last_timestamp_ms = entry.last_timestamp.value;
    if (entry.current_txn_first_offset) row.open_transaction_from = entry.current_txn_first_offset->value;
    row.source = source;
    answer.producers.push_back(std::move(row));
  }
}

// From the memory of the broker, and of the newest snapshot file.
void add_all_producers(const PartitionAt& at, const ExtentAt& extent, const std::vector<NamedFile>& files, api::Partition& answer) {
  if (extent.has_log) {
    const std::vector<storage::ProducerEntry> active = at.log->active_producers();
    add_producers(active, "memory", answer);
    for (const storage::ProducerEntry& entry : active) {
      if (!entry.current_txn_first_offset || answer.transactions.size() == kMostTransactions) continue;
      answer.transactions.push_back({entry.producer_id, entry.current_txn_first_offset->value, {}, false, "memory"});
    }
  }
  int looked_at = 0;
  for (const NamedFile& file : files) {
    if (kind_of_file(file) != api::FileKind::producer_snapshot || looked_at == 3) continue;
    ++looked_at;
    const auto bytes = io::read_file(*at.fs, io::join(at.directory, file.name), ByteCount{16 * MiB});
    if (!bytes && bytes.error().code == Errc::not_found) continue;
    const auto entries = bytes ? storage::decode_producer_snapshot(*bytes, file.name) : Result<std::vector<storage::ProducerEntry>>(bytes.error());
    if (!entries) {
      answer.damage.push_back({file.name, {}, {}, {}, {}, entries.error().message() + "; the one before it is read instead"});
      continue;
    }
    add_producers(*entries, file.name, answer);
    if (!extent.has_log) {
      for (const storage::ProducerEntry& entry : *entries) {
        if (!entry.current_txn_first_offset || answer.transactions.size() == kMostTransactions) continue;
        answer.transactions.push_back({entry.producer_id, entry.current_txn_first_offset->value, {}, false, file.name});
      }
    }
    return;
  }
}

void add_aborted(const PartitionAt& at, const std::vector<NamedFile>& files, api::Partition& answer) {
  int looked_at = 0;
  for (const NamedFile& file : files) {
    if (kind_of_file(file) != api::FileKind::txn_index || answer.transactions.size() >= kMostTransactions || ++looked_at > 500) continue;
    std::vector<storage::AbortedEntry> entries = read_aborted(*at.fs, io::join(at.directory, file.name));
    std::ranges::reverse(entries);
    for (const storage::AbortedEntry& entry : entries) {
      if (answer.transactions.size() == kMostTransactions) break;
      answer.transactions.push_back({entry.producer_id, entry.first_offset.value, entry.last_offset.value, true, file.name});
    }
  }
}

void add_checkpoints(const PartitionAt& at, api::Partition& answer) {
  struct Known {
    const char* file;
    const char* says;
  };
  constexpr Known kFiles[] = {
      {storage::kRecoveryPointCheckpoint, "All records below were on the disk when this was written: a start after a crash checks what lies above."},
      {storage::kLogStartCheckpoint, "Where the log starts, when that is not the first segment's base: after DeleteRecords, for instance."},
      {storage::kReplicationCheckpoint, "The high watermark when this was written: consumers see what lies below."},
      {storage::kCleanerCheckpoint, "Up to here the cleaner has compacted the log."},
  };
  for (const Known& known : kFiles) {
    api::Checkpoint row;
    row.file = known.file;
    row.says = known.says;
    const auto offsets = storage::read_offset_checkpoint(*at.fs, io::join(at.log_directory, known.file));
    if (!offsets) {
      if (offsets.error().code == Errc::not_found) continue;
      row.says = offsets.error().message();
    } else if (const auto line = offsets->find(at.partition); line != offsets->end()) {
      row.value = line->second.value;
    } else {
      row.says += " It has no line for this partition.";
    }
    answer.checkpoints.push_back(std::move(row));
  }
}

// Of what is known without a walk over the files: what the engine met when it opened the log, what a check of a small directory
// finds, and what looks at the maps of its segments have met.
void add_damage(const PartitionAt& at, const ExtentAt& extent, const std::vector<io::DirectoryEntry>& entries, const PartitionLook& look,
                api::Partition& answer) {
  std::set<std::pair<std::string, std::int64_t>> told;
  const auto add = [&](api::Damage row) {
    if (answer.damage.size() == kMostDamage || !told.emplace(row.file, row.position.value_or(-1)).second) return;
    answer.damage.push_back(std::move(row));
  };
  for (const api::Damage& row : answer.damage) told.emplace(row.file, row.position.value_or(-1));
  // Files that change while they are looked at prove nothing: what stands between two renames of the cleaner is no damage.
  const bool is_written = at.is_live || at.next_start.is_in_use;
  if (at.log && (at.is_live || !at.next_start.is_in_use)) {
    for (const storage::RecoveryVerdict& verdict : at.log->recovery().verdicts) {
      api::Damage row;
      row.file = verdict.file;
      if (verdict.position) row.position = verdict.position->value;
      if (verdict.bytes > ByteCount{0}) row.size_bytes = verdict.bytes.value;
      if (verdict.offset) row.first_offset = verdict.offset->value;
      row.says = fmt::format("{} {}", at.is_live ? "When the broker started:" : "A start would find:", storage::describe(verdict));
      add(std::move(row));
    }
  }
  std::string why_not = is_written ? "a broker writes here" : "there is no segment";
  bool is_checked = false;
  if (!is_written && !extent.segments.empty()) {
    const auto check = look.checks.check(*at.fs, at.directory, entries, at.next_start);
    is_checked = check.has_value();
    if (!check) why_not = check.error().message();
    if (check) {
      for (const storage::CheckFinding& finding : (*check)->findings) {
        api::Damage row;
        row.file = finding.file;
        if (finding.position) row.position = finding.position->value;
        if (finding.bytes > ByteCount{0}) row.size_bytes = finding.bytes.value;
        if (finding.first_offset) row.first_offset = finding.first_offset->value;
        if (finding.end_offset && finding.end_offset->value > INT64_MIN) row.last_offset = finding.end_offset->value - 1;
        row.says = storage::describe(finding);
        add(std::move(row));
      }
    }
  }
  for (const SegmentAt& segment : extent.segments) {
    if (answer.damage.size() == kMostDamage) break;
    for (const auto& [batch, fault] : look.maps.known_damage(at.directory, segment.base, kMostDamage)) add(damage_row(segment, batch, fault));
  }
  if (is_checked) {
    answer.damage_checked = "Every batch, index and snapshot was checked.";
  } else {
    answer.damage_checked = fmt::format("Not every batch was checked: {}. Told is what {}, and what the maps of the segments have met so far.", why_not,
                                        at.is_live                                 ? "the broker found when it started"
                                        : !at.log || at.next_start.is_in_use ? "its names and sizes show"
                                                                             : "a start would find");
  }
}

void add_groups(const PartitionAt& at, const ExtentAt& extent, api::Partition& answer) {
  for (const CommittedAt& group : at.groups) {
    api::GroupPosition row;
    row.group = group.group;
    row.committed = group.offset.value;
    row.lag = std::max<std::int64_t>(record::subtract_wrapping(extent.high_watermark.value, group.offset.value), 0);
    if (group.offset < extent.log_start) {
      row.says = fmt::format("What it wants next, offset {}, was deleted: the log starts at {}.", group.offset, extent.log_start);
    } else if (group.offset > extent.log_end) {
      row.says = fmt::format("Its position lies beyond the log end {}.", extent.log_end);
    } else if (group.offset >= extent.high_watermark) {
      row.says = "It has read everything.";
    } else {
      row.says = fmt::format("It has {} before it.", records_words(row.lag));
    }
    answer.groups.push_back(std::move(row));
  }
}

std::string sentence(const PartitionAt& at, const ExtentAt& extent, const api::Partition& answer) {
  const std::int64_t records = record::subtract_wrapping(extent.log_end.value, extent.log_start.value);
  std::string text = fmt::format("{} offsets, from {} to {}, in {} of {} segment{}", records, extent.log_start,
                                 extent.log_end.value, offline::human_size({answer.size_bytes}), answer.segments_total,
                                 answer.segments_total == 1 ? "" : "s");
  if (records == 0) {
    text = fmt::format("Empty: the next record gets offset {}", extent.log_end);
  } else if (extent.high_watermark < extent.log_end) {
    text += fmt::format("; consumers see what lies below {}", extent.high_watermark);
  }
  if (extent.last_stable < extent.high_watermark) {
    text += fmt::format("; a transaction is open from {} on", extent.last_stable);
  }
  text += '.';
  if (!extent.has_log) {
    text += at.why_no_log.empty() ? " It is shown from its files alone." : fmt::format(" It is shown from its files alone: {}.", at.why_no_log);
  }
  return text;
}

}  // namespace

Result<api::Partition> view_partition(const PartitionAt& at, const api::PartitionQuery& query, const PartitionLook& look, TimestampMs now) {
  if (query.segments_limit && (*query.segments_limit < 1 || *query.segments_limit > 2000)) {
    return Error{Errc::invalid, "segments_limit: must be 1 to 2000"};
  }
  if (query.segments_from && *query.segments_from < 0) return Error{Errc::invalid, "segments_from: must be 0 or more"};
  const std::vector<io::DirectoryEntry> entries = TRY(at.fs->list(at.directory));
  const ExtentAt extent = TRY(extent_of(at, &entries));
  const std::vector<ByteCount> sizes = sizes_of(at, extent);
  const std::vector<NamedFile> files = in_order(entries);

  api::Partition answer;
  answer.topic = at.partition.topic;
  if (at.topic_id) answer.topic_id = at.topic_id->to_string();
  answer.partition = at.partition.partition.value;
  answer.state = at.state;
  answer.directory = at.directory;
  if (at.leader) answer.leader = *at.leader;
  if (at.leader_epoch) answer.leader_epoch = *at.leader_epoch;
  answer.replicas.assign(at.replicas.begin(), at.replicas.end());
  answer.isr.assign(at.isr.begin(), at.isr.end());
  answer.log_start = extent.log_start.value;
  answer.high_watermark = extent.high_watermark.value;
  answer.last_stable = extent.last_stable.value;
  answer.log_end = extent.log_end.value;
  if (extent.has_log) answer.recovery_point = at.log->recovery_point().value;
  ByteCount size{0};
  for (const ByteCount one : sizes) size += one;
  answer.size_bytes = size.value;
  answer.now_ms = now.value;
  answer.segments_total = static_cast<std::int64_t>(extent.segments.size());

  const std::size_t total = extent.segments.size();
  const auto limit = static_cast<std::size_t>(query.segments_limit.value_or(1000));
  const std::size_t from = query.segments_from ? std::min(static_cast<std::size_t>(*query.segments_from), total)
                                               : total - std::min(total, limit);
  const std::size_t end = std::min(total, from + limit);
  const JudgedSegments judged = judge_segments(at, extent, sizes, storage::RetentionLimits::of(at.config), now, from, end);
  for (std::size_t i = from; i < end && i - from < judged.verdicts.size(); ++i) {
    answer.segments.push_back(segment_row(at, extent.segments[i], judged.verdicts[i - from], now));
  }
  add_files(at, extent, files, answer);
  if (extent.has_log) {
    for (const storage::EpochEntry& epoch : at.log->epochs()) {
      if (answer.epochs.size() == 1000) break;
      answer.epochs.push_back({epoch.epoch.value, epoch.start_offset.value});
    }
  } else if (const auto epochs = storage::read_epoch_checkpoint(*at.fs, io::join(at.directory, storage::kLeaderEpochCheckpoint))) {
    for (const storage::EpochEntry& epoch : *epochs) {
      if (answer.epochs.size() == 1000) break;
      answer.epochs.push_back({epoch.epoch.value, epoch.start_offset.value});
    }
  }
  add_all_producers(at, extent, files, answer);
  add_aborted(at, files, answer);
  add_checkpoints(at, answer);
  add_groups(at, extent, answer);
  add_damage(at, extent, entries, look, answer);
  answer.settings = at.settings;
  answer.says = sentence(at, extent, answer);
  return answer;
}

}  // namespace cordwood::inspector
