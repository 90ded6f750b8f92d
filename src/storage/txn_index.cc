#include "storage/txn_index.h"

#include <fmt/format.h>

namespace cordwood::storage {
namespace {

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
  const std::shared_ptr<io::File> file = this->file();
  ByteVector bytes(static_cast<std::size_t>(position_of(count_.load(std::memory_order_acquire)).value));
  bytes.resize(TRY(file->read_at(FilePosition{0}, bytes)));
  ByteReader reader(bytes);
  while (reader.remaining() >= static_cast<std::size_t>(kEntrySize)) {
    const std::int16_t version = reader.i16();
    if (version != 0) {
      return Error{Errc::unsupported, fmt::format("version {} in entry {} of {}", version, entries.size(), file->path())};
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

Result<void> TxnIndex::append(const AbortedEntry& entry) {
  const std::shared_ptr<io::File> file = this->file();
  const std::int64_t count = count_.load(std::memory_order_relaxed);
  if (count > 0) {
    std::byte raw[8];
    TRY(file->read_at(position_of(count - 1) + ByteCount{18}, raw));
    const Offset last{load_be<std::int64_t>(raw, 0)};
    if (entry.last_offset <= last) {
      return Error{Errc::out_of_range, fmt::format("marker {} does not follow marker {} in {}", entry.last_offset, last,
                                                   file->path())};
    }
  }
  ByteWriter writer;
  write_entry(writer, entry);
  TRY(file->write_at(position_of(count), writer.view()));
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
  return file()->truncate(position_of(kept) - FilePosition{0});
}

Result<void> TxnIndex::reset() {
  count_.store(0, std::memory_order_release);
  return file()->truncate(ByteCount{0});
}

Result<void> TxnIndex::replace_by(io::FileSystem& fs, const io::Path& path, std::span<const AbortedEntry> entries) {
  TRY(io::write_file_atomically(fs, path, encode_txn_index(entries)));
  std::shared_ptr<io::File> fresh = TRY(fs.open(path, io::OpenMode::read_write));
  MutexLock lock(mu_);
  file_ = std::move(fresh);
  count_.store(static_cast<std::int64_t>(entries.size()), std::memory_order_release);
  return {};
}

Result<void> TxnIndex::sync() { return file()->sync(); }

}  // namespace cordwood::storage
