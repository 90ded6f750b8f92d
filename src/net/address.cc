#include "net/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <unistd.h>

#include <cstring>

namespace cordwood::net {

std::string SocketAddress::host() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof v4);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
  } else if (family() == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &storage, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      ::inet_ntop(AF_INET, v6.sin6_addr.s6_addr + 12, text, sizeof text);
    } else {
      ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    }
  }
  return text;
}

std::uint16_t SocketAddress::port() const {
  // The port lies at the same place in both families.
  sockaddr_in v4{};
  std::memcpy(&v4, &storage, sizeof v4);
  return family() == AF_INET || family() == AF_INET6 ? ntohs(v4.sin_port) : 0;
}

namespace {
Result<SocketAddress> look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) return Error{Errc::not_found, fmt::format("host '{}': {}", host, ::gai_strerror(code))};
  const addrinfo* chosen = found;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_family == AF_INET) {
      chosen = each;
      break;
    }
  }
  SocketAddress address;
  std::memcpy(&address.storage, chosen->ai_addr, chosen->ai_addrlen);
  address.length = chosen->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

bool machine_has_ipv6() {
  int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  bool works = ::bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
  ::close(fd);
  return works;
}
}  // namespace

Result<SocketAddress> resolve(const std::string& host, std::uint16_t port) {
  if (host.empty()) return look_up(machine_has_ipv6() ? "::" : "0.0.0.0", port, AI_NUMERICHOST);
  if (auto literal = look_up(host, port, AI_NUMERICHOST)) return literal;
  Result<SocketAddress> found = look_up(host, port, 0);
  // A machine without /etc/hosts; the name means this machine whatever a resolver says (RFC 6761).
  if (!found && host == "localhost") return look_up("127.0.0.1", port, AI_NUMERICHOST);
  return found;
}

SocketAddress local_address(int fd) {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (::getsockname(fd, address.raw(), &address.length) != 0) return {};
  return address;
}

std::string to_text(const std::string& host, std::uint16_t port) {
  if (host.find(':') != std::string::npos) return fmt::format("[{}]:{}", host, port);
  return fmt::format("{}:{}", host, port);
}

}  // namespace cordwood::net
