#include "offline/segment_extract.h"

#include <fmt/format.h>

#include <algorithm>

#include "record/builder.h"
#include "storage/segment_file_name.h"

namespace cordwood::offline {
namespace {

std::optional<ByteVector> owned(std::optional<BytesView> bytes) {
  if (!bytes) return {};
  return to_vector(*bytes);
}

std::optional<BytesView> viewed(const std::optional<ByteVector>& bytes) {
  if (!bytes) return {};
  return BytesView(*bytes);
}

}  // namespace

void BatchExtract::add(const record::BatchHeader&, const record::RecordView& record) {
  // A batch whose deltas do not go up was written by nobody that Kafka lets in.
  if (!records_.empty() && record.offset_delta <= records_.back().delta) return;
  if (record.offset_delta < 0) return;
  Kept& kept = records_.emplace_back();
  kept.delta = record.offset_delta;
  kept.timestamp = std::max(record.timestamp, kNoTimestamp);
  kept.key = owned(record.key);
  kept.value = owned(record.value);
  for (const record::HeaderView& header : record.headers) {
    kept.headers.emplace_back(std::string(header.key), owned(header.value));
  }
}

ByteVector BatchExtract::finish(const record::BatchHeader& header, BytesView original) {
  if (whole && !header.is_transactional() && !header.is_control() && !header.has_producer_id()) return to_vector(original);
  record::BatchOptions options;
  options.base_offset = header.base_offset;
  options.partition_leader_epoch = header.partition_leader_epoch;
  options.compression.codec = record::codec_from_bits(header.codec_bits()).value_or(record::Codec::none);
  options.timestamp_type = header.timestamp_type();
  if (options.timestamp_type == record::TimestampType::log_append_time) {
    options.log_append_time = std::max(header.max_timestamp, kNoTimestamp);
  }
  options.last_offset_delta = std::max(header.last_offset_delta, records_.back().delta);
  record::BatchBuilder builder(options);
  std::vector<record::HeaderToWrite> headers;
  for (const Kept& kept : records_) {
    headers.clear();
    for (const auto& [key, value] : kept.headers) headers.push_back({key, viewed(value)});
    builder.add_at(kept.delta, kept.timestamp, viewed(kept.key), viewed(kept.value), headers);
  }
  return builder.build();
}

Result<void> SegmentExtract::write(io::FileSystem& fs, const io::Path& to, const PartitionOnDisk& partition, Offset base,
                                   BytesView batch) {
  auto [at, fresh] = targets_.try_emplace(partition.partition);
  Target& target = at->second;
  if (fresh) {
    target.directory = io::join(to, partition.partition.to_string());
    TRY(fs.create_directories(target.directory));
    for (const io::DirectoryEntry& entry : TRY(fs.list(target.directory))) {
      if (entry.name.ends_with(storage::kLogSuffix)) {
        targets_.erase(at);
        return Error{Errc::exists, fmt::format("{} holds a log already", io::join(to, partition.partition.to_string()))};
      }
    }
    if (partition.topic_id) TRY(storage::write_partition_metadata(fs, target.directory, *partition.topic_id));
  }
  const ByteCount size{static_cast<std::int64_t>(batch.size())};
  const bool full = target.file != nullptr && ((target.end - FilePosition{0}) + size > kLargest ||
                                               base.value - target.base.value > INT32_MAX / 2);
  if (target.file == nullptr || full) {
    if (target.file != nullptr) TRY(target.file->sync());
    const io::Path path = io::join(target.directory, storage::segment_file_name(base, storage::kLogSuffix));
    target.file = TRY(fs.open(path, io::OpenMode::create_new));
    target.base = base;
    target.end = FilePosition{0};
  }
  TRY(target.file->write_at(target.end, batch));
  target.end += size;
  return {};
}

Result<void> SegmentExtract::finish() {
  for (auto& [partition, target] : targets_) {
    if (target.file != nullptr) TRY(target.file->sync());
  }
  return {};
}

}  // namespace cordwood::offline
