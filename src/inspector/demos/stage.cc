#include "inspector/demos/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "inspector/engine_values.h"
#include "record/batch.h"
#include "record/builder.h"
#include "record/control_record.h"
#include "record/record.h"
#include "record/walk.h"
#include "storage/offset_index.h"
#include "storage/retention.h"
#include "storage/segment.h"
#include "storage/segment_file_name.h"
#include "storage/time_index.h"
#include "storage/txn_index.h"

namespace cordwood::inspector::demos {
namespace {

// Above each demo's whole log.
constexpr ByteCount kMoreThanAnyLog{16 * MiB};

ByteVector build_batch(const BatchToAppend& wanted, TimestampMs timestamp, std::optional<std::size_t> filler) {
  record::BatchOptions options;
  options.compression.codec = wanted.codec;
  if (wanted.producer_id) {
    options.producer_id = *wanted.producer_id;
    options.producer_epoch = 0;
    options.base_sequence = wanted.sequence;
    options.transactional = wanted.transactional;
  }
  record::BatchBuilder builder(options);
  const std::string dots(filler.value_or(0), '.');
  const std::array<record::HeaderToWrite, 1> headers{{{"filler", as_bytes(dots)}}};
  for (std::size_t i = 0; i < wanted.records.size(); ++i) {
    const RecordToAppend& record = wanted.records[i];
    const bool is_padded = filler && i + 1 == wanted.records.size();
    const auto view = [](const std::optional<std::string>& text) {
      return text ? std::optional<BytesView>(as_bytes(*text)) : std::nullopt;
    };
    builder.add(timestamp, view(record.key), view(record.value),
                is_padded ? std::span<const record::HeaderToWrite>(headers) : std::span<const record::HeaderToWrite>());
  }
  return builder.build();
}

api::RecordKind kind_of(const record::BatchHeader& batch, const record::RecordView& record) {
  if (batch.is_control()) {
    const auto key = record::parse_control_key(record.key.value_or(BytesView()));
    if (!key) return api::RecordKind::control;
    switch (key->type) {
      case record::ControlType::commit: return api::RecordKind::commit;
      case record::ControlType::abort: return api::RecordKind::abort;
      default: return api::RecordKind::control;
    }
  }
  return record.key && !record.value ? api::RecordKind::tombstone : api::RecordKind::data;
}

std::optional<std::string> text_of(const std::optional<BytesView>& bytes) {
  if (!bytes) return std::nullopt;
  return std::string(as_text(*bytes));
}

struct BatchesOfFile {
  std::vector<api::DemoBatch> batches;
  Offset next;
  std::int64_t whole_bytes = 0;
};

// Whole batches from the start on; the first that is none ends it.
Result<BatchesOfFile> read_batches(BytesView bytes, Offset base, const std::vector<storage::AbortedEntry>& aborted) {
  BatchesOfFile found;
  found.next = base;
  std::size_t at = 0;
  while (bytes.size() - at >= record::kHeaderSize) {
    const BytesView rest = bytes.subspan(at);
    const auto view = record::BatchView::parse(rest);
    if (!view || !view->crc_is_valid()) break;
    const record::BatchHeader header = view->header();
    api::DemoBatch& batch = found.batches.emplace_back();
    batch.position = static_cast<std::int64_t>(at);
    batch.size_bytes = header.total_size().value;
    batch.base = header.base_offset.value;
    batch.last = header.last_offset().value;
    batch.codec = record::to_string(record::codec_from_bits(header.codec_bits()).value_or(record::Codec::none));
    batch.producer_id = header.producer_id;
    if (header.has_delete_horizon()) batch.delete_horizon_ms = header.base_timestamp.value;
    const bool is_aborted = header.is_transactional() && !header.is_control() &&
                            std::any_of(aborted.begin(), aborted.end(), [&](const storage::AbortedEntry& entry) {
                              return entry.producer_id == header.producer_id && entry.first_offset <= header.base_offset &&
                                     header.last_offset() <= entry.last_offset;
                            });
    TRY(record::for_each_record(*view, [&](const record::RecordView& record) {
      api::DemoRecord& row = batch.records.emplace_back();
      row.offset = record.offset.value;
      row.timestamp_ms = record.timestamp.value;
      row.kind = kind_of(header, record);
      if (!header.is_control()) {
        row.key = text_of(record.key);
        row.value = text_of(record.value);
      }
      row.aborted = is_aborted;
      return record::Walk::go_on;
    }));
    found.next = header.next_offset();
    at += static_cast<std::size_t>(header.total_size().value);
  }
  found.whole_bytes = static_cast<std::int64_t>(at);
  return found;
}

std::vector<api::DemoIndexEntry> read_offset_entries(BytesView bytes, Offset base) {
  std::vector<api::DemoIndexEntry> entries;
  for (std::size_t at = 0; at + storage::OffsetIndex::kEntrySize <= bytes.size(); at += storage::OffsetIndex::kEntrySize) {
    api::DemoIndexEntry& entry = entries.emplace_back();
    entry.offset = base.value + load_be<std::int32_t>(bytes, at);
    entry.position = load_be<std::int32_t>(bytes, at + 4);
  }
  return entries;
}

std::vector<api::DemoIndexEntry> read_time_entries(BytesView bytes, Offset base) {
  std::vector<api::DemoIndexEntry> entries;
  for (std::size_t at = 0; at + storage::TimeIndex::kEntrySize <= bytes.size(); at += storage::TimeIndex::kEntrySize) {
    api::DemoIndexEntry& entry = entries.emplace_back();
    entry.timestamp_ms = load_be<std::int64_t>(bytes, at);
    entry.offset = base.value + load_be<std::int32_t>(bytes, at + 8);
  }
  return entries;
}

// The first `size` bytes of it: what an index has behind its entries is room for more.
Result<ByteVector> read_start(io::FileSystem& fs, const io::Path& path, ByteCount size) {
  if (size == ByteCount{0}) return ByteVector();
  ByteVector bytes = TRY(io::read_file(fs, path, kMoreThanAnyLog));
  bytes.resize(std::min(bytes.size(), static_cast<std::size_t>(size.value)));
  return bytes;
}

// The names of a directory, by what they are.
struct NamesInDirectory {
  struct OfSegment {
    Offset base;
    storage::SegmentFileState state;
    std::vector<std::string> names;
  };
  std::vector<OfSegment> segments;  // ascending
  std::vector<std::string> others;
};

Result<NamesInDirectory> sort_names(io::FileSystem& fs, const io::Path& directory) {
  NamesInDirectory sorted;
  for (const io::DirectoryEntry& entry : TRY(fs.list(directory))) {
    const storage::SegmentFileName name = storage::parse_segment_file_name(entry.name);
    if (!name.offset || name.kind == storage::SegmentFileKind::snapshot || name.kind == storage::SegmentFileKind::other) {
      sorted.others.push_back(entry.kind == io::DirectoryEntry::Kind::directory ? entry.name + "/" : entry.name);
      continue;
    }
    auto at = std::find_if(sorted.segments.begin(), sorted.segments.end(), [&](const NamesInDirectory::OfSegment& segment) {
      return segment.base == *name.offset && segment.state == name.state;
    });
    if (at == sorted.segments.end()) at = sorted.segments.insert(at, {*name.offset, name.state, {}});
    at->names.push_back(entry.name);
  }
  return sorted;
}

bool has_name(const std::vector<std::string>& names, std::string_view wanted) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return name == wanted; });
}

