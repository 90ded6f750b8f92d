// client/connection.h — a blocking connection to one broker: typed calls, and raw frames for whoever wants to misbehave.
//
// For tools, tests and benchmarks: one request at a time, no retries, no metadata, no threads of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "net/unique_fd.h"
#include "protocol/header.h"
#include "protocol/wire.h"

namespace cordwood::client {

// A decoded answer together with the bytes that its record fields point into.
template <class Response>
struct Answer {
  ByteVector frame;
  Response message;
  const Response* operator->() const { return &message; }
  const Response& operator*() const { return message; }
};

// One thread. After an error other than `unsupported` from call() the stream is of no use any more.
class Connection {
 public:
  // `timeout` is for each wait on the network: connecting, and every time that nothing arrives or leaves.
  // Errors: not_found (no such host), io naming the address.
  static Result<Connection> open(const std::string& host, std::uint16_t port, DurationMs timeout,
                                 std::string client_id = "cordwood");

  // Sends a request and waits for its answer.
  // Errors: io, closed (the broker ended the connection), corrupt (an answer that is none), unsupported (a version
  // outside of the message's).
  template <class Response, class Request>
  Result<Answer<Response>> call(const Request& request, std::int16_t version) {
    static_assert(Request::kApiKey == Response::kApiKey, "an answer to another request");
    TRY(send(request, version));
    return receive<Response>(version);
  }

  // The two halves of call(), for pipelining; answers come in the order of the requests.
  template <class Request>
  Result<void> send(const Request& request, std::int16_t version) {
    if (version < Request::kMinVersion || version > Request::kMaxVersion) return no_such_version(Request::kName, version);
    protocol::Encoder encoder(Request::form(version));
    protocol::encode_request_header({Request::kApiKey, version, ++last_sent_, client_id_, 0}, encoder);
    encode(request, encoder, version);
    return send_frame(encoder.take_bytes());
  }
  template <class Response>
  Result<Answer<Response>> receive(std::int16_t version) {
    Answer<Response> answer{TRY(receive_frame()), {}};
    std::size_t body = TRY(check_response_header(answer.frame, Response::kApiKey, version));
    protocol::Decoder decoder(BytesView(answer.frame).subspan(body), Response::form(version));
    decode(answer.message, decoder, version);
    if (!decoder.ok()) return malformed(Response::kName);
    return answer;
  }

  // A frame's length and its bytes, unchecked.
  Result<void> send_frame(BytesView body);
  // Bytes as they are, for broken frames.
  Result<void> send_raw(BytesView bytes);
  // The next frame without its length. Errors: closed, io (time-out included), corrupt (a length that cannot be).
  Result<ByteVector> receive_frame();
  // What has arrived, at least a byte; 0 at the end of the stream. For what is no frame. Errors: io (time-out included).
  Result<std::size_t> receive_some(MutableBytesView into);
  // Waits at most `patience` for bytes to read (or the end of the stream). False: none came, or a signal came first.
  Result<bool> wait_readable(DurationMs patience);
  // Another time-out for what follows.
  Result<void> set_timeout(DurationMs timeout);
  int fd() const { return socket_.get(); }
  // Says that no more requests come; answers can still be received.
  void shut_down_sending();

  std::int32_t last_correlation_id() const { return last_sent_; }

 private:
  Connection(net::UniqueFd socket, std::string address, std::string client_id)
      : socket_(std::move(socket)), address_(std::move(address)), client_id_(std::move(client_id)) {}

  Result<void> receive_exactly(MutableBytesView into);
  Result<std::size_t> check_response_header(BytesView frame, std::int16_t api_key, std::int16_t version);
  static Error no_such_version(const char* message, std::int16_t version);
  Error malformed(const char* message) const;

  net::UniqueFd socket_;
  std::string address_;  // for messages
  std::string client_id_;
  std::int32_t last_sent_ = 0;      // correlation ids count up from 1
  std::int32_t last_received_ = 0;
};

}  // namespace cordwood::client
