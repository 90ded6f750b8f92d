#include "storage/index_builder.h"

#include <algorithm>

namespace cordwood::storage {

IndexBuilder::IndexBuilder(Offset base_offset, ByteCount index_interval_bytes, ByteCount index_bytes)
    : base_offset_(base_offset),
      interval_(index_interval_bytes.value),
      most_offsets_(static_cast<std::size_t>(std::max<std::int64_t>(index_bytes.value / OffsetIndex::kEntrySize, 0))),
      most_times_(static_cast<std::size_t>(std::max<std::int64_t>(index_bytes.value / TimeIndex::kEntrySize, 0))),
      max_{kNoTimestamp, base_offset} {}

bool IndexBuilder::takes(const TimeEntry& entry) const {
  const TimeEntry last = times_.empty() ? TimeEntry{kNoTimestamp, base_offset_} : times_.back();
  return entry.timestamp > last.timestamp && entry.offset >= last.offset;
}

void IndexBuilder::add(const BatchInfo& batch) {
  if (batch.max_timestamp > max_.timestamp) max_ = {batch.max_timestamp, batch.last_offset};
  if ((batch.position - last_indexed_).value <= interval_) return;
  if (offsets_.size() < most_offsets_ && (offsets_.empty() || batch.last_offset > offsets_.back().offset)) {
    offsets_.push_back({batch.last_offset, batch.position});
  }
  // One slot is for the closing entry.
  if (times_.size() + 1 < most_times_ && takes(max_)) times_.push_back(max_);
  last_indexed_ = batch.position;
}

ByteVector IndexBuilder::offset_index() const {
  ByteWriter writer;
  for (const IndexEntry& entry : offsets_) {
    writer.i32(static_cast<std::int32_t>((entry.offset - base_offset_).value));
    writer.i32(static_cast<std::int32_t>(entry.position.value));
  }
  return to_vector(writer.view());
}

ByteVector IndexBuilder::time_index(Closing closing) const {
  ByteWriter writer;
  const auto write = [&](const TimeEntry& entry) {
    writer.i64(entry.timestamp.value);
    writer.i32(static_cast<std::int32_t>((entry.offset - base_offset_).value));
  };
  for (const TimeEntry& entry : times_) write(entry);
  if (closing == Closing::yes && times_.size() < most_times_ && takes(max_)) write(max_);
  return to_vector(writer.view());
}

Result<IndexBuilder> build_indexes(const ByteSource& log, FilePosition end, Offset base_offset,
                                   ByteCount index_interval_bytes, ByteCount index_bytes) {
  IndexBuilder builder(base_offset, index_interval_bytes, index_bytes);
  BatchScan scan(log, FilePosition{0}, end);
  while (true) {
    const Result<std::optional<BatchInfo>> batch = scan.next();
    if (!batch && batch.error().code != Errc::corrupt) return batch.error();
    if (!batch || !*batch) return builder;
    const bool fits = (*batch)->last_offset >= base_offset && ((*batch)->last_offset - base_offset).value <= INT32_MAX;
    if (fits) builder.add(**batch);
  }
}

}  // namespace cordwood::storage