// A segment that no log has open: renamed to .deleted, or left by a crash.
Result<api::DemoSegment> read_closed_segment(io::FileSystem& fs, const io::Path& directory,
                                             const NamesInDirectory::OfSegment& files, std::string_view suffix) {
  api::DemoSegment segment;
  segment.base = files.base.value;
  segment.files = files.names;
  const auto content = [&](std::string_view kind) -> Result<ByteVector> {
    const std::string name = fmt::format("{:020}{}{}", files.base.value, kind, suffix);
    if (!has_name(files.names, name)) return ByteVector();
    return io::read_file(fs, io::join(directory, name), kMoreThanAnyLog);
  };
  const ByteVector log = TRY(content(storage::kLogSuffix));
  segment.size_bytes = static_cast<std::int64_t>(log.size());
  BatchesOfFile found = TRY(read_batches(log, files.base, {}));
  segment.next = found.next.value;
  segment.torn_bytes = segment.size_bytes - found.whole_bytes;
  for (const api::DemoBatch& batch : found.batches) {
    for (const api::DemoRecord& record : batch.records) {
      segment.largest_timestamp_ms = std::max(segment.largest_timestamp_ms.value_or(record.timestamp_ms), record.timestamp_ms);
    }
  }
  segment.batches = std::move(found.batches);
  const ByteVector offsets = TRY(content(storage::kOffsetIndexSuffix));
  const ByteVector times = TRY(content(storage::kTimeIndexSuffix));
  segment.offset_index = read_offset_entries(offsets, files.base);
  segment.time_index = read_time_entries(times, files.base);
  // Zeros behind the entries are room for more, which no stop has cut off.
  std::erase_if(segment.offset_index, [](const api::DemoIndexEntry& entry) { return entry.position == 0; });
  std::erase_if(segment.time_index, [](const api::DemoIndexEntry& entry) { return entry.timestamp_ms == 0; });
  return segment;
}

