// net/connection.h — one client's connection: frames in, requests to the sink in order, answers out in order.
//
// The next request is handed over when the answer to the one before has gone to the socket completely; while the sink says
// that requests join those that wait (appends that are written together), whole frames that one read has already brought
// (at most ConnectionSet::kScratch bytes) are handed over without that wait. What a pipelining client sends meanwhile
// stays in the kernel: a connection holds the frames it has handed over, their answers and the rest of one read, and a
// client that does not read its answers is not read from. Idle, it holds no buffer at all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/types.h"
#include "net/event_loop.h"
#include "net/frame_reader.h"
#include "net/payload_writer.h"
#include "net/transport.h"
#include "protocol/exchange.h"

namespace cordwood::net {

class Connection;
class ConnectionSet;

// The end that waiting requests hold: forgets the connection when that goes.
class ConnectionChannel final : public protocol::ResponseChannel,
                                public std::enable_shared_from_this<ConnectionChannel> {
 public:
  ConnectionChannel(EventLoop& loop, Connection& connection) : loop_(loop), connection_(&connection) {}
  void send(std::uint64_t sequence, protocol::Payload payload) override;
  void send_nothing(std::uint64_t sequence) override;
  void close(std::uint64_t sequence, std::string why) override;
  // On the loop.
  void detach() { connection_ = nullptr; }

 private:
  template <class Function>
  void on_loop(Function function);

  EventLoop& loop_;
  Connection* connection_;  // the loop's thread alone touches it
};

// One thread: its loop.
class Connection final : public EventLoop::Handler {
 public:
  Connection(ConnectionSet& set, std::uint64_t id, std::unique_ptr<Transport> transport,
             std::shared_ptr<const protocol::Peer> peer);
  ~Connection() override;

  // Begins to read. False when the loop has no room for it; the connection is then to be destroyed.
  bool open();

  // Does all that can be done now. Destroys the connection when it is over: nobody touches it after this call.
  void drive();
  void on_events(std::uint32_t epoll_events) override;

  // From the channel. An answer to a request that waits for none is ignored.
  void answer(std::uint64_t sequence, protocol::Payload payload);
  void answer_nothing(std::uint64_t sequence);
  void refuse(std::uint64_t sequence, std::string why);

  void memory_is_there();

  const std::shared_ptr<const protocol::Peer>& peer() const { return peer_; }

 private:
  enum class Step { again, wait };
  struct Nothing {};
  struct Refusal {
    std::string why;
  };
  using Answer = std::variant<protocol::Payload, Nothing, Refusal>;

  Step write_some();
  Step read_some();
  Step next_frame(FrameReader::State state);
  void hand_over();
  // An answer is there for the request that waits longest: it leaves. None may be on its way.
  bool is_answered() const { return !awaited_.empty() && awaited_.front().has_value(); }
  Step begin_answer();
  void answered(std::uint64_t sequence, Answer answer);
  // The next request has come along with one that waits, and joins it.
  bool next_joins() const;
  // The connection is over; drive() destroys it. Reported when there is something to say.
  Step end(std::string_view why = {});
  void keep_leftover();
  void check_idle();
  void check_overdraft();

  ConnectionSet& set_;
  const std::uint64_t id_;
  std::unique_ptr<Transport> transport_;
  std::shared_ptr<const protocol::Peer> peer_;
  std::shared_ptr<ConnectionChannel> channel_;
  FrameReader reader_;
  PayloadWriter writer_;
  ByteVector leftover_;  // read, but belonging to frames that must wait
  BytesView input_;      // what of the scratch or of leftover_ is not consumed; inside of drive() only

  EventLoop::WatchId watch_ = 0;
  TimerId idle_timer_ = 0;
  TimerId overdraft_timer_ = 0;
  MonotonicNs last_activity_;
  std::uint64_t sequence_ = 0;    // of the request handed over last
  std::vector<std::optional<Answer>> awaited_;  // of the last requests up to that one: their answers, as far as they came
  std::int64_t turn_left_ = 0;    // bytes that this drive() may still move
  bool readable_ = false;
  bool writable_ = false;
  bool peer_shut_down_ = false;   // an event said so: a read will find the end of the stream
  bool read_ended_ = false;       // a read has found it
  bool reset_ = false;            // no answer can arrive any more
  bool needs_memory_ = false;     // the reader stands still until the budget has some
  bool memory_wake_set_ = false;
  bool driving_ = false;
  bool over_ = false;
};

}  // namespace cordwood::net
