// net/address.h — socket addresses as text and back.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace cordwood::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  int family() const { return storage.ss_family; }
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }

  // "127.0.0.1", "::1"; an IPv4 address that came in through an IPv6 socket is written as IPv4.
  std::string host() const;
  std::uint16_t port() const;
};

// The address to bind or to connect to. A literal is never looked up; of a name's addresses the first IPv4 one is
// taken, which is what a JVM does. "" is every address, IPv6 and IPv4 alike where the machine has both.
// Errors: not_found naming the host.
Result<SocketAddress> resolve(const std::string& host, std::uint16_t port);

// The two ends of a connected socket, or the bound one's own. Zero when the kernel does not tell.
SocketAddress local_address(int fd);

// "host:port", with brackets around an IPv6 host.
std::string to_text(const std::string& host, std::uint16_t port);

}  // namespace cordwood::net
