#include "storage/batch_scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "record/walk.h"

namespace cordwood::storage {
namespace {

// Magic 1 keeps its timestamp behind magic and attributes; compressed or not, it is the largest of its records.
constexpr std::size_t kLegacyTimestamp = record::kMagicPrefix + 1;
constexpr std::size_t kLegacyHeader = kLegacyTimestamp + 8;
constexpr std::size_t kLargeBatch = 2 * KiB;

}  // namespace

Result<BatchInfo> describe_batch(BytesView bytes, FilePosition position) {
  if (bytes.size() < record::kMagicPrefix) {
    return Error{Errc::corrupt, fmt::format("{} bytes at position {} are no batch", bytes.size(), position)};
  }
  const record::EntryPrefix prefix = TRY(record::read_prefix(bytes));
  BatchInfo info;
  info.position = position;
  info.size = prefix.total_size();
  info.magic = prefix.magic;
  if (prefix.magic < 2) {
    info.base_offset = prefix.offset;
    info.last_offset = prefix.offset;
    if (prefix.magic == 1) {
      if (bytes.size() < kLegacyHeader || info.size.value < static_cast<std::int64_t>(kLegacyHeader)) {
        return Error{Errc::corrupt, fmt::format("the message at position {} is too short for magic 1", position)};
      }
      info.max_timestamp = {load_be<std::int64_t>(bytes, kLegacyTimestamp)};
    }
    return info;
  }
  if (info.size.value < static_cast<std::int64_t>(record::kHeaderSize) || bytes.size() < record::kHeaderSize) {
    return Error{Errc::corrupt, fmt::format("the batch at position {} is shorter than a header", position)};
  }
  const record::BatchView view(bytes);
  info.base_offset = view.base_offset();
  info.last_offset = view.last_offset();
  info.max_timestamp = view.max_timestamp();
  info.leader_epoch = load_be<std::int32_t>(bytes, record::kPartitionLeaderEpoch);
  return info;
}

Result<BytesView> BatchScan::header_at(FilePosition position) {
  const auto left = static_cast<std::size_t>((end_ - position).value);
  const std::size_t wanted = std::min(left, record::kHeaderSize);
  const std::int64_t skip = (position - window_start_).value;
  if (skip < 0 || static_cast<std::size_t>(skip) + wanted > window_size_) {
    const std::size_t size = large_batches_ ? wanted : std::min(left, window_.size());
    window_size_ = TRY(file_.read_at(position, MutableBytesView(window_.data(), size)));
    window_start_ = position;
    return BytesView(window_.data(), std::min(wanted, window_size_));
  }
  return BytesView(window_.data() + skip, wanted);
}

Result<std::optional<BatchInfo>> BatchScan::next() {
  if ((end_ - position_).value < static_cast<std::int64_t>(record::kMagicPrefix)) return std::optional<BatchInfo>();
  const BytesView header = TRY(header_at(position_));
  // The file became shorter meanwhile: the same as an end.
  if (header.size() < record::kMagicPrefix) return std::optional<BatchInfo>();
  const record::EntryPrefix prefix = TRY(record::read_prefix(header));
  if (prefix.total_size() > end_ - position_) return std::optional<BatchInfo>();
  const BatchInfo info = TRY(describe_batch(header, position_));
  header_ = header;
  position_ = info.end();
  large_batches_ = info.size.value >= static_cast<std::int64_t>(kLargeBatch);
  return std::optional<BatchInfo>(info);
}

Result<std::optional<BatchInfo>> first_batch_reaching(const ByteSource& file, Offset target, FilePosition from,
                                                      FilePosition end) {
  BatchScan scan(file, from, end);
  while (true) {
    const std::optional<BatchInfo> batch = TRY(scan.next());
    if (!batch || batch->last_offset >= target) return batch;
  }
}

}  // namespace cordwood::storage