Result<api::DemoSegment> read_live_segment(io::FileSystem& fs, const storage::Segment& segment, const storage::SegmentInfo& info,
                                           const std::vector<storage::AbortedEntry>& aborted) {
  api::DemoSegment row;
  row.base = info.base_offset.value;
  row.next = info.next_offset.value;
  row.size_bytes = info.size.value;
  row.state = info.active ? api::SegmentState::active : api::SegmentState::closed;
  if (info.largest_timestamp != kNoTimestamp) row.largest_timestamp_ms = info.largest_timestamp.value;
  const ByteVector log = TRY(read_start(fs, segment.path_of(storage::kLogSuffix), info.size));
  row.batches = TRY(read_batches(log, info.base_offset, aborted)).batches;
  const storage::Segment::IndexSizes sizes = TRY(segment.index_sizes());
  const ByteVector offsets = TRY(read_start(fs, segment.path_of(storage::kOffsetIndexSuffix), sizes.offset_index));
  const ByteVector times = TRY(read_start(fs, segment.path_of(storage::kTimeIndexSuffix), sizes.time_index));
  row.offset_index = read_offset_entries(offsets, info.base_offset);
  row.time_index = read_time_entries(times, info.base_offset);
  return row;
}

}  // namespace

ByteVector make_batch(const BatchToAppend& wanted, TimestampMs timestamp) {
  if (!wanted.size) return build_batch(wanted, timestamp, std::nullopt);
  const std::size_t empty = build_batch(wanted, timestamp, 0).size();
  CHECK(empty <= *wanted.size, "a batch of {} bytes cannot be made {} long", empty, *wanted.size);
  // A longer filler has longer length fields, too.
  std::size_t filler = *wanted.size - empty;
  ByteVector batch = build_batch(wanted, timestamp, filler);
  while (batch.size() > *wanted.size && filler > 0) batch = build_batch(wanted, timestamp, --filler);
  CHECK(batch.size() == *wanted.size, "no filler makes a batch {} bytes long", *wanted.size);
  return batch;
}

Result<api::DemoLog> look_at(io::FileSystem& fs, const storage::PartitionLog& log, TimestampMs now) {
  api::DemoLog seen;
  seen.topic = log.partition().topic;
  seen.partition = log.partition().partition.value;
  seen.log_start = log.log_start_offset().value;
  seen.high_watermark = log.high_watermark().value;
  seen.last_stable = log.last_stable_offset().value;
  seen.log_end = log.log_end_offset().value;
  seen.recovery_point = log.recovery_point().value;
  seen.open = true;
  const std::vector<storage::RetentionVerdict> verdicts = TRY(log.explain_retention(now));
  for (const storage::RetentionVerdict& verdict : verdicts) seen.verdicts.push_back(shown_verdict(verdict, storage::describe(verdict)));
  const NamesInDirectory names = TRY(sort_names(fs, log.directory()));
  seen.other_files = names.others;
  const storage::CleaningView view = log.view_for_cleaning();
  const std::vector<storage::SegmentInfo> infos = log.segments();
  CHECK(infos.size() == view.segments->size(), "nobody else changes the log of a demo");
  std::vector<storage::AbortedEntry> aborted;
  for (const auto& segment : *view.segments) {
    for (const storage::AbortedEntry& entry : TRY(segment->aborted_entries())) aborted.push_back(entry);
  }
  // What retention took, as long as its files are there. What the cleaner replaced lies beside its successor and is not shown.
  for (const NamesInDirectory::OfSegment& files : names.segments) {
    if (files.state != storage::SegmentFileState::deleted || files.base >= infos.front().base_offset) continue;
    api::DemoSegment segment = TRY(read_closed_segment(fs, log.directory(), files, storage::kDeletedSuffix));
    segment.state = api::SegmentState::deleted;
    seen.segments.push_back(std::move(segment));
  }
  for (std::size_t i = 0; i < infos.size(); ++i) {
    api::DemoSegment segment = TRY(read_live_segment(fs, *(*view.segments)[i], infos[i], aborted));
    if (i < verdicts.size() && verdicts[i].goes) segment.state = api::SegmentState::going;
    for (const NamesInDirectory::OfSegment& files : names.segments) {
      if (files.base == infos[i].base_offset && files.state == storage::SegmentFileState::current) segment.files = files.names;
    }
    seen.segments.push_back(std::move(segment));
  }
  return seen;
}

