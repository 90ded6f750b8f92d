#include "client/connection.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>

#include "net/address.h"

namespace cordwood::client {
namespace {
constexpr std::int32_t kLargestAnswer = 512 * MiB;

Result<void> limit_waits(int socket, DurationMs timeout) {
  timeval limit{timeout.value / 1000, (timeout.value % 1000) * 1000};
  for (int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    if (::setsockopt(socket, SOL_SOCKET, option, &limit, sizeof limit) != 0) return system_error("setsockopt", errno);
  }
  return {};
}
}  // namespace

Result<Connection> Connection::open(const std::string& host, std::uint16_t port, DurationMs timeout,
                                    std::string client_id) {
  net::SocketAddress address = TRY(net::resolve(host, port));
  std::string text = net::to_text(host, port);
  net::UniqueFd socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return system_error("socket", errno);
  TRY(limit_waits(socket.get(), timeout));
  int yes = 1;
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (::connect(socket.get(), address.raw(), address.length) != 0) {
    int reason = errno == EINPROGRESS ? ETIMEDOUT : errno;
    return system_error("cannot connect to " + text, reason);
  }
  return Connection(std::move(socket), std::move(text), std::move(client_id));
}

Result<void> Connection::send_frame(BytesView body) {
  ByteWriter writer;
  writer.i32(static_cast<std::int32_t>(body.size()));
  writer.bytes(body);
  return send_raw(writer.view());
}

Result<void> Connection::send_raw(BytesView bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("sending to " + address_, errno == EAGAIN ? ETIMEDOUT : errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<std::size_t> Connection::receive_some(MutableBytesView into) {
  while (true) {
    ssize_t count = ::recv(socket_.get(), into.data(), into.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == ECONNRESET) return std::size_t{0};
    if (count < 0) return system_error("waiting for " + address_, errno == EAGAIN ? ETIMEDOUT : errno);
    return static_cast<std::size_t>(count);
  }
}

Result<void> Connection::receive_exactly(MutableBytesView into) {
  while (!into.empty()) {
    const std::size_t count = TRY(receive_some(into));
    if (count == 0) return Error{Errc::closed, address_ + " has closed the connection"};
    into = into.subspan(count);
  }
  return {};
}

Result<ByteVector> Connection::receive_frame() {
  std::byte size_field[4];
  TRY(receive_exactly(size_field));
  std::int32_t size = load_be<std::int32_t>(size_field, 0);
  if (size < 0 || size > kLargestAnswer) {
    return Error{Errc::corrupt, fmt::format("{} announced an answer of {} bytes", address_, size)};
  }
  ByteVector frame(static_cast<std::size_t>(size));
  TRY(receive_exactly(frame));
  return frame;
}

Result<bool> Connection::wait_readable(DurationMs patience) {
  pollfd wanted{socket_.get(), POLLIN, 0};
  int ready = ::poll(&wanted, 1, static_cast<int>(std::min<std::int64_t>(patience.value, INT32_MAX)));
  if (ready < 0 && errno != EINTR) return system_error("poll " + address_, errno);
  return ready > 0;
}

Result<void> Connection::set_timeout(DurationMs timeout) { return limit_waits(socket_.get(), timeout); }

void Connection::shut_down_sending() { ::shutdown(socket_.get(), SHUT_WR); }

Result<std::size_t> Connection::check_response_header(BytesView frame, std::int16_t api_key, std::int16_t version) {
  protocol::Decoder decoder(frame, protocol::response_header_form(api_key, version));
  std::int32_t correlation_id = decoder.i32();
  if (decoder.form() == protocol::Form::flexible) decoder.skip_tagged_fields();
  if (!decoder.ok()) return malformed("response header");
  if (correlation_id != ++last_received_) {
    return Error{Errc::corrupt, fmt::format("{} answered request {} where {} was next", address_, correlation_id,
                                            last_received_)};
  }
  return decoder.position();
}

Error Connection::no_such_version(const char* message, std::int16_t version) {
  return Error{Errc::unsupported, fmt::format("{} has no version {}", message, version)};
}

Error Connection::malformed(const char* message) const {
  return Error{Errc::corrupt, fmt::format("malformed {} from {}", message, address_)};
}

}  // namespace cordwood::client
