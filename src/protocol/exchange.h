// protocol/exchange.h — one request on its way in and the token with which its answer goes out.
//
// net makes them, broker uses them; neither knows the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/executor.h"
#include "protocol/payload.h"

namespace cordwood::protocol {

// Who is on the other end; made when the connection is accepted, shared by its requests.
struct Peer {
  std::uint64_t connection_id = 0;
  std::string listener_name;       // "PLAINTEXT": which listener the connection came in on
  std::string local_host;          // the address that the client used to reach us
  std::uint16_t local_port = 0;
  std::string remote_host;         // "127.0.0.1"
  std::uint16_t remote_port = 0;
  std::string principal = "User:ANONYMOUS";
  Executor* loop = nullptr;        // the connection's loop; outlives every request
};

// The bytes of a frame without its length. Mutable, since a produce is rewritten where it lies. Freed (or pooled) by
// the last holder.
class Frame {
 public:
  virtual ~Frame() = default;
  virtual MutableBytesView bytes() = 0;
};

// The connection's side of an exchange. Safe for all threads.
class ResponseChannel {
 public:
  virtual ~ResponseChannel() = default;
  virtual void send(std::uint64_t sequence, Payload payload) = 0;
  virtual void send_nothing(std::uint64_t sequence) = 0;             // acks=0
  virtual void close(std::uint64_t sequence, std::string why) = 0;   // as Kafka: no answer, connection closed
};

// Answers one request exactly once, from any thread. Destroyed unanswered, it closes the connection: a client must never
// wait for an answer that cannot come.
class Responder {
 public:
  Responder() = default;
  Responder(std::shared_ptr<ResponseChannel> channel, std::uint64_t sequence)
      : channel_(std::move(channel)), sequence_(sequence) {}
  Responder(Responder&& other) noexcept = default;
  Responder& operator=(Responder&& other) noexcept {
    if (this != &other) {
      drop();
      channel_ = std::move(other.channel_);
      sequence_ = other.sequence_;
    }
    return *this;
  }
  ~Responder() { drop(); }

  bool pending() const { return channel_ != nullptr; }
  void send(Payload payload) {
    if (auto channel = std::move(channel_)) channel->send(sequence_, std::move(payload));
  }
  void send_nothing() {
    if (auto channel = std::move(channel_)) channel->send_nothing(sequence_);
  }
  void close(std::string why) {
    if (auto channel = std::move(channel_)) channel->close(sequence_, std::move(why));
  }

 private:
  void drop() {
    if (auto channel = std::move(channel_)) channel->close(sequence_, "the request was dropped without an answer");
  }
  std::shared_ptr<ResponseChannel> channel_;
  std::uint64_t sequence_ = 0;
};

struct Request {
  std::unique_ptr<Frame> frame;
  std::shared_ptr<const Peer> peer;
  Responder responder;
  MonotonicNs received;
};

}  // namespace cordwood::protocol
