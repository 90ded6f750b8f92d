// cli/inspector_client.h — the endpoints of a running Cordwood's inspector (docs/inspector-api.md), as a command asks them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/result.h"
#include "cli/session.h"
#include "client/http_call.h"

namespace cordwood::cli {

struct InspectorAddress {
  client::HostPort server;
  std::string token;  // empty: none
  bool operator==(const InspectorAddress&) const = default;
};

// "http://host:port/?token=TOKEN" as the broker prints it at its start, or less of it: "host:port", "host", whose port is 9192.
// Errors: invalid; unsupported for https.
Result<InspectorAddress> parse_inspector_address(std::string_view text);

enum class Wanted { a_look, changes };

// One thread. Each call has a connection of its own.
class InspectorClient {
 public:
  // `session` must outlive it.
  InspectorClient(InspectorAddress address, Session& session) : address_(std::move(address)), session_(session) {}

  // What an endpoint answers; `target` as from path_of(). Errors: with the inspector's own sentence: not_found, locked (409), invalid;
  // unsupported when nothing of Cordwood's answers; io, closed (interrupted).
  Result<boost::json::object> get(const std::string& target);
  Result<boost::json::object> post(const std::string& target, const boost::json::object& body);
  // Whether it belongs to a running broker that allows what is wanted. Errors: unsupported saying why not.
  Result<void> check_broker(Wanted wanted);

 private:
  Result<boost::json::object> call(client::HttpCall call, DurationMs patience);

  InspectorAddress address_;
  Session& session_;
};

// A word of a path: all but letters, digits and "-._~" as %XX.
std::string encode_path_word(std::string_view word);

}  // namespace cordwood::cli
