#include "net/server.h"

#include <pthread.h>

#include <algorithm>
#include <latch>
#include <string>
#include <utility>

#include "base/check.h"
#include "net/address.h"

namespace cordwood::net {

Server::Server(ServerOptions options, RequestSink& sink, const Clock& clock, Logger& logger)
    : options_(std::move(options)),
      sink_(sink),
      clock_(clock),
      logger_(logger),
      budget_(std::make_shared<ByteBudget>(options_.request_memory)),
      limits_(options_.max_connections, options_.max_connections_per_ip) {}

Server::~Server() { stop(); }

Result<void> Server::bind() {
  CHECK(listeners_.empty(), "bound twice");
  for (const auto& options : options_.listeners) {
    auto listener = TRY(Listener::bind(options));
    bound_.push_back({options.name, options.host, listener->port()});
    listeners_.push_back(std::move(listener));
  }
  return {};
}

Result<void> Server::start() {
  CHECK(loops_.empty(), "started twice");
  auto started = start_loops_and_listeners();
  if (!started) stop();
  return started;
}

Result<void> Server::start_loops_and_listeners() {
  std::int32_t count = options_.loops;
  if (count <= 0) count = std::max<std::int32_t>(1, static_cast<std::int32_t>(std::thread::hardware_concurrency()));
  for (std::int32_t i = 0; i < count; ++i) {
    auto loop = std::make_unique<Loop>();
    loop->events = TRY(EventLoop::open(clock_));
    loop->connections = std::make_unique<ConnectionSet>(*loop->events, sink_, clock_, logger_, options_.connections,
                                                        budget_, limits_);
    loops_.push_back(std::move(loop));
  }
  for (auto& listener : listeners_) {
    TRY(listener->start(*loops_.front()->events, limits_, clock_, logger_,
                        [this](const Listener& from, UniqueFd socket, const SocketAddress& peer) {
                          accepted(from, std::move(socket), peer);
                        }));
  }
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    Loop& loop = *loops_[i];
    loop.thread = std::thread([&loop] { loop.events->run(); });
    ::pthread_setname_np(loop.thread.native_handle(), ("net-" + std::to_string(i)).c_str());
  }
  return {};
}

void Server::quiesce() {
  std::latch quiet(static_cast<std::ptrdiff_t>(loops_.size()));
  loops_.front()->events->post([this] {
    for (auto& listener : listeners_) listener->stop();
  });
  for (auto& loop : loops_) {
    loop->events->post([&quiet, &connections = *loop->connections] {
      connections.quiesce();
      quiet.count_down();
    });
  }
  quiet.wait();
}

void Server::stop() {
  bool running = !loops_.empty() && loops_.front()->thread.joinable();
  if (running) {
    loops_.front()->events->post([this] {
      for (auto& listener : listeners_) listener->stop();
    });
    for (auto& loop : loops_) {
      loop->events->post([&loop = *loop] {
        loop.connections->close_all();
        loop.events->stop();
      });
    }
    for (auto& loop : loops_) loop->thread.join();
  }
  listeners_.clear();
  budget_->forget_waiters();
}

void Server::accepted(const Listener& listener, UniqueFd socket, const SocketAddress& from) {
  std::uint64_t id = ++last_connection_id_;
  Loop& loop = *loops_[id % loops_.size()];
  auto peer = std::make_shared<protocol::Peer>();
  SocketAddress local = local_address(socket.get());
  peer->connection_id = id;
  peer->listener_name = listener.name();
  peer->local_host = local.host();
  peer->local_port = local.port();
  peer->remote_host = from.host();
  peer->remote_port = from.port();
  peer->loop = loop.events.get();
  // In a shared pointer because a posted function is copyable; a loop that has stopped drops it, closing the socket.
  auto transport = std::make_shared<std::unique_ptr<Transport>>(make_plain_transport(std::move(socket)));
  loop.events->post([&loop, transport, peer] { loop.connections->add(std::move(*transport), peer); });
}

}  // namespace cordwood::net
