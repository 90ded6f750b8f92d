#include "inspector/service.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crc32c.h"
#include "inspector/api.h"
#include "inspector/metrics.h"
#include "inspector/page_assets.h"

namespace cordwood::inspector {
namespace {

HttpAnswer text_answer(int status, std::string text, std::string content_type = "text/plain; charset=utf-8") {
  HttpAnswer answer;
  answer.status = status;
  answer.content_type = std::move(content_type);
  answer.body = std::move(text);
  return answer;
}

// "limit: must be 1 to 500" is about limit.
std::optional<std::string> field_of(std::string_view error) {
  const std::size_t colon = error.find(": ");
  if (colon == std::string_view::npos || colon == 0 || colon > 40) return {};
  const std::string_view name = error.substr(0, colon);
  const bool is_name = std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  return is_name ? std::optional<std::string>(name) : std::nullopt;
}

// The path of a target as it came, where it surely leads nowhere else: "//elsewhere" would.
std::string place_of_this_site(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  const bool is_plain = std::ranges::all_of(path, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("/-._~%").find(c) != std::string_view::npos;
  });
  return is_plain && path.starts_with('/') && !path.starts_with("//") ? std::string(path) : "/";
}

constexpr std::string_view kNoPage =
    "This Cordwood was built without its page (CORDWOOD_PAGE=OFF). The endpoints are here all the same:\n\n"
    "  /api/v1/about    /api/v1/topics    /api/v1/groups    /api/v1/events    /api/v1/demos\n"
    "  /metrics         /ready            /live\n\n"
    "docs/inspector-api.md describes them.\n";

}  // namespace

int status_of(Errc code) {
  switch (code) {
    case Errc::invalid: return 400;
    case Errc::not_found:
    case Errc::out_of_range: return 404;
    case Errc::closed:
    case Errc::locked:
    case Errc::exists:
    case Errc::unsupported: return 409;
    case Errc::limit: return 413;
    case Errc::io:
    case Errc::no_space:
    case Errc::corrupt: return 500;
  }
  return 500;
}

HttpAnswer problem_answer(int status, const std::string& error) {
  api::Problem problem;
  problem.error = error;
  if (status == 400) problem.field = field_of(error);
  HttpAnswer answer;
  answer.status = status;
  append_json(answer.body, problem);
  return answer;
}

Service::Service(ServiceParts parts, GuardRules rules)
    : parts_(std::move(parts)), rules_(std::move(rules)),
      handlers_(parts_.source, parts_.actions, parts_.clock, parts_.version), ticker_(parts_.source, parts_.clock) {}

std::optional<HttpAnswer> Service::answer_at_once(const HttpRequest& request) {
  const std::string_view path = std::string_view(request.target).substr(0, request.target.find('?'));
  if (request.method == "POST") return {};
  if (path == "/live") return text_answer(200, "alive\n");
  if (path == "/ready") return ready_ ? text_answer(200, "ready\n") : text_answer(503, "not ready\n");
  return {};
}

HttpAnswer Service::answer(const HttpRequest& request) {
  auto parsed = api::parse_target(request.target);
  if (!parsed) return problem_answer(parsed.error().code == Errc::limit ? 414 : 400, parsed.error().what);
  api::Target target = *std::move(parsed);
  std::string path;
  for (const std::string& word : target.path) path += "/" + word;
  if (path.empty()) path = "/";

  std::string token;
  const auto given = std::ranges::find(target.query, std::string("token"), &std::pair<std::string, std::string>::first);
  if (given != target.query.end()) {
    token = given->second;
    target.query.erase(given);
  }
  if (const auto refusal = refusal_of(rules_, request, path, token)) {
    HttpAnswer answer = problem_answer(refusal->status, refusal->why);
    if (refusal->status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
  }
  const bool is_api = path.starts_with("/api/") || path == "/api";
  if (is_api) return answer_api(request, target);
  if (request.method == "POST") {
    HttpAnswer answer = problem_answer(405, "only the endpoints below /api/ take a POST");
    answer.headers.emplace_back("Allow", "GET, HEAD");
    return answer;
  }
  if (path == "/metrics") {
    return text_answer(200, metrics_text(parts_.source, parts_.view, parts_.files, parts_.clock, parts_.version),
                       "text/plain; version=0.0.4; charset=utf-8");
  }
  if (!token.empty() && !rules_.token.empty()) {
    // From now on the browser has it, and the address without it can be shown around.
    HttpAnswer answer = text_answer(303, "");
    answer.headers.emplace_back("Location", place_of_this_site(request.target));
    answer.headers.emplace_back("Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", token_cookie_name(rules_.port), rules_.token));
    return answer;
  }
  return answer_page(request, path);
}

HttpAnswer Service::answer_api(const HttpRequest& request, const api::Target& target) {
  const std::string_view method = request.method == "HEAD" ? std::string_view("GET") : std::string_view(request.method);
  const api::Route route = api::find_route(method, target);
  if (route == api::Route::none) {
    if (!api::path_is_known(target)) return problem_answer(404, "there is no such endpoint");
    HttpAnswer answer = problem_answer(405, fmt::format("{} is not answered here", method));
    answer.headers.emplace_back("Allow", method == "GET" ? "POST" : "GET, HEAD");
    return answer;
  }
  const auto failed = [](const Error& error) { return problem_answer(status_of(error.code), error.message()); };
  if (route == api::Route::events) {
    const auto query = api::read_events_query(target);
    if (!query) return failed(query.error());
    auto stream = Ticker::make_stream(*query);
    if (!stream) return failed(stream.error());
    HttpAnswer answer;
    if (request.method == "HEAD") return answer;
    answer.stream = *std::move(stream);
    return answer;
  }
  auto json = api::dispatch(handlers_, route, target, request.body);
  if (!json) return failed(json.error());
  HttpAnswer answer;
  answer.body = *std::move(json);
  return answer;
}

HttpAnswer Service::answer_page(const HttpRequest&, std::string_view path) {
  if (!has_page()) return path == "/" ? text_answer(200, std::string(kNoPage)) : text_answer(404, std::string(kNoPage));
  const PageAsset* asset = find_page_asset(path);
  // The names of what lies in there change with its content: an old one is gone, and not another place of the page.
  const bool is_named_by_content = path.starts_with("/assets/");
  if (asset == nullptr && is_named_by_content) return text_answer(404, "there is no such file\n");
  // The page's own places: /topics/orders.
  if (asset == nullptr) asset = find_page_asset("/index.html");
  HttpAnswer answer;
  answer.content_type = content_type_of(asset->path);
  answer.body = std::string(asset->gzipped());
  answer.gzipped = true;
  answer.etag = fmt::format("\"{:08x}-{}\"", crc32c(as_bytes(asset->gzipped())), asset->size);
  answer.cache_control = is_named_by_content ? "public, max-age=31536000, immutable" : "no-cache";
  return answer;
}

std::vector<std::string> Service::tick(std::span<const std::shared_ptr<EventStream>> streams) {
  MutexLock lock(ticker_mu_);
  return ticker_.tick(streams);
}

void Service::all_streams_ended() {
  MutexLock lock(ticker_mu_);
  ticker_.forget();
}

}  // namespace cordwood::inspector
