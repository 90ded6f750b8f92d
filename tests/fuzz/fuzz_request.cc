// Requests and responses from the wire. The first byte chooses: even, a whole request frame, header first, as a client
// sends it; odd, the body of a response: i16 api key, i16 version, body, as our own client reads it.
//
// What can be decoded must be writable, and what is written must be read back as the same bytes.
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/check.h"
#include "protocol/header.h"
#include "protocol/messages/every_message.h"

namespace {
using namespace cordwood;
using namespace cordwood::protocol;

template <class Message>
void decode_and_return(BytesView body, std::int16_t version) {
  Message message;
  Decoder decoder(body, Message::form(version));
  decode(message, decoder, version);
  if (!decoder.ok()) return;
  Encoder encoder(Message::form(version));
  encode(message, encoder, version);
  ByteVector bytes = encoder.take_bytes();
  Decoder again(bytes, Message::form(version));
  Message second;
  decode(second, again, version);
  CHECK(again.ok() && again.remaining() == 0, "{} v{} is not read back", Message::kName, version);
  Encoder last(Message::form(version));
  encode(second, last, version);
  CHECK(last.take_bytes() == bytes, "{} v{} changes when written twice", Message::kName, version);
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  BytesView input = std::as_bytes(std::span(data, size));
  BytesView rest = input.subspan(1);
  if ((data[0] & 1) == 0) {
    Result<RequestHeader> header = decode_request_header(rest);
    if (!header) return 0;
    CHECK(header->body_at <= rest.size(), "the body starts beyond the frame");
    for_each_request([&]<class Message>() {
      if (Message::kApiKey != header->api_key) return;
      if (header->version < Message::kMinVersion || header->version > Message::kMaxVersion) return;
      decode_and_return<Message>(rest.subspan(header->body_at), header->version);
    });
    return 0;
  }
  ByteReader reader(rest);
  std::int16_t key = reader.i16();
  std::int16_t version = reader.i16();
  BytesView body = reader.rest();
  if (!reader.ok()) return 0;
  for_each_response([&]<class Message>() {
    if (Message::kApiKey != key || version < Message::kMinVersion || version > Message::kMaxVersion) return;
    decode_and_return<Message>(body, version);
  });
  return 0;
}
