#include "cli/inspector_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cordwood::cli {
namespace {

constexpr int kInspectorPort = 9192;
constexpr DurationMs kLookPatience{60'000};
// A compaction of a large log takes its time.
constexpr DurationMs kChangePatience{6 * 60 * 60 * 1000};

Error no_address(std::string_view text) {
  return Error{Errc::invalid, fmt::format("'{}' is no address of an inspector: http://HOST:PORT is one", text)};
}

Errc code_of(int status) {
  switch (status) {
    case 404: return Errc::not_found;
    case 409: return Errc::locked;
    default: return status < 500 ? Errc::invalid : Errc::io;
  }
}

}  // namespace

Result<InspectorAddress> parse_inspector_address(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("https://")) return Error{Errc::unsupported, "the inspector speaks http, not https"};
  if (rest.starts_with("http://")) rest.remove_prefix(std::string_view("http://").size());
  InspectorAddress address;
  const std::size_t path = std::min(rest.find('/'), rest.find('?'));
  if (path != std::string_view::npos) {
    std::string_view behind = rest.substr(path);
    rest = rest.substr(0, path);
    while (behind.starts_with('/')) behind.remove_prefix(1);
    constexpr std::string_view kToken = "?token=";
    if (!behind.empty() && !behind.starts_with(kToken)) return no_address(text);
    if (!behind.empty()) address.token = std::string(behind.substr(kToken.size()));
  }
  const bool is_odd = std::ranges::any_of(text, [](char c) { return c <= ' ' || c == 0x7f || c == ','; });
  if (rest.empty() || is_odd) return no_address(text);
  auto servers = client::parse_bootstrap_servers(rest);
  if (!servers) servers = client::parse_bootstrap_servers(fmt::format("{}:{}", rest, kInspectorPort));
  if (!servers || servers->size() != 1) return no_address(text);
  address.server = servers->front();
  return address;
}

std::string encode_path_word(std::string_view word) {
  std::string out;
  for (char c : word) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("-._~").find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Result<boost::json::object> InspectorClient::call(client::HttpCall call, DurationMs patience) {
  call.bearer_token = address_.token;
  auto reply = client::call_http(address_.server, call, patience, session_.clock, [&] { return !session_.interrupted; });
  const std::string where = address_.server.to_string();
  if (!reply && reply.error().code == Errc::corrupt) {
    return Error{Errc::unsupported, fmt::format("what answers at {} is no inspector of a Cordwood", where)};
  }
  if (!reply && reply.error().code == Errc::io) {
    return Error{Errc::io, fmt::format("{}; the inspector of a running Cordwood is asked, whose address its first lines tell "
                                       "(Apache Kafka has none)", reply.error().message())};
  }
  if (!reply) return reply.error();
  boost::json::error_code wrong;
  const boost::json::value value = boost::json::parse(reply->body, wrong);
  if (wrong || !value.is_object()) return Error{Errc::unsupported, fmt::format("what answers at {} is no inspector of a Cordwood", where)};
  if (reply->status == 200) return value.as_object();
  const boost::json::value* sentence = value.as_object().if_contains("error");
  std::string text = sentence != nullptr && sentence->is_string() ? std::string(sentence->as_string()) : fmt::format("status {}", reply->status);
  if (reply->status == 401) text = fmt::format("{} wants a token: --token TOKEN, as its broker was given or has printed it", where);
  return Error{code_of(reply->status), std::move(text)};
}

Result<boost::json::object> InspectorClient::get(const std::string& target) { return call({.target = target}, kLookPatience); }

Result<boost::json::object> InspectorClient::post(const std::string& target, const boost::json::object& body) {
  return call({.method = "POST", .target = target, .body = boost::json::serialize(body)}, kChangePatience);
}

Result<void> InspectorClient::check_broker(Wanted wanted) {
  const boost::json::object about = TRY(get("/api/v1/about"));
  const std::string where = address_.server.to_string();
  const boost::json::value* mode = about.if_contains("mode");
  const boost::json::value* actions = about.if_contains("actions");
  if (mode == nullptr || !mode->is_string() || actions == nullptr || !actions->is_bool()) {
    return Error{Errc::unsupported, fmt::format("what answers at {} is no inspector of a Cordwood", where)};
  }
  if (mode->as_string() != "broker") {
    return Error{Errc::unsupported, fmt::format("{} shows a directory (cordwood inspect): there is no broker that could be asked", where)};
  }
  if (wanted == Wanted::changes && !actions->as_bool()) {
    return Error{Errc::unsupported, fmt::format("the broker at {} allows no changes this way: it does when it is started with "
                                                "cordwood.inspector.actions=true, or without any settings", where)};
  }
  return {};
}

}  // namespace cordwood::cli
