// client/http_call.h — one request over HTTP on a connection of its own: what the inspector's endpoints are asked with.
//
// HTTP/1.0, so that an answer has one form: header, body, end of the connection.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/types.h"
#include "client/cluster.h"

namespace cordwood::client {

struct HttpCall {
  std::string method = "GET";
  std::string target;        // "/api/v1/about", encoded already
  std::string body;          // JSON; sent with POST only
  std::string bearer_token;  // empty: none
};

struct HttpReply {
  int status = 0;
  std::string body;
  bool operator==(const HttpReply&) const = default;
};

// `go_on` is asked several times a second while the answer is awaited, which may last `patience`. Errors: not_found (no such host), io
// naming the address (time-out included), closed (interrupted), corrupt (what answers does not speak HTTP, or not all of the body
// came), limit (an answer above 64 MiB).
Result<HttpReply> call_http(const HostPort& server, const HttpCall& call, DurationMs patience, const Clock& clock,
                            const std::function<bool()>& go_on);

// The answer in these bytes. Errors: corrupt.
Result<HttpReply> parse_http_reply(std::string_view bytes);

}  // namespace cordwood::client
