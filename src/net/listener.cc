#include "net/listener.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace cordwood::net {
namespace {

constexpr int kBacklog = 1024;
constexpr int kAcceptsPerTurn = 64;
constexpr DurationMs kPauseForLack{100};

void set_option(int fd, int level, int option, int value) {
  // Each of them only makes a connection better; one that the kernel refuses is no reason to be without the connection.
  (void)::setsockopt(fd, level, option, &value, sizeof value);
}

Error cannot_listen(const ListenerOptions& options, int reason) {
  return system_error(fmt::format("cannot listen on {}", to_text(options.host, options.port)), reason);
}

}  // namespace

// Lives on the loop; `listener` becomes null when the listener stops.
struct Listener::Running {
  Listener* listener;
  EventLoop& loop;
  ConnectionLimits& limits;
  const Clock& clock;
  LogThrottle warnings;
  LogThrottle refusals;
  Accepted accepted;
  EventLoop::WatchId watch = 0;
  TimerId timer = 0;
  bool paused = false;
};

Result<std::unique_ptr<Listener>> Listener::bind(const ListenerOptions& options) {
  SocketAddress address = TRY(resolve(options.host, options.port));
  UniqueFd socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return cannot_listen(options, errno);
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.family() == AF_INET6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, options.host.empty() ? 0 : 1);
  if (::bind(socket.get(), address.raw(), address.length) != 0) return cannot_listen(options, errno);
  std::uint16_t port = local_address(socket.get()).port();
  return std::unique_ptr<Listener>(new Listener(options, std::move(socket), port));
}

Listener::Listener(ListenerOptions options, UniqueFd socket, std::uint16_t port)
    : options_(std::move(options)), socket_(std::move(socket)), port_(port) {}

Result<void> Listener::start(EventLoop& loop, ConnectionLimits& limits, const Clock& clock, Logger& logger,
                             Accepted accepted) {
  CHECK(running_ == nullptr, "started twice");
  if (::listen(socket_.get(), kBacklog) != 0) return cannot_listen(options_, errno);
  running_ = std::make_shared<Running>(Running{this, loop, limits, clock, LogThrottle(clock, logger),
                                               LogThrottle(clock, logger), std::move(accepted), 0, 0, false});
  auto watch = loop.watch(socket_.get(), EPOLLIN, *this);
  if (!watch) {
    running_ = nullptr;
    return watch.error();
  }
  running_->watch = *watch;
  return {};
}

void Listener::stop() {
  if (running_ != nullptr) {
    running_->loop.unwatch(running_->watch);
    running_->loop.cancel(running_->timer);
    running_->listener = nullptr;
    running_ = nullptr;
  }
  socket_.reset();
}

void Listener::on_events(std::uint32_t) {
  for (int i = 0; i < kAcceptsPerTurn && running_ != nullptr; ++i) {
    if (running_->limits.full()) {
      running_->refusals.write(Severity::info, "listener {} stops accepting: max.connections is reached", name());
      pause_until_one_leaves();
      return;
    }
    SocketAddress from;
    from.length = sizeof from.storage;
    UniqueFd socket(::accept4(socket_.get(), from.raw(), &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      int reason = errno;
      if (reason == EAGAIN || reason == EWOULDBLOCK) return;
      // The connection died in the backlog, or its network did (accept(2) hands on such errors): the next one may live.
      if (reason == EINTR || reason == ECONNABORTED || reason == EPROTO || reason == ENETDOWN ||
          reason == ENETUNREACH || reason == EHOSTDOWN || reason == EHOSTUNREACH || reason == ENOPROTOOPT ||
          reason == EOPNOTSUPP || reason == ENONET || reason == EPERM) {
        continue;
      }
      pause_for_lack_of(reason);
      return;
    }
    if (!running_->limits.admit(from.host())) {
      running_->refusals.write(Severity::info, "closing a connection from {}: max.connections.per.ip is reached",
                               from.host());
      continue;
    }
    set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(socket.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
    running_->accepted(*this, std::move(socket), from);
  }
}

void Listener::pause() {
  if (std::exchange(running_->paused, true)) return;
  if (auto changed = running_->loop.change(running_->watch, 0); !changed) {
    running_->warnings.write(Severity::warn, "listener {}: {}", name(), changed.error().message());
  }
}

void Listener::resume() {
  running_->paused = false;
  if (auto changed = running_->loop.change(running_->watch, EPOLLIN); !changed) {
    running_->warnings.write(Severity::warn, "listener {}: {}", name(), changed.error().message());
  }
}

void Listener::pause_until_one_leaves() {
  pause();
  running_->limits.when_one_leaves([running = running_] {
    running->loop.post([running] {
      if (running->listener != nullptr) running->listener->resume();
    });
  });
  // One may have left just before.
  if (!running_->limits.full()) resume();
}

// Out of descriptors or memory: the connection stays in the backlog, so that trying again at once would only spin.
void Listener::pause_for_lack_of(int reason) {
  running_->warnings.write(Severity::warn, "listener {} cannot accept: {} ({})", name(), std::strerror(reason), reason);
  pause();
  running_->timer = running_->loop.schedule(running_->clock.monotonic() + to_ns(kPauseForLack), [running = running_] {
    if (running->listener != nullptr) running->listener->resume();
  });
}

}  // namespace cordwood::net
