// broker/local_connection.h — a connection to a broker of the same process, without a socket: requests go in, answers wait here.
//
// Whoever owns it is the connection's loop: it runs the executor in its own thread whenever it waits. The broker answers from any of
// its threads. For tests, and for whoever talks to a broker in memory as a client does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/executor.h"
#include "base/result.h"
#include "broker/broker.h"
#include "protocol/exchange.h"
#include "protocol/header.h"
#include "protocol/payload.h"
#include "protocol/wire.h"

namespace cordwood::broker {

// What became of a request.
struct LocalOutcome {
  enum class Kind { answered, nothing, closed };
  Kind kind = Kind::answered;
  ByteVector bytes;            // of an answer, file ranges read
  std::size_t file_bytes = 0;  // how many of them came as file ranges
  std::string why;             // of a close
};

class LocalConnection {
 public:
  // `id` is unique among the connections of a broker; `loop` must outlive the connection.
  LocalConnection(std::uint64_t id, ManualExecutor& loop);

  std::string client_id = "local";
  std::shared_ptr<protocol::Peer> peer;

  // Hands a request in, and answers its number here. Errors: those of reading the file ranges of `body`.
  Result<std::uint64_t> send(Broker& broker, std::int16_t api_key, std::int16_t version, const protocol::Payload& body);
  // A frame of any bytes, without its length.
  std::uint64_t send_frame(Broker& broker, ByteVector frame);

  // Steps the loop first.
  bool is_done(std::uint64_t sequence);
  // Steps the loop until the answer is there, which is given once. Errors: closed when none comes within ten seconds, far longer than
  // anything takes in memory.
  Result<LocalOutcome> wait(std::uint64_t sequence);

 private:
  struct Channel;
  ManualExecutor& loop_;
  std::shared_ptr<Channel> channel_;
  std::uint64_t next_sequence_ = 1;
};

// The bytes of a payload, file ranges read; `file_bytes` is counted up. Errors: io; corrupt when a range is shorter than it says.
Result<ByteVector> flatten_payload(const protocol::Payload& payload, std::size_t* file_bytes = nullptr);

// What `bytes`, which must outlive it, say. Errors: corrupt when that is no such answer.
template <class Response>
Result<void> read_answer(BytesView bytes, std::int16_t version, Response& into) {
  protocol::Decoder decoder(bytes, Response::form(version));
  decoder.i32();  // correlation id
  if (protocol::response_header_form(Response::kApiKey, version) == protocol::Form::flexible) decoder.skip_tagged_fields();
  decode(into, decoder, version);
  if (!decoder.ok() || decoder.remaining() != 0) return Error{Errc::corrupt, std::string(Response::kName) + " cannot be read"};
  return {};
}

}  // namespace cordwood::broker
