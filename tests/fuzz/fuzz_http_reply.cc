// Fuzz entry point: what answers a command that asks a running broker's inspector, and addresses that it is given.
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "cli/inspector_client.h"
#include "client/http_call.h"

using namespace cordwood;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(std::as_bytes(std::span(data, size)));
  if (const auto reply = client::parse_http_reply(text)) {
    CHECK(reply->status >= 100 && reply->status <= 999, "status {}", reply->status);
    CHECK(reply->body.size() <= size, "a body of {} bytes", reply->body.size());
  }
  if (const auto address = cli::parse_inspector_address(text)) {
    // It becomes lines of a request's header.
    CHECK(address->server.host.find_first_of("\r\n") == std::string::npos, "a line feed in {}", address->server.host);
    CHECK(address->token.find_first_of("\r\n") == std::string::npos, "a line feed in {}", address->token);
  }
  return 0;
}
