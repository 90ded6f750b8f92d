// net/connection_set.h — the connections of one loop and what they share.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "net/byte_budget.h"
#include "net/connection.h"
#include "net/connection_limits.h"
#include "net/event_loop.h"
#include "net/frame_memory.h"
#include "net/log_throttle.h"
#include "net/request_sink.h"

namespace cordwood::net {

struct ConnectionSettings {
  ByteCount request_max_bytes{100 * MiB};
  DurationMs max_idle_ms{600'000};
};

// One thread: the loop. The constructor's arguments must outlive the set.
class ConnectionSet {
 public:
  ConnectionSet(EventLoop& loop, RequestSink& sink, const Clock& clock, Logger& logger, ConnectionSettings settings,
                std::shared_ptr<ByteBudget> budget, ConnectionLimits& limits);
  ~ConnectionSet();

  // Takes over a connected socket that the limits have admitted under the peer's remote_host.
  void add(std::unique_ptr<Transport> transport, std::shared_ptr<const protocol::Peer> peer);
  // From now on no request is handed over; answers still go out.
  void quiesce() { quiet_ = true; }
  // Closes every connection and tells the sink.
  void close_all();
  std::size_t size() const { return connections_.size(); }

  // For its connections.
  static constexpr std::size_t kScratch = 64 * KiB;
  static constexpr std::int64_t kBytesPerTurn = 4 * MiB;  // then other connections have their turn; and
  static constexpr std::int64_t kRequestCost = 16 * KiB;  // what a request counts for in it beside its bytes

  EventLoop& loop() { return loop_; }
  RequestSink& sink() { return sink_; }
  const Clock& clock() const { return clock_; }
  bool quiet() const { return quiet_; }
  const ConnectionSettings& settings() const { return settings_; }
  const std::shared_ptr<FramePool>& pool() const { return pool_; }
  const std::shared_ptr<ByteBudget>& budget() const { return budget_; }
  // For one read at a time. Its content is gone when another connection is driven.
  MutableBytesView scratch() { return scratch_; }
  // False while a connection is being driven: another one must then use drive_later().
  bool begin_driving();
  void end_driving() { driving_ = false; }
  void drive_later(std::uint64_t id);
  void wake_when_memory_is_there(std::uint64_t id, ByteCount wanted);
  // Says why a connection is closed before its client wanted it.
  void report(const protocol::Peer& peer, std::string_view why);
  // Destroys the connection.
  void remove(std::uint64_t id);

 private:
  EventLoop& loop_;
  RequestSink& sink_;
  const Clock& clock_;
  ConnectionSettings settings_;
  std::shared_ptr<FramePool> pool_;
  std::shared_ptr<ByteBudget> budget_;
  ConnectionLimits& limits_;
  LogThrottle closings_;
  ByteVector scratch_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  bool driving_ = false;
  bool quiet_ = false;
};

}  // namespace cordwood::net
