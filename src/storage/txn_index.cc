#include "storage/txn_index.h"

#include <fmt/format.h>

namespace cordwood::storage {
namespace {

// As much as the disk hands out at a time.
constexpr std::int64_t kReserveStep = 4 * KiB;

FilePosition position_of(std::int64_t entry) { return {entry * TxnIndex::kEntrySize}; }

void write_entry(ByteWriter& writer, const AbortedEntry& entry) {
  writer.i16(0);
  writer.i64(entry.producer_id);
  writer.i64(entry.first_offset.value);
  writer.i64(entry.last_offset.value);
  writer.i64(entry.last_stable_offset.value);
}

}  // namespace

ByteVector encode_txn_index(std::span<const AbortedEntry> entries) {
  ByteWriter writer;
  for (const AbortedEntry& entry : entries) write_entry(writer, entry);
  return to_vector(writer.view());
}

Result<std::unique_ptr<TxnIndex>> TxnIndex::open(io::FileSystem& fs, const io::Path& path) {
  std::shared_ptr<io::File> file = TRY(fs.open(path, io::OpenMode::create));
  const ByteCount size = TRY(file->size());
  return std::unique_ptr<TxnIndex>(new TxnIndex(std::move(file), size.value / kEntrySize));
}

Result<std::vector<AbortedEntry>> TxnIndex::entries() const {
  std::vector<AbortedEntry> entries;
  ByteVector bytes(static_cast<std::size_t>(position_of(count_.load(std::memory_order_acquire)).value));
  bytes.resize(TRY(file_->read_at(FilePosition{0}, bytes)));
  ByteReader reader(bytes);
  while (reader.remaining() >= static_cast<std::size_t>(kEntrySize)) {
    const std::int16_t version = reader.i16();
    if (version != 0) {
      return Error{Errc::unsupported, fmt::format("version {} in entry {} of {}", version, entries.size(), file_->path())};
    }
    AbortedEntry entry;
    entry.producer_id = reader.i64();
    entry.first_offset = {reader.i64()};
    entry.last_offset = {reader.i64()};
    entry.last_stable_offset = {reader.i64()};
    entries.push_back(entry);
  }
  return entries;
}

Result<void> TxnIndex::reserve(std::int64_t entries) {
  const std::int64_t end = position_of(count_.load(std::memory_order_relaxed) + entries).value;
  if (end <= reserved_.value) return {};
  const ByteCount wanted{(end + kReserveStep - 1) / kReserveStep * kReserveStep};
  TRY(file_->reserve(wanted));
  reserved_ = wanted;
  return {};
}

Result<void> TxnIndex::append(const AbortedEntry& entry) {
  const std::int64_t count = count_.load(std::memory_order_relaxed);
  if (count > 0) {
    std::byte raw[8];
    TRY(file_->read_at(position_of(count - 1) + ByteCount{18}, raw));
    const Offset last{load_be<std::int64_t>(raw, 0)};
    if (entry.last_offset <= last) {
      return Error{Errc::out_of_range, fmt::format("marker {} does not follow marker {} in {}", entry.last_offset, last,
                                                   file_->path())};
    }
  }
  ByteWriter writer;
  write_entry(writer, entry);
  TRY(file_->write_at(position_of(count), writer.view()));
  count_.store(count + 1, std::memory_order_release);
  return {};
}

Result<void> TxnIndex::truncate_to(Offset target) {
  std::int64_t kept = 0;
  for (const AbortedEntry& entry : TRY(entries())) {
    if (entry.last_offset >= target) break;
    ++kept;
  }
  count_.store(kept, std::memory_order_release);
  reserved_ = {};
  return file_->truncate(position_of(kept) - FilePosition{0});
}

Result<void> TxnIndex::reset() {
  count_.store(0, std::memory_order_release);
  reserved_ = {};
  return file_->truncate(ByteCount{0});
}

Result<void> TxnIndex::sync() { return file_->sync(); }

}  // namespace cordwood::storage
