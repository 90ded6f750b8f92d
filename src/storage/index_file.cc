#include "storage/index_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace cordwood::storage {

namespace {
// Blocks are asked for in steps that grow with the file: one system call for many entries, and of a small index no more disk
// than a mapped page takes. What a step is ahead of the entries goes with the trim at the roll.
constexpr std::int64_t kSmallestStep = 4 * KiB;
constexpr std::int64_t kLargestStep = 128 * KiB;
}  // namespace

IndexFile::IndexFile(io::FileSystem& fs, io::Path path, std::size_t entry_size, ByteCount capacity)
    : fs_(&fs),
      entry_size_(entry_size),
      capacity_{capacity.value - capacity.value % static_cast<std::int64_t>(entry_size)},
      path_(std::move(path)) {}

Result<std::unique_ptr<IndexFile>> IndexFile::open(io::FileSystem& fs, io::Path path, std::size_t entry_size,
                                                   ByteCount capacity, IndexGrowth growth) {
  auto size = static_cast<std::int64_t>(entry_size);
  if (capacity.value < size) {
    return Error{Errc::invalid, fmt::format("{}: no room for an entry in {} bytes", path, capacity)};
  }
  std::unique_ptr<IndexFile> index(new IndexFile(fs, std::move(path), entry_size, capacity));
  Descriptor until_the_end{*index};
  if (growth == IndexGrowth::full) {
    index->file_ = TRY(fs.open(index->path_, io::OpenMode::create));
    index->length_ = TRY(index->file_->size());
  } else {
    Result<io::FileStatus> status = fs.status(index->path_);
    if (status) {
      index->length_ = status->size;
    } else if (status.error().code != Errc::not_found) {
      return status.error();
    } else if (growth == IndexGrowth::as_it_is) {
      TRY(fs.open(index->path_, io::OpenMode::create));
    }
  }
  std::int64_t count = index->length_.value / size;
  index->count_ = count;
  index->max_entries_ = growth == IndexGrowth::as_it_is ? count : std::max(count, index->capacity_.value / size);
  if (growth == IndexGrowth::full) TRY(index->set_length_locked(std::max(index->capacity_, {count * size})));
  return index;
}

Result<void> IndexFile::open_locked() const {
  if (!file_) file_ = TRY(fs_->open(path_, io::OpenMode::read_write));
  return {};
}

void IndexFile::unmap_locked() const {
  map_.reset();
  start_ = nullptr;
  mapped_entries_ = 0;
}

Result<void> IndexFile::map_locked() const {
  unmap_locked();
  TRY(open_locked());
  ByteCount whole{length_.value - length_.value % entry_size()};
  map_ = TRY(file_->map(whole));
  start_ = map_->bytes().data();
  mapped_entries_ = whole.value / entry_size();
  return {};
}

Result<void> IndexFile::map() const {
  ReadersGate::Closure alone(gate_);
  Descriptor until_the_end{*this};
  if (mapped_entries_ >= entries()) return {};
  return map_locked();
}

Result<void> IndexFile::set_length_locked(ByteCount length) {
  if (length == length_) return {};
  TRY(open_locked());
  TRY(file_->truncate(length));
  length_ = length;
  reserved_ = std::min(reserved_, length);
  return {};
}

Result<void> IndexFile::grow_locked() {
  if (!file_) file_ = TRY(fs_->open(path_, io::OpenMode::create));
  ByteCount length = std::max(capacity_, {entries() * entry_size()});
  TRY(set_length_locked(length));
  max_entries_ = length.value / entry_size();
  TRY(map_locked());
  ready_for_appends_ = true;
  return {};
}

Result<void> IndexFile::append(BytesView added) {
  CHECK(added.size() % entry_size_ == 0, "entries of {} bytes in {}", entry_size_, added.size());
  if (added.empty()) return {};
  const std::int64_t count = entries();
  const std::int64_t new_count = count + static_cast<std::int64_t>(added.size() / entry_size_);
  if (new_count > max_entries()) return Error{Errc::limit, fmt::format("{} is full: {} entries", path(), count)};
  for (;;) {
    {
      ReadersGate::Pass inside(gate_);
      if (ready_for_appends_) {
        TRY(reserve({new_count * entry_size()}));
        std::memcpy(start_ + count * entry_size(), added.data(), added.size());
        // Marked after the bytes are there: a sync that clears the mark has them, one that came before leaves it standing.
        changed_.store(true, std::memory_order_release);
        count_.store(new_count, std::memory_order_release);
        return {};
      }
    }
    ReadersGate::Closure alone(gate_);
    Descriptor until_the_end{*this};
    TRY(grow_locked());
  }
}