Result<api::DemoLog> look_at_files(io::FileSystem& fs, const io::Path& directory, const TopicPartition& partition,
                                   Offset checkpoint) {
  api::DemoLog seen;
  seen.topic = partition.topic;
  seen.partition = partition.partition.value;
  const NamesInDirectory names = TRY(sort_names(fs, directory));
  seen.other_files = names.others;
  for (const NamesInDirectory::OfSegment& files : names.segments) {
    if (files.state != storage::SegmentFileState::current) continue;
    api::DemoSegment segment = TRY(read_closed_segment(fs, directory, files, {}));
    segment.state = api::SegmentState::closed;
    seen.log_end = segment.next;
    seen.segments.push_back(std::move(segment));
  }
  if (!seen.segments.empty()) {
    seen.segments.back().state = api::SegmentState::active;
    seen.log_start = seen.segments.front().base;
  }
  seen.high_watermark = std::min(checkpoint.value, seen.log_end);
  seen.last_stable = seen.high_watermark;
  return seen;
}

api::Fact fact(std::string name, std::string value, std::string from) {
  return {std::move(name), std::move(value), std::move(from)};
}

api::Setting setting(std::string name, std::int64_t value, std::string says) {
  return setting(std::move(name), fmt::format("{}", value), std::move(says));
}

api::Setting setting(std::string name, std::string value, std::string says) {
  return {std::move(name), std::move(value), "topic", std::move(says), {}};
}

std::string count_of(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string offsets_text(Offset first, Offset next) {
  if (next.value - first.value == 1) return fmt::format("offset {}", first);
  return fmt::format("offsets {} to {}", first, next.value - 1);
}

Stage::Stage(std::string name, std::string title, std::string question) {
  demo_.name = std::move(name);
  demo_.title = std::move(title);
  demo_.question = std::move(question);
  demo_.starts_ms = kStart.value;
}

storage::LogEnvironment Stage::environment() { return {disk.get(), &clock, &random, &logger}; }

io::Path Stage::directory_of(const TopicPartition& partition) const {
  return io::join(kLogDirectory, fmt::format("{}-{}", partition.topic, partition.partition));
}

Result<std::shared_ptr<storage::PartitionLog>> Stage::open(const TopicPartition& partition, const storage::OpenOptions& options,
                                                           storage::RecoveryReport* report) {
  auto log = TRY(storage::PartitionLog::open(environment(), directory_of(partition), partition, options, report));
  logs_.push_back(log);
  return log;
}

Result<storage::AppendResult> Stage::append(storage::PartitionLog& log, const BatchToAppend& batch) {
  return append_bytes(log, make_batch(batch, clock.now()), storage::AppendOrigin::client);
}

Result<storage::AppendResult> Stage::append_bytes(storage::PartitionLog& log, ByteVector batch, storage::AppendOrigin origin) {
  storage::AppendResult result = log.append_as_leader(batch, {0}, origin);
  if (result.fault != storage::AppendFault::none) {
    return result.error.value_or(Error{Errc::invalid, fmt::format("demo {}: a batch was refused", demo_.name)});
  }
  log.set_high_watermark(log.settled_end());
  return result;
}

Result<void> Stage::show(std::string title, std::string does, std::string says, std::vector<api::Fact> facts) {
  api::DemoStep step;
  step.title = std::move(title);
  step.does = std::move(does);
  step.says = std::move(says);
  step.clock_ms = clock.now().value;
  for (const auto& log : logs_) step.logs.push_back(TRY(look_at(*disk, *log, clock.now())));
  step.facts = std::move(facts);
  demo_.steps.push_back(std::move(step));
  return {};
}

}  // namespace cordwood::inspector::demos
