#include "io/stream_file.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cordwood::io {
namespace {

constexpr std::size_t kPiece = 64 * KiB;

class StreamFile final : public File {
 public:
  StreamFile(ByteVector content, Path path) : content_(std::move(content)), path_(std::move(path)) {}

  int native_fd() const override { return -1; }
  Result<std::size_t> read_at(FilePosition position, MutableBytesView into) const override {
    if (position.value < 0 || position.value >= static_cast<std::int64_t>(content_.size())) return std::size_t{0};
    const BytesView rest = BytesView(content_).subspan(static_cast<std::size_t>(position.value));
    const std::size_t count = std::min(rest.size(), into.size());
    std::copy_n(rest.begin(), count, into.begin());
    return count;
  }
  Result<ByteCount> size() const override { return ByteCount{static_cast<std::int64_t>(content_.size())}; }
  Result<void> write_at(FilePosition, BytesView) override { return read_only(); }
  Result<void> write_at(FilePosition, std::span<const BytesView>) override { return read_only(); }
  Result<void> truncate(ByteCount) override { return read_only(); }
  Result<void> reserve(ByteCount) override { return read_only(); }
  Result<void> sync_data() override { return read_only(); }
  Result<void> sync() override { return read_only(); }
  Result<std::unique_ptr<MappedFile>> map(ByteCount) override { return read_only(); }
  Result<void> close() override { return {}; }
  const Path& path() const override { return path_; }

 private:
  Error read_only() const { return Error{Errc::io, fmt::format("{} is a pipe or a device, and was read", path_)}; }

  const ByteVector content_;
  const Path path_;
};

}  // namespace

Result<std::shared_ptr<File>> read_stream(UniqueFd fd, const Path& path, ByteCount at_most) {
  ByteVector content;
  while (true) {
    const std::size_t had = content.size();
    content.resize(had + kPiece);
    const ssize_t got = ::read(fd.get(), content.data() + had, kPiece);
    const int failure = errno;
    content.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return std::shared_ptr<File>(std::make_shared<StreamFile>(std::move(content), path));
    if (static_cast<std::int64_t>(content.size()) > at_most.value) {
      return Error{Errc::limit, fmt::format("{} is no regular file and gives more than {} bytes", path, at_most)};
    }
    if (got > 0) continue;
    if (failure != EAGAIN) {
      errno = failure;
      return call_failed("read", path);
    }
    pollfd wait{fd.get(), POLLIN, 0};
    if (::poll(&wait, 1, -1) < 0) return call_failed("poll", path);
  }
}

}  // namespace cordwood::io
