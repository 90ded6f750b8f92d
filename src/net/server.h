// net/server.h — listeners, loops and the connections between them and a RequestSink.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "net/connection_set.h"
#include "net/event_loop.h"
#include "net/listener.h"
#include "net/request_sink.h"

namespace cordwood::net {

struct ServerOptions {
  std::vector<ListenerOptions> listeners;
  std::int32_t loops = 0;  // threads; 0 for one per core
  ConnectionSettings connections;
  std::int32_t max_connections = INT32_MAX;
  std::int32_t max_connections_per_ip = INT32_MAX;
  ByteCount request_memory{512 * MiB};  // for the bytes of all requests that are being received or answered
};

// One thread makes, starts and stops it. Must outlive every request that it handed to the sink: their answers and the
// executor of their peer lead back into it.
class Server {
 public:
  struct Bound {
    std::string name;
    std::string host;  // as configured
    std::uint16_t port = 0;
  };

  // `sink`, `clock` and `logger` must outlive the server.
  Server(ServerOptions options, RequestSink& sink, const Clock& clock, Logger& logger);
  ~Server();

  // Binds every listener; the ports are known then. Clients are refused until start().
  // Errors: "cannot listen on host:port" with the system's reason.
  Result<void> bind();
  const std::vector<Bound>& bound() const { return bound_; }

  // Starts the loops and listens. On an error everything is stopped again.
  Result<void> start();

  // Stops accepting and hands no more requests to the sink; when it returns, none is being handed over. Answers to those
  // that wait still go out, until stop(). After start() only.
  void quiesce();

  // Stops accepting, closes every connection, ends the loops. Answers that come later are dropped. Idempotent.
  void stop();

  std::size_t connections() const { return static_cast<std::size_t>(limits_.count()); }

 private:
  struct Loop {
    std::unique_ptr<EventLoop> events;
    std::unique_ptr<ConnectionSet> connections;
    std::thread thread;
  };

  Result<void> start_loops_and_listeners();
  void accepted(const Listener& listener, UniqueFd socket, const SocketAddress& from);

  ServerOptions options_;
  RequestSink& sink_;
  const Clock& clock_;
  Logger& logger_;
  std::shared_ptr<ByteBudget> budget_;
  ConnectionLimits limits_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<Bound> bound_;
  std::vector<std::unique_ptr<Loop>> loops_;
  // The first loop's thread alone: all listeners live there.
  std::uint64_t last_connection_id_ = 0;
};

}  // namespace cordwood::net
