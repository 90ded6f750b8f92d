// broker/exchange.h — a request as a handler sees it: header read, body at hand, answer typed.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "protocol/error_code.h"
#include "protocol/exchange.h"
#include "protocol/header.h"
#include "protocol/wire.h"

namespace cordwood::broker {

class Broker;

namespace exchange_detail {
// Outside of the class, whose own decode() would hide the messages' functions.
template <class Message>
void decode_message(Message& into, protocol::Decoder& decoder, std::int16_t version) {
  decode(into, decoder, version);
}
template <class Message>
void encode_message(const Message& message, protocol::Encoder& encoder, std::int16_t version) {
  encode(message, encoder, version);
}
}  // namespace exchange_detail

// Move-only: goes along into whatever waits for the answer. The frame lives as long as the exchange.
class Exchange {
 public:
  Exchange(protocol::Request request, std::int16_t api_key, std::int16_t version, std::int32_t correlation_id,
           std::string client_id, std::size_t body_at)
      : request_(std::move(request)), api_key_(api_key), version_(version), correlation_id_(correlation_id),
        client_id_(std::move(client_id)), body_at_(body_at) {}
  Exchange(Exchange&&) = default;
  Exchange& operator=(Exchange&&) = default;

  std::int16_t api_key() const { return api_key_; }
  std::int16_t version() const { return version_; }
  const std::string& client_id() const { return client_id_; }  // "" for null
  const protocol::Peer& peer() const { return *request_.peer; }
  std::shared_ptr<const protocol::Peer> peer_ptr() const { return request_.peer; }
  Executor& loop() const { return *request_.peer->loop; }
  MonotonicNs received() const { return request_.received; }
  MutableBytesView body() { return request_.frame->bytes().subspan(body_at_); }
  bool pending() const { return request_.responder.pending(); }

  // Reads the body into `into`. False when it is malformed: the connection has then been closed and the handler ends.
  // Bytes left over are ignored, as Kafka does.
  template <class Message>
  bool decode(Message& into) {
    protocol::Decoder decoder(body(), Message::form(version_));
    exchange_detail::decode_message(into, decoder, version_);
    if (decoder.ok()) return true;
    close(std::string("malformed ") + Message::kName);
    return false;
  }

  // Encodes and sends; file ranges in it stay files.
  template <class Message>
  void answer(const Message& message) {
    answer_as(message, version_);
  }
  // In the layout of another version than the request's.
  template <class Message>
  void answer_as(const Message& message, std::int16_t version) {
    protocol::Encoder encoder(Message::form(version));
    encoder.i32(correlation_id_);
    if (protocol::response_header_form(Message::kApiKey, version) == protocol::Form::flexible) encoder.uvarint(0);
    exchange_detail::encode_message(message, encoder, version);
    request_.responder.send(encoder.take());
  }
  void answer_nothing() { request_.responder.send_nothing(); }
  void close(std::string why) { request_.responder.close(std::move(why)); }

 private:
  protocol::Request request_;
  std::int16_t api_key_;
  std::int16_t version_;
  std::int32_t correlation_id_;
  std::string client_id_;
  std::size_t body_at_;
};

}  // namespace cordwood::broker
