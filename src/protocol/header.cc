#include "protocol/header.h"

#include <array>

namespace cordwood::protocol {
namespace {
constexpr std::int16_t kApiVersionsKey = 18;
constexpr std::int8_t kNever = 127;

// First flexible version by api key. 4 to 7 left Kafka with 4.0; 17 (SaslHandshake) and 47 (OffsetDelete) never became
// flexible.
constexpr std::array<std::int8_t, 95> kFirstFlexible = {
    9, 12, 6, 9, kNever, kNever, kNever, kNever, 8, 6,  //  0..9
    3, 6,  4, 4, 4,      5,      3,      kNever, 3, 5,  // 10..19
    4, 2,  2, 4, 3,      3,      3,      1,      3, 2,  // 20..29
    2, 2,  4, 2, 2,      2,      2,      2,      2, 2,  // 30..39
    2, 2,  2, 2, 1,      0,      0,      kNever, 1, 1,  // 40..49
    0, 0,  0, 1, 1,      0,      0,      0,      0, 0,  // 50..59
    0, 0,  0, 0, 0,      0,      0,      0,      0, 0,  // 60..69
    0, 0,  0, 0, 0,      0,      0,      0,      0, 0,  // 70..79
    0, 0,  0, 0, 0,      0,      0,      0,      0, 0,  // 80..89
    0, 0,  0, 0, 0,                                     // 90..94
};
}  // namespace

Form request_form(std::int16_t api_key, std::int16_t version) {
  if (api_key < 0 || static_cast<std::size_t>(api_key) >= kFirstFlexible.size()) return Form::classic;
  std::int8_t first = kFirstFlexible[static_cast<std::size_t>(api_key)];
  return first != kNever && version >= first ? Form::flexible : Form::classic;
}

Form response_header_form(std::int16_t api_key, std::int16_t version) {
  return api_key == kApiVersionsKey ? Form::classic : request_form(api_key, version);
}

Result<RequestHeader> decode_request_header(BytesView frame) {
  Decoder decoder(frame, Form::classic);
  RequestHeader header;
  header.api_key = decoder.i16();
  header.version = decoder.i16();
  header.correlation_id = decoder.i32();
  decoder.nullable_string(header.client_id);
  if (decoder.ok() && request_form(header.api_key, header.version) == Form::flexible) decoder.skip_tagged_fields();
  if (!decoder.ok()) return Error{Errc::invalid, "request header cut short or malformed"};
  header.body_at = decoder.position();
  return header;
}

void encode_request_header(const RequestHeader& header, Encoder& encoder) {
  encoder.i16(header.api_key);
  encoder.i16(header.version);
  encoder.i32(header.correlation_id);
  // Classic form even where the encoder is flexible.
  Encoder classic(Form::classic);
  classic.nullable_string(header.client_id);
  encoder.raw(classic.take_bytes());
  if (request_form(header.api_key, header.version) == Form::flexible) encoder.uvarint(0);
}

}  // namespace cordwood::protocol
