// storage/forward_reader.h — a file read from front to back through a small window; what is asked for lies side by side.
//
// For whatever checks, filters or surveys a whole .log. A window stays in the processor's cache between the kernel's copy and
// its reader, and pages of the file land on pages of memory: AMD's Zen 3 copies at a quarter of its speed when the target lies 1
// to 31 bytes further into its page than the source, and a large buffer of malloc's begins at 16. Why nothing is mapped:
// docs/decisions/0012-small-windows.md. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/file_range.h"
#include "base/result.h"
#include "base/types.h"

namespace cordwood::storage {

class ForwardReader {
 public:
  static constexpr ByteCount kWindow{128 * KiB};

  // `file` must outlive the reader. What lies at or behind `end` is not read.
  ForwardReader(const ByteSource& file, FilePosition end, ByteCount window = kWindow)
      : file_(file), end_(end), window_(static_cast<std::size_t>(window.value)) {}

  // `size` bytes at `position`, valid until the next call. Nothing when fewer lie before the end, or before that of the file.
  // Going on where the last call ended costs no byte a second read; any other position may be asked for as well.
  // Errors: io.
  Result<std::optional<BytesView>> bytes_at(FilePosition position, std::size_t size);
  // The same with all bytes behind them that need no reading.
  Result<std::optional<BytesView>> at_hand(FilePosition position, std::size_t at_least);

 private:
  std::size_t filled_from(FilePosition position) const;
  Result<void> fill(FilePosition position, std::size_t size);
  std::unique_ptr<std::byte[]> make_room(std::size_t before, std::size_t behind);

  const ByteSource& file_;
  const FilePosition end_;
  const std::size_t window_;
  // Each read goes to `page_`, the start of a page. What is still wanted of the one before is put in front of it.
  std::unique_ptr<std::byte[]> memory_;
  std::size_t room_before_ = 0;
  std::size_t room_behind_ = 0;
  std::byte* page_ = nullptr;
  // [start_, start_ + filled_) are the bytes of the file from start_position_ on.
  std::byte* start_ = nullptr;
  std::size_t filled_ = 0;
  FilePosition start_position_{0};
};

}  // namespace cordwood::storage
