// io/posix_file.h — an open file, a mapping and a lock of the real file system. Private to io/.
#pragma once

#include <string_view>
#include <utility>

#include "io/file_system.h"

namespace cordwood::io {

// Owns a descriptor. The destructor closes and says nothing; close() answers.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd();
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  // Errors: io, with the errno of close(2). The number is gone in any case.
  Result<void> close(const Path& path);

 private:
  int fd_ = -1;
};

// An Error naming the system call and the path, with the current errno.
Error call_failed(std::string_view call, const Path& path);

// open(2) with O_CLOEXEC, again on EINTR. Errors: io, not_found, exists, no_space.
Result<UniqueFd> open_fd(const Path& path, int flags);

class PosixFile final : public File {
 public:
  PosixFile(UniqueFd fd, Path path) : fd_(std::move(fd)), path_(std::move(path)) {}

  int native_fd() const override { return fd_.get(); }
  Result<std::size_t> read_at(FilePosition position, MutableBytesView into) const override;
  Result<void> write_at(FilePosition position, BytesView bytes) override;
  Result<void> write_at(FilePosition position, std::span<const BytesView> pieces) override;
  Result<ByteCount> size() const override;
  Result<void> truncate(ByteCount size) override;
  Result<void> reserve(ByteCount size) override;
  Result<void> sync_data() override;
  Result<void> sync() override;
  Result<std::unique_ptr<MappedFile>> map(ByteCount size) override;
  Result<void> close() override { return fd_.close(path_); }
  const Path& path() const override { return path_; }

 private:
  UniqueFd fd_;
  Path path_;
};

}  // namespace cordwood::io