// Inside of the gate.
Result<void> IndexFile::reserve(ByteCount end) {
  if (end <= reserved_) return {};
  const std::int64_t step = std::clamp(reserved_.value / kSmallestStep * kSmallestStep, kSmallestStep, kLargestStep);
  const ByteCount wanted = std::min<ByteCount>({(end.value + step - 1) / step * step}, length_);
  const std::shared_ptr<io::File> file = TRY(fs_->open(path_, io::OpenMode::read_write));
  TRY(file->reserve(wanted));
  reserved_ = wanted;
  return {};
}

void IndexFile::close_files() {
  ReadersGate::Closure alone(gate_);
  unmap_locked();
  ready_for_appends_ = false;
}

bool IndexFile::is_mapped() const {
  ReadersGate::Pass inside(gate_);
  return map_ != nullptr;
}

ByteCount IndexFile::size_on_disk() const {
  ReadersGate::Pass inside(gate_);
  return length_;
}

io::Path IndexFile::path() const {
  ReadersGate::Pass inside(gate_);
  return path_;
}

void IndexFile::keep_first(std::int64_t count) {
  CHECK(count >= 0, "keep {} entries", count);
  if (count >= entries()) return;
  // Excludes the readers, so that none of them is among entries that the next append overwrites.
  ReadersGate::Closure alone(gate_);
  count_.store(count, std::memory_order_release);
  changed_ = true;
}

Result<void> IndexFile::reset() {
  ReadersGate::Closure alone(gate_);
  Descriptor until_the_end{*this};
  unmap_locked();
  count_ = 0;
  changed_ = true;
  reserved_ = {};
  ready_for_appends_ = false;
  if (!file_) file_ = TRY(fs_->open(path_, io::OpenMode::create));
  TRY(set_length_locked({0}));
  TRY(set_length_locked(capacity_));
  max_entries_ = capacity_.value / entry_size();
  return {};
}

Result<void> IndexFile::resize_to_capacity() {
  ReadersGate::Closure alone(gate_);
  Descriptor until_the_end{*this};
  unmap_locked();
  ready_for_appends_ = false;
  if (!file_) file_ = TRY(fs_->open(path_, io::OpenMode::create));
  ByteCount length = std::max(capacity_, {entries() * entry_size()});
  TRY(set_length_locked(length));
  max_entries_ = length.value / entry_size();
  return {};
}

Result<void> IndexFile::trim() {
  ReadersGate::Closure alone(gate_);
  Descriptor until_the_end{*this};
  std::int64_t count = entries();
  ByteCount length{count * entry_size()};
  max_entries_ = count;
  ready_for_appends_ = false;
  if (length == length_) return {};
  unmap_locked();
  changed_ = true;
  return set_length_locked(length);
}

Result<void> IndexFile::rename_to(io::Path path) {
  ReadersGate::Closure alone(gate_);
  Result<void> renamed = fs_->rename(path_, path);
  bool not_made_yet = length_.value == 0;
  if (!renamed && !(not_made_yet && renamed.error().code == Errc::not_found)) return renamed;
  path_ = std::move(path);
  return {};
}

void IndexFile::moved_to(io::Path path) {
  ReadersGate::Closure alone(gate_);
  path_ = std::move(path);
}

Result<void> IndexFile::replaced() {
  ReadersGate::Closure alone(gate_);
  const io::FileStatus status = TRY(fs_->status(path_));
  unmap_locked();
  file_.reset();
  length_ = status.size;
  reserved_ = {};
  ready_for_appends_ = false;
  changed_ = false;
  count_ = length_.value / entry_size();
  max_entries_ = count_.load();
  return {};
}

Result<void> IndexFile::remove() {
  ReadersGate::Closure alone(gate_);
  Result<void> removed = fs_->remove_file(path_);
  if (!removed && removed.error().code != Errc::not_found) return removed;
  changed_ = false;
  ready_for_appends_ = false;
  // What is mapped stays readable; what is not must not find a new file that has taken the name.
  if (mapped_entries_ < entries()) count_ = 0;
  max_entries_ = entries();
  return {};
}

Result<void> IndexFile::sync() {
  std::lock_guard one_at_a_time(sync_);
  if (!changed_.exchange(false, std::memory_order_acq_rel)) return {};
  Result<std::shared_ptr<io::File>> file = fs_->open(path(), io::OpenMode::read_write);
  // An fsync covers what was written through a mapping, too, also through one that is gone.
  Result<void> synced = file ? (*file)->sync() : Result<void>(file.error());
  if (!synced) changed_ = true;
  return synced;
}

}  // namespace cordwood::storage
