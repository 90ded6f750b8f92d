#include "io/memory_content.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace cordwood::io::memory {

namespace {

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kSmallestRegion = 16 * MiB;

std::int64_t round_down(std::int64_t n, std::int64_t unit) { return n / unit * unit; }
std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

// --- Region ---

Region::~Region() {
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(capacity_));
}

bool Region::make_room(std::int64_t size, bool pinned) {
  if (size <= capacity_) return true;
  auto wanted = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max(size, kSmallestRegion))));
  void* start;
  if (data_ == nullptr) {
    start = ::mmap(nullptr, static_cast<std::size_t>(wanted), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  } else {
    start = ::mremap(data_, static_cast<std::size_t>(capacity_), static_cast<std::size_t>(wanted),
                     pinned ? 0 : MREMAP_MAYMOVE);
  }
  if (start == MAP_FAILED) return false;
  // One byte written must not cost two megabytes.
  ::madvise(start, static_cast<std::size_t>(wanted), MADV_NOHUGEPAGE);
  data_ = static_cast<std::byte*>(start);
  capacity_ = wanted;
  return true;
}

void Region::touch(std::int64_t end) { touched_end_ = std::max(touched_end_, end); }

void Region::write(std::int64_t position, BytesView bytes) {
  if (bytes.empty()) return;
  std::memcpy(data_ + position, bytes.data(), bytes.size());
  touch(position + static_cast<std::int64_t>(bytes.size()));
}

void Region::zero(std::int64_t begin, std::int64_t end) {
  end = std::min(end, touched_end_);
  if (begin >= end) return;
  std::int64_t first_page = std::min(round_up(begin, kPage), end);
  std::int64_t last_page = std::max(round_down(end, kPage), first_page);
  std::memset(data_ + begin, 0, static_cast<std::size_t>(first_page - begin));
  if (last_page > first_page) {
    ::madvise(data_ + first_page, static_cast<std::size_t>(last_page - first_page), MADV_DONTNEED);
  }
  std::memset(data_ + last_page, 0, static_cast<std::size_t>(end - last_page));
  if (end == touched_end_) touched_end_ = begin;
}

void Region::copy_from(const Region& other, std::int64_t begin, std::int64_t end) {
  std::int64_t shared = std::min(end, other.touched_end_);
  for (std::int64_t at = begin; at < shared;) {
    std::int64_t stop = std::min(round_down(at, kPage) + kPage, shared);
    auto count = static_cast<std::size_t>(stop - at);
    if (std::memcmp(data_ + at, other.data_ + at, count) != 0) {
      std::memcpy(data_ + at, other.data_ + at, count);
      touch(stop);
    }
    at = stop;
  }
  zero(std::max(begin, shared), end);
}

// --- FileContent ---

std::int64_t FileContent::size() const {
  MutexLock lock(mu_);
  return size_;
}

std::size_t FileContent::read(std::int64_t position, MutableBytesView into) const {
  MutexLock lock(mu_);
  if (position < 0 || position >= size_) return 0;
  std::size_t count = std::min(into.size(), static_cast<std::size_t>(size_ - position));
  if (count > 0) std::memcpy(into.data(), current_.data() + position, count);
  return count;
}

void FileContent::mark_changed(std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  if (changed_.begin == changed_.end) {
    changed_ = {begin, end};
  } else {
    changed_ = {std::min(changed_.begin, begin), std::max(changed_.end, end)};
  }
}

FileContent::Range FileContent::changed_range() const {
  if (mapped_end_ == 0) return changed_;
  return {0, std::max(changed_.end, mapped_end_)};
}

Result<void> FileContent::write(std::int64_t position, std::span<const BytesView> pieces) {
  MutexLock lock(mu_);
  std::int64_t end = position;
  for (BytesView piece : pieces) end += static_cast<std::int64_t>(piece.size());
  if (end == position) return {};
  if (!current_.make_room(end, mappings_ > 0)) return Error{Errc::invalid, "no room to grow beside a mapping"};
  std::int64_t at = position;
  for (BytesView piece : pieces) {
    current_.write(at, piece);
    at += static_cast<std::int64_t>(piece.size());
  }
  mark_changed(position, end);
  size_ = std::max(size_, end);
  return {};
}

Result<void> FileContent::truncate(std::int64_t size) {
  MutexLock lock(mu_);
  if (!current_.make_room(size, mappings_ > 0)) return Error{Errc::invalid, "no room to grow beside a mapping"};
  if (size < size_) {
    current_.zero(size, size_);
    mark_changed(size, size_);
    lowest_size_ = std::min(lowest_size_, size);
  }
  size_ = size;
  // What a mapping made earlier reaches may be written again at any time.
  current_.touch(std::min(mapped_end_, size_));
  return {};
}

void FileContent::set_all_durable(std::int64_t size) {
  durable_size_ = lowest_size_ = size;
  changed_ = {};
}

