// protocol/header.h — what stands before the body of every request and response.
//
// Request v1: api key i16, version i16, correlation id i32, client id (nullable string). Request v2 adds a tagged section,
// and still writes the client id in classic form. Response v0: correlation id i32; v1 adds a tagged section. Which
// one it is follows from the api key and its version, of all of Kafka 4.4, whether we serve it or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "protocol/wire.h"

namespace cordwood::protocol {

struct RequestHeader {
  std::int16_t api_key = 0;
  std::int16_t version = 0;
  std::int32_t correlation_id = 0;
  std::optional<std::string> client_id;
  std::size_t body_at = 0;  // position of the body in the frame
  bool operator==(const RequestHeader&) const = default;
};

// The form of a request's body, and with it of its header. ApiVersions is flexible in every version of 3 and above, known
// or not: a client that is newer than we are must be answered. Keys that Kafka does not have are classic.
Form request_form(std::int16_t api_key, std::int16_t version);

// The form of a response's header: always classic for ApiVersions, since its reader may not know what we speak.
Form response_header_form(std::int16_t api_key, std::int16_t version);

// `frame` without its length. Errors: invalid when it is cut short.
Result<RequestHeader> decode_request_header(BytesView frame);

// The client's side; the body follows in request_form().
void encode_request_header(const RequestHeader& header, Encoder& encoder);

}  // namespace cordwood::protocol
