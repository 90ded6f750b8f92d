// net/listener.h — a bound port that, from start() on, accepts connections.
//
// Bound early and listening late: a port that is taken is found before anything else is touched, and no client gets in
// before its requests can succeed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "net/address.h"
#include "net/connection_limits.h"
#include "net/event_loop.h"
#include "net/log_throttle.h"
#include "net/unique_fd.h"

namespace cordwood::net {

struct ListenerOptions {
  std::string name;         // "PLAINTEXT"
  std::string host;         // "" for every address
  std::uint16_t port = 0;   // 0 lets the kernel choose
};

// After bind() one thread: the loop given to start().
class Listener final : public EventLoop::Handler {
 public:
  // A connected, non-blocking socket and who is on the other end.
  using Accepted = std::function<void(const Listener&, UniqueFd, const SocketAddress&)>;

  // Errors: io with the system's reason, not_found when the host has no address; `what` names host and port.
  static Result<std::unique_ptr<Listener>> bind(const ListenerOptions& options);
  ~Listener() override { stop(); }

  const std::string& name() const { return options_.name; }
  const std::string& host() const { return options_.host; }  // as configured
  std::uint16_t port() const { return port_; }               // the one that was bound

  // Listens, and calls `accepted` on `loop` for each connection that the limits admit. All arguments must outlive
  // stop(). Errors as bind(): another process may have been faster.
  Result<void> start(EventLoop& loop, ConnectionLimits& limits, const Clock& clock, Logger& logger, Accepted accepted);
  void stop();

 private:
  struct Running;

  Listener(ListenerOptions options, UniqueFd socket, std::uint16_t port);
  void on_events(std::uint32_t epoll_events) override;
  void pause();
  void resume();
  void pause_until_one_leaves();
  void pause_for_lack_of(int reason);

  ListenerOptions options_;
  UniqueFd socket_;
  std::uint16_t port_;
  std::shared_ptr<Running> running_;  // shared with whoever may wake a paused listener
};

}  // namespace cordwood::net
