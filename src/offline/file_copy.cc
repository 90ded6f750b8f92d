#include "offline/file_copy.h"

#include <algorithm>

#include "base/crc32c.h"

namespace cordwood::offline {
namespace {

constexpr ByteCount kCopyWindow{1 * MiB};

}  // namespace

Result<CopiedFile> copy_file(io::FileSystem& fs, const io::Path& from, const io::Path& to, ByteCount size) {
  const auto source = TRY(fs.open(from, io::OpenMode::read));
  std::shared_ptr<io::File> target;
  if (!to.empty()) target = TRY(fs.open(to, io::OpenMode::create_new));
  CopiedFile copied;
  ByteVector window(static_cast<std::size_t>(std::min(size, kCopyWindow).value));
  while (copied.size < size) {
    const auto wanted = static_cast<std::size_t>(std::min(size - copied.size, kCopyWindow).value);
    const FilePosition at{copied.size.value};
    const std::size_t count = TRY(source->read_at(at, MutableBytesView(window).first(wanted)));
    if (count == 0) break;
    const BytesView bytes = BytesView(window).first(count);
    if (target != nullptr) TRY(target->write_at(at, bytes));
    copied.crc = crc32c(bytes, copied.crc);
    copied.size += ByteCount{static_cast<std::int64_t>(count)};
  }
  if (target != nullptr) {
    TRY(target->sync());
    TRY(target->close());
  }
  return copied;
}

}  // namespace cordwood::offline