void FileContent::sync() {
  MutexLock lock(mu_);
  Range range = changed_range();
  // A range that was written and then cut off again may reach beyond the file.
  std::int64_t end = std::max(range.end, durable_size_);
  if (durable_.make_room(std::max(end, size_), false)) durable_.copy_from(current_, std::min(range.begin, end), end);
  set_all_durable(size_);
}

void FileContent::sync_bytes(std::int64_t end) {
  MutexLock lock(mu_);
  Range range = changed_range();
  end = std::min({end, range.end, size_});
  // Only what the disk's idea of the length reaches can be called durable by it; the rest stays a matter of chance.
  end = std::min(end, std::min(durable_size_, lowest_size_));
  if (range.begin < end && durable_.make_room(end, false)) durable_.copy_from(current_, range.begin, end);
}

Result<MutableBytesView> FileContent::map(std::int64_t size) {
  MutexLock lock(mu_);
  if (size < 0 || size > size_) return Error{Errc::invalid, fmt::format("{} bytes of a file of {}", size, size_)};
  if (!current_.make_room(size, mappings_ > 0)) return Error{Errc::invalid, "no room to grow beside a mapping"};
  current_.touch(size);
  ++mappings_;
  mapped_end_ = std::max(mapped_end_, size);
  return MutableBytesView(current_.data(), static_cast<std::size_t>(size));
}

void FileContent::unmap() {
  MutexLock lock(mu_);
  mark_changed(0, std::min(mapped_end_, size_));
  if (--mappings_ == 0) mapped_end_ = 0;
}

std::shared_ptr<FileContent> FileContent::copy() const {
  auto twin = std::make_shared<FileContent>();
  MutexLock lock(mu_);
  MutexLock twin_lock(twin->mu_);
  auto copy_region = [](Region& to, const Region& from) {
    if (to.make_room(from.capacity(), false)) to.copy_from(from, 0, from.touched_end());
  };
  copy_region(twin->current_, current_);
  copy_region(twin->durable_, durable_);
  twin->size_ = size_;
  twin->durable_size_ = durable_size_;
  twin->lowest_size_ = lowest_size_;
  twin->changed_ = changed_range();
  twin->modified_ = modified_.load();
  return twin;
}

namespace {

// Which of the things that wait to be written have been. Each of the extremes, and order, comes up often: they are what
// disks do most, while pure chance over many sectors would almost never give them.
class Chance {
 public:
  Chance(Random& random, std::int64_t count) : random_(random) {
    switch (random.below(4)) {
      case 0: break;
      case 1: written_in_order_ = count; break;
      case 2: written_in_order_ = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count) + 1)); break;
      default: each_in_100_ = 1 + random.below(99);
    }
  }
  bool is_written(std::int64_t i) { return i < written_in_order_ || random_.below(100) < each_in_100_; }

 private:
  Random& random_;
  std::int64_t written_in_order_ = 0;
  std::uint64_t each_in_100_ = 0;
};

}  // namespace

std::shared_ptr<FileContent> FileContent::after_power_cut(Random& random) const {
  auto after = std::make_shared<FileContent>();
  MutexLock lock(mu_);
  MutexLock after_lock(after->mu_);
  after->modified_ = modified_.load();

  // The length first. A cut that was made since the last sync has happened or not; after it the file has grown or not,
  // or part of the way.
  bool cut_is_lost = lowest_size_ < durable_size_ && random.below(2) == 0;
  std::int64_t base_size = cut_is_lost ? durable_size_ : lowest_size_;
  std::int64_t new_size = base_size;
  if (!cut_is_lost && size_ > base_size) {
    switch (random.below(3)) {
      case 0: break;
      case 1: new_size = size_; break;
      default: new_size += static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(size_ - base_size) + 1));
    }
  }
  Region& result = after->current_;
  if (new_size == 0 || !result.make_room(new_size, false)) return after;
  if (durable_.capacity() > 0) result.copy_from(durable_, 0, std::min(base_size, durable_.touched_end()));

  // Then the sectors that differ. Where the cut is lost, what was written behind it is lost as well.
  Range range = changed_range();
  std::int64_t end = std::min({range.end, new_size, cut_is_lost ? round_down(lowest_size_, kSectorSize) : new_size,
                               current_.touched_end()});
  std::vector<std::int64_t> differing;
  for (std::int64_t at = round_down(range.begin, kSectorSize); at < end; at += kSectorSize) {
    auto count = static_cast<std::size_t>(std::min(kSectorSize, end - at));
    if (std::memcmp(result.data() + at, current_.data() + at, count) != 0) differing.push_back(at);
  }
  Chance chance(random, static_cast<std::int64_t>(differing.size()));
  for (std::size_t i = 0; i < differing.size(); ++i) {
    if (!chance.is_written(static_cast<std::int64_t>(i))) continue;
    auto count = static_cast<std::size_t>(std::min(kSectorSize, end - differing[i]));
    result.write(differing[i], BytesView(current_.data() + differing[i], count));
  }
  after->size_ = new_size;
  if (after->durable_.make_room(new_size, false)) after->durable_.copy_from(result, 0, result.touched_end());
  after->set_all_durable(new_size);
  return after;
}

}  // namespace cordwood::io::memory
