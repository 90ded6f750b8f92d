#include "storage/forward_reader.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace cordwood::storage {
namespace {

constexpr std::size_t kPage = 4 * KiB;

constexpr std::size_t round_up(std::size_t size) { return (size + kPage - 1) / kPage * kPage; }

// So that the next read begins with a page of the file, too. A window of less than a page is taken at its word.
constexpr std::size_t whole_pages(std::size_t size) { return size < kPage ? size : round_up(size); }

}  // namespace

Result<std::optional<BytesView>> ForwardReader::bytes_at(FilePosition position, std::size_t size) {
  const std::optional<BytesView> bytes = TRY(at_hand(position, size));
  return bytes ? std::optional(bytes->first(size)) : bytes;
}

Result<std::optional<BytesView>> ForwardReader::at_hand(FilePosition position, std::size_t at_least) {
  if (position > end_ || at_least > static_cast<std::size_t>((end_ - position).value)) return std::optional<BytesView>();
  if (filled_from(position) < at_least) TRY(fill(position, at_least));
  const std::size_t filled = filled_from(position);
  if (filled < at_least) return std::optional<BytesView>();
  return std::optional(BytesView(start_ + (filled_ - filled), filled));
}

// How many bytes are there from `position` on.
std::size_t ForwardReader::filled_from(FilePosition position) const {
  const std::int64_t skip = (position - start_position_).value;
  if (skip < 0 || skip > static_cast<std::int64_t>(filled_)) return 0;
  return filled_ - static_cast<std::size_t>(skip);
}

Result<void> ForwardReader::fill(FilePosition position, std::size_t size) {
  const std::size_t kept = filled_from(position);
  const auto in_page = static_cast<std::size_t>(position.value) % kPage;
  const FilePosition from = position + ByteCount{kept > 0 ? static_cast<std::int64_t>(kept) : -static_cast<std::int64_t>(in_page)};
  const std::size_t missing = kept > 0 ? size - kept : size + in_page;
  const std::size_t wanted =
      std::min(whole_pages(std::max(missing, window_)), static_cast<std::size_t>((end_ - from).value));
  const std::byte* const tail = start_ + (filled_ - kept);
  const std::unique_ptr<std::byte[]> old = make_room(kept, wanted);
  if (kept > 0) std::memmove(page_ - kept, tail, kept);
  start_ = page_ - kept;
  start_position_ = from - ByteCount{static_cast<std::int64_t>(kept)};
  filled_ = kept;
  filled_ += TRY(file_.read_at(from, MutableBytesView(page_, wanted)));
  return {};
}

// The memory that was used so far, when there is another one now.
std::unique_ptr<std::byte[]> ForwardReader::make_room(std::size_t before, std::size_t behind) {
  if (before <= room_before_ && behind <= room_behind_) return nullptr;
  if (before > room_before_) room_before_ = round_up(std::max(before, 2 * room_before_));
  if (behind > room_behind_) room_behind_ = round_up(behind);
  auto old = std::exchange(memory_, std::make_unique_for_overwrite<std::byte[]>(room_before_ + room_behind_ + kPage));
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
  page_ = memory_.get() + (round_up(address) - address) + room_before_;
  return old;
}

}  // namespace cordwood::storage
