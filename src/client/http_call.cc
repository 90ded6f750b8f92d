#include "client/http_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "client/connection.h"

namespace cordwood::client {
namespace {

constexpr std::size_t kLargestReply = 64 * MiB;
constexpr DurationMs kConnectPatience{10'000};
constexpr DurationMs kLookForInterruption{100};

Error no_http(std::string_view why) { return Error{Errc::corrupt, fmt::format("this is no answer of HTTP: {}", why)}; }

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string request_text(const HostPort& server, const HttpCall& call) {
  std::string text = fmt::format("{} {} HTTP/1.0\r\nHost: {}\r\nAccept: application/json\r\n", call.method, call.target, server.to_string());
  if (!call.bearer_token.empty()) text += fmt::format("Authorization: Bearer {}\r\n", call.bearer_token);
  if (call.method == "POST") text += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", call.body.size());
  text += "\r\n";
  if (call.method == "POST") text += call.body;
  return text;
}

}  // namespace

Result<HttpReply> parse_http_reply(std::string_view bytes) {
  const std::size_t end_of_head = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.")) return no_http("it does not begin with HTTP/1");
  if (end_of_head == std::string_view::npos) return no_http("its header has no end");
  std::string_view head = bytes.substr(0, end_of_head + 2);
  HttpReply reply;
  const std::size_t space = head.find(' ');
  const std::string_view status = space == std::string_view::npos ? std::string_view() : head.substr(space + 1, 3);
  const auto [end, error] = std::from_chars(status.data(), status.data() + status.size(), reply.status);
  if (status.size() != 3 || error != std::errc() || end != status.data() + 3 || reply.status < 100) return no_http("it has no status");
  reply.body = std::string(bytes.substr(end_of_head + 4));
  head.remove_prefix(head.find("\r\n") + 2);
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(line.size() + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return no_http("a line of its header has no colon");
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    if (!same_word(line.substr(0, colon), "content-length")) continue;
    std::size_t length = 0;
    const auto [stop, wrong] = std::from_chars(value.data(), value.data() + value.size(), length);
    if (wrong != std::errc() || stop != value.data() + value.size()) return no_http("its length is no number");
    if (length > reply.body.size()) return no_http(fmt::format("{} of {} bytes came", reply.body.size(), length));
    reply.body.resize(length);
  }
  return reply;
}

Result<HttpReply> call_http(const HostPort& server, const HttpCall& call, DurationMs patience, const Clock& clock,
                            const std::function<bool()>& go_on) {
  const MonotonicNs deadline = clock.monotonic() + to_ns(patience);
  Connection connection = TRY(Connection::open(server.host, server.port, kConnectPatience));
  TRY(connection.send_raw(as_bytes(request_text(server, call))));
  std::string bytes;
  std::array<std::byte, 16 * KiB> piece;
  while (true) {
    if (!go_on()) return Error{Errc::closed, "interrupted"};
    if (clock.monotonic() >= deadline) return system_error("waiting for " + server.to_string(), ETIMEDOUT);
    if (!TRY(connection.wait_readable(kLookForInterruption))) continue;
    const std::size_t count = TRY(connection.receive_some(piece));
    if (count == 0) break;
    if (bytes.size() + count > kLargestReply) return Error{Errc::limit, fmt::format("{} answers with more than 64 MiB", server.to_string())};
    bytes += as_text(BytesView(piece).first(count));
  }
  auto reply = parse_http_reply(bytes);
  if (!reply) return Error{reply.error().code, fmt::format("{}: {}", server.to_string(), reply.error().what)};
  return reply;
}

}  // namespace cordwood::client
