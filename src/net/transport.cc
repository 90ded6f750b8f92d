#include "net/transport.h"

#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"

namespace cordwood::net {
namespace {

Moved moved(ssize_t result) {
  if (result > 0) return {Moved::Status::some, static_cast<std::size_t>(result), 0};
  if (result == 0) return {Moved::Status::end, 0, 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {Moved::Status::would_block, 0, 0};
  return {Moved::Status::failed, 0, errno};
}

template <class Call>
Moved unless_interrupted(Call&& call) {
  for (;;) {
    ssize_t result = call();
    if (result >= 0 || errno != EINTR) return moved(result);
  }
}

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const override { return socket_.get(); }

  Moved read(MutableBytesView into) override {
    return unless_interrupted([&] { return ::recv(socket_.get(), into.data(), into.size(), 0); });
  }

  Moved write(std::span<const BytesView> pieces, More more) override {
    CHECK(pieces.size() <= kMostPieces, "{} pieces", pieces.size());
    iovec vectors[kMostPieces];
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      vectors[i] = {const_cast<std::byte*>(pieces[i].data()), pieces[i].size()};
    }
    msghdr message{};
    message.msg_iov = vectors;
    message.msg_iovlen = pieces.size();
    int flags = MSG_NOSIGNAL | (more == More::yes ? MSG_MORE : 0);
    return unless_interrupted([&] { return ::sendmsg(socket_.get(), &message, flags); });
  }

  bool can_send_file() const override { return true; }

  Moved send_file(int file_fd, FilePosition position, ByteCount size) override {
    return unless_interrupted([&] {
      off_t from = position.value;
      return ::sendfile(socket_.get(), file_fd, &from, static_cast<std::size_t>(size.value));
    });
  }

 private:
  UniqueFd socket_;
};

}  // namespace

std::unique_ptr<Transport> make_plain_transport(UniqueFd socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

}  // namespace cordwood::net
