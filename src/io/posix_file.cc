#include "io/posix_file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cordwood::io {

namespace {

// Calls again while a signal interrupts.
template <class Call>
auto retried(Call call) {
  for (;;) {
    auto answer = call();
    if (answer != -1 || errno != EINTR) return answer;
  }
}

class PosixMapping final : public MappedFile {
 public:
  PosixMapping(void* start, std::size_t size, Path path) : start_(start), size_(size), path_(std::move(path)) {}
  ~PosixMapping() override {
    if (size_ > 0) ::munmap(start_, size_);
  }
  PosixMapping(const PosixMapping&) = delete;
  PosixMapping& operator=(const PosixMapping&) = delete;

  MutableBytesView bytes() override { return {static_cast<std::byte*>(start_), size_}; }
  Result<void> sync() override {
    if (size_ > 0 && ::msync(start_, size_, MS_SYNC) != 0) return call_failed("msync", path_);
    return {};
  }

 private:
  void* start_;
  std::size_t size_;
  Path path_;
};

}  // namespace

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> UniqueFd::close(const Path& path) {
  int fd = std::exchange(fd_, -1);
  // On Linux the descriptor is released whatever close(2) answers, EINTR included: a second call could hit a file that
  // another thread has opened meanwhile.
  if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) return call_failed("close", path);
  return {};
}

Error call_failed(std::string_view call, const Path& path) {
  int failure = errno;
  return system_error(fmt::format("{} {}", call, path), failure);
}

Result<UniqueFd> open_fd(const Path& path, int flags) {
  int fd = retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
  if (fd < 0) return call_failed("open", path);
  return UniqueFd(fd);
}

Result<std::size_t> PosixFile::read_at(FilePosition position, MutableBytesView into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    ssize_t got = retried([&] {
      return ::pread(fd_.get(), into.data() + done, into.size() - done, position.value + static_cast<off_t>(done));
    });
    if (got < 0) return call_failed("pread", path_);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Result<void> PosixFile::write_at(FilePosition position, BytesView bytes) {
  return write_at(position, std::span<const BytesView>(&bytes, 1));
}

Result<void> PosixFile::write_at(FilePosition position, std::span<const BytesView> pieces) {
  iovec vectors[64];
  static_assert(std::size(vectors) <= IOV_MAX);
  off_t at = position.value;
  std::size_t piece = 0;
  std::size_t skip = 0;  // bytes of pieces[piece] that are written already
  while (piece < pieces.size()) {
    if (skip == pieces[piece].size()) {
      ++piece;
      skip = 0;
      continue;
    }
    std::size_t count = 0;
    for (std::size_t i = piece; i < pieces.size() && count < std::size(vectors); ++i) {
      std::size_t from = i == piece ? skip : 0;
      if (from == pieces[i].size()) continue;
      vectors[count++] = {const_cast<std::byte*>(pieces[i].data()) + from, pieces[i].size() - from};
    }
    ssize_t written = retried([&] { return ::pwritev(fd_.get(), vectors, static_cast<int>(count), at); });
    if (written < 0) return call_failed("pwritev", path_);
    // A regular file takes at least a byte or gives an error; anything else would be an endless loop.
    if (written == 0) return system_error(fmt::format("pwritev {}: nothing written", path_), EIO);
    at += written;
    auto left = static_cast<std::size_t>(written);
    while (left > 0) {
      std::size_t taken = std::min(left, pieces[piece].size() - skip);
      left -= taken;
      skip += taken;
      if (skip == pieces[piece].size()) {
        ++piece;
        skip = 0;
      }
    }
  }
  return {};
}

Result<ByteCount> PosixFile::size() const {
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) return call_failed("fstat", path_);
  return ByteCount{status.st_size};
}

Result<void> PosixFile::truncate(ByteCount size) {
  if (retried([&] { return ::ftruncate(fd_.get(), size.value); }) != 0) return call_failed("ftruncate", path_);
  return {};
}

Result<void> PosixFile::reserve(ByteCount size) {
  if (size.value <= 0) return {};
  if (retried([&] { return ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, size.value); }) == 0) return {};
  if (errno == EOPNOTSUPP || errno == ENOSYS) return {};
  return call_failed("fallocate", path_);
}

Result<void> PosixFile::sync_data() {
  if (retried([&] { return ::fdatasync(fd_.get()); }) != 0) return call_failed("fdatasync", path_);
  return {};
}

Result<void> PosixFile::sync() {
  if (retried([&] { return ::fsync(fd_.get()); }) != 0) return call_failed("fsync", path_);
  return {};
}

Result<std::unique_ptr<MappedFile>> PosixFile::map(ByteCount size) {
  // Touching a page behind the end of the file is SIGBUS, so a short file is refused here.
  ByteCount length = TRY(this->size());
  if (size.value < 0 || size > length) {
    return Error{Errc::invalid, fmt::format("map {}: {} bytes of a file of {}", path_, size, length)};
  }
  auto bytes = static_cast<std::size_t>(size.value);
  void* start = nullptr;
  if (bytes > 0) {
    start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (start == MAP_FAILED) return call_failed("mmap", path_);
    // Index files are searched, not scanned: read-ahead would fill the page cache with what nobody asked for. Advice
    // that is not taken costs speed only.
    ::madvise(start, bytes, MADV_RANDOM);
  }
  return std::unique_ptr<MappedFile>(std::make_unique<PosixMapping>(start, bytes, path_));
}

}  // namespace cordwood::io
