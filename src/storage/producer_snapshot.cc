#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "storage/producer_state.h"

namespace cordwood::storage {

namespace {

constexpr std::int16_t kVersion = 1;
constexpr std::size_t kVersionAt = 0;              // i16
constexpr std::size_t kCrcAt = kVersionAt + 2;     // u32, CRC-32C of kCountAt..end
constexpr std::size_t kCountAt = kCrcAt + 4;       // i32
constexpr std::size_t kEntriesAt = kCountAt + 4;   // entries of:
// producer id i64, epoch i16, last sequence i32, last offset i64, offset delta i32, timestamp i64,
// coordinator epoch i32, first offset of the open transaction i64
constexpr std::size_t kEntrySize = 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8;
static_assert(kEntriesAt == 10 && kEntrySize == 46);

void write_entry(ByteWriter& out, const ProducerEntry& entry) {
  CachedBatch newest = entry.batches.empty() ? CachedBatch{} : entry.batches.back();
  out.i64(entry.producer_id);
  out.i16(entry.epoch);
  out.i32(newest.last_sequence);
  out.i64(newest.last_offset.value);
  out.i32(newest.offset_delta);
  out.i64(entry.last_timestamp.value);
  out.i32(entry.coordinator_epoch);
  out.i64(entry.current_txn_first_offset ? entry.current_txn_first_offset->value : -1);
}

ProducerEntry read_entry(ByteReader& in) {
  ProducerEntry entry;
  CachedBatch newest;
  entry.producer_id = in.i64();
  entry.epoch = in.i16();
  newest.last_sequence = in.i32();
  newest.last_offset = {in.i64()};
  newest.offset_delta = in.i32();
  newest.timestamp = {in.i64()};
  entry.last_timestamp = newest.timestamp;
  entry.coordinator_epoch = in.i32();
  std::int64_t first_offset = in.i64();
  // A producer of which only a marker is known has no batch.
  if (newest.last_offset.value >= 0) entry.batches.push_back(newest);
  if (first_offset >= 0) entry.current_txn_first_offset = Offset{first_offset};
  return entry;
}

}  // namespace

ByteVector encode_producer_snapshot(const ProducerState& state) {
  std::vector<const ProducerEntry*> entries;
  entries.reserve(state.producers().size());
  for (const auto& [id, entry] : state.producers()) entries.push_back(&entry);
  std::ranges::sort(entries, {}, &ProducerEntry::producer_id);

  ByteWriter out;
  out.buffer().reserve(kEntriesAt + entries.size() * kEntrySize);
  out.i16(kVersion);
  out.u32(0);
  out.i32(static_cast<std::int32_t>(entries.size()));
  for (const ProducerEntry* entry : entries) write_entry(out, *entry);
  out.patch<std::uint32_t>(kCrcAt, crc32c(out.view().subspan(kCountAt)));
  return out.take();
}

Result<std::vector<ProducerEntry>> decode_producer_snapshot(BytesView bytes, std::string_view path) {
  auto corrupt = [&](std::string what) { return Error{Errc::corrupt, fmt::format("{}: {}", path, what)}; };
  if (bytes.size() < kEntriesAt) return corrupt(fmt::format("{} bytes, fewer than the header's", bytes.size()));
  auto version = load_be<std::int16_t>(bytes, kVersionAt);
  if (version != kVersion) {
    return Error{Errc::unsupported, fmt::format("{}: version {}, of which only 1 is known", path, version)};
  }
  auto stored_crc = load_be<std::uint32_t>(bytes, kCrcAt);
  std::uint32_t crc = crc32c(bytes.subspan(kCountAt));
  if (crc != stored_crc) return corrupt(fmt::format("CRC {:08x}, computed {:08x}", stored_crc, crc));
  auto count = load_be<std::int32_t>(bytes, kCountAt);
  if (count < 0 || static_cast<std::size_t>(count) * kEntrySize != bytes.size() - kEntriesAt) {
    return corrupt(fmt::format("{} entries in {} bytes", count, bytes.size()));
  }
  std::vector<ProducerEntry> entries;
  entries.reserve(static_cast<std::size_t>(count));
  ByteReader in(bytes.subspan(kEntriesAt));
  for (std::int32_t i = 0; i < count; ++i) entries.push_back(read_entry(in));
  return entries;
}

Result<void> write_producer_snapshot(io::FileSystem& fs, const io::Path& path, const ProducerState& state,
                                     io::Fsync fsync) {
  return io::write_file_atomically(fs, path, encode_producer_snapshot(state), fsync);
}

Result<std::vector<ProducerEntry>> read_producer_snapshot(io::FileSystem& fs, const io::Path& path) {
  constexpr ByteCount kLongest{2 * GiB};
  ByteVector bytes = TRY(io::read_file(fs, path, kLongest));
  return decode_producer_snapshot(bytes, path);
}

}  // namespace cordwood::storage
