#include "inspector/guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace cordwood::inspector {
namespace {

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Without the port. "[::1]:9192" gives "::1".
std::string host_of(std::string_view header) {
  if (header.starts_with('[')) {
    const std::size_t end = header.find(']');
    return end == std::string_view::npos ? std::string() : lower_case(header.substr(1, end - 1));
  }
  return lower_case(header.substr(0, header.find(':')));
}

bool is_loopback_v4(std::string_view host) {
  if (!host.starts_with("127.")) return false;
  int numbers = 0;
  while (true) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(host.data(), host.data() + host.size(), number);
    if (error != std::errc() || number > 255 || end - host.data() > 3) return false;
    ++numbers;
    host.remove_prefix(static_cast<std::size_t>(end - host.data()));
    if (host.empty()) return numbers == 4;
    if (host.front() != '.') return false;
    host.remove_prefix(1);
  }
}

// Takes as long for a wrong one, wherever it differs.
bool same_secret(std::string_view given, std::string_view wanted) {
  unsigned differs = given.size() == wanted.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    differs |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(wanted[i % wanted.size()]);
  }
  return differs == 0;
}

bool has_token(const GuardRules& rules, const HttpRequest& request, std::string_view token_in_query) {
  constexpr std::string_view kBearer = "bearer ";
  if (lower_case(std::string_view(request.authorization).substr(0, kBearer.size())) == kBearer) {
    return same_secret(std::string_view(request.authorization).substr(kBearer.size()), rules.token);
  }
  if (!token_in_query.empty()) return same_secret(token_in_query, rules.token);
  return same_secret(cookie_value(request.cookie, token_cookie_name(rules.port)), rules.token);
}

bool is_json(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return lower_case(type) == "application/json";
}

// Whether a browser sends it on behalf of another site's page.
bool is_cross_site(const HttpRequest& request, std::string_view path) {
  if (!request.origin.empty()) {
    const std::string origin = lower_case(request.origin);
    const std::string host = lower_case(request.host);
    if (origin != "http://" + host && origin != "https://" + host) return true;
  }
  if (request.fetch_site.empty() || request.fetch_site == "same-origin" || request.fetch_site == "none") return false;
  // A link on another site may lead to the page, which has no side effects and no data in it.
  const bool is_visit = request.method != "POST" && request.fetch_mode == "navigate" && request.fetch_dest == "document" &&
                        !path.starts_with("/api/") && path != "/metrics";
  return !is_visit;
}

}  // namespace

std::string token_cookie_name(std::uint16_t port) { return fmt::format("cordwood_token_{}", port); }

std::string_view cookie_value(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view one = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    const std::size_t equals = one.find('=');
    if (equals != std::string_view::npos && one.substr(0, equals) == name) return one.substr(equals + 1);
  }
  return {};
}

bool names_loopback(std::string_view host_header) {
  const std::string host = host_of(host_header);
  return host == "localhost" || host == "::1" || is_loopback_v4(host);
}

std::optional<Refusal> refusal_of(const GuardRules& rules, const HttpRequest& request, std::string_view path,
                                  std::string_view token_in_query) {
  if (path == "/live" || path == "/ready") return {};
  if (!rules.token.empty()) {
    if (!has_token(rules, request, token_in_query)) {
      return Refusal{401, "the token is missing or wrong: it belongs into 'Authorization: Bearer TOKEN', or behind '/?token=' once"};
    }
  } else if (!names_loopback(request.host) && host_of(request.host) != rules.bound_host) {
    return Refusal{403, fmt::format("this is not known here as '{}': ask for localhost, or start with a token", request.host)};
  }
  if (is_cross_site(request, path)) return Refusal{403, "requests of other sites are refused"};
  if (request.method == "POST") {
    if (!is_json(request.content_type)) return Refusal{415, "a POST needs 'Content-Type: application/json'"};
    if (!rules.actions) {
      return Refusal{403, "changes are not allowed here: a broker allows them when it was started without settings, on loopback, or "
                          "with cordwood.inspector.actions=true"};
    }
  }
  return {};
}

}  // namespace cordwood::inspector
