#include "inspector/broker_inspector.h"

#include <fmt/format.h>

#include <algorithm>

namespace cordwood::inspector {
namespace {

constexpr std::size_t kShortestToken = 8;
constexpr std::size_t kLongestToken = 256;

bool is_loopback_listener(const broker::ListenerAddress& listener) { return names_loopback(listener.host); }

}  // namespace

std::string make_token(Random& random) { return fmt::format("{:016x}{:016x}", random.next(), random.next()); }

Result<void> check_token(std::string_view token) {
  const bool fits = token.size() >= kShortestToken && token.size() <= kLongestToken && std::ranges::all_of(token, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
  });
  if (fits) return {};
  return Error{Errc::invalid, fmt::format("a token has {} to {} letters, digits, '-', '_', '.' or '~'", kShortestToken, kLongestToken)};
}

BrokerInspector::Shown::Shown(broker::Broker& broker, const Clock& clock, Random& random, TimestampMs started, bool may_act,
                              const GuardRules& rules, const std::string& version)
    : view(broker), source(view, clock, started), actions(broker, clock, random),
      service({.source = source, .actions = may_act ? &actions : nullptr, .view = &view, .files = *broker.environment().fs, .clock = clock,
               .version = version},
              rules) {}

Result<std::unique_ptr<BrokerInspector>> BrokerInspector::open(const broker::Config& config, const Clock& clock, Random& random,
                                                               Logger& logger, std::string version) {
  const std::string wanted = config.inspector_listener.value_or(kDefaultListener);
  if (wanted.empty()) return std::unique_ptr<BrokerInspector>();
  std::unique_ptr<BrokerInspector> inspector(new BrokerInspector(clock, random, std::move(version)));
  HttpServerOptions options;
  auto address = HttpAddress::parse(wanted);
  if (!address) return Error{Errc::invalid, "cordwood.inspector.listener: " + address.error().what};
  options.address = *std::move(address);
  GuardRules& rules = inspector->rules_;
  if (config.inspector_token) {
    if (const auto fits = check_token(*config.inspector_token); !fits) {
      return Error{Errc::invalid, "cordwood.inspector.token: " + fits.error().what};
    }
    rules.token = *config.inspector_token;
  }
  auto server = HttpServer::open(std::move(options), clock, logger);
  if (!server) {
    if (config.inspector_listener) return Error{server.error().code, "the inspector: " + server.error().what, server.error().sys_errno};
    logger.info("there is no inspector: {} (cordwood.inspector.listener names another port, or is empty)", server.error().message());
    return std::unique_ptr<BrokerInspector>();
  }
  inspector->server_ = *std::move(server);
  rules.bound_host = inspector->server_->host();
  rules.port = inspector->server_->port();
  if (rules.token.empty() && !inspector->server_->is_loopback()) {
    rules.token = make_token(random);
    inspector->token_was_made_ = true;
  }
  const bool is_plain_start = config.given.empty() && inspector->server_->is_loopback() && std::ranges::all_of(config.listeners, is_loopback_listener);
  rules.actions = config.inspector_actions.value_or(is_plain_start);
  inspector->server_->start(*inspector);
  return inspector;
}

BrokerInspector::~BrokerInspector() { stop(); }

void BrokerInspector::show(broker::Broker& broker, TimestampMs started) {
  shown_ = std::make_unique<Shown>(broker, clock_, random_, started, rules_.actions, rules_, version_);
  shown_->service.set_ready(true);
  service_ = &shown_->service;
}

void BrokerInspector::set_stopping() {
  if (!shown_) return;
  shown_->service.set_ready(false);
  shown_->actions.stop();
}

void BrokerInspector::stop() {
  set_stopping();
  if (server_) server_->stop();
}

std::string BrokerInspector::address() const {
  const std::string host = server_->host().find(':') == std::string::npos ? server_->host() : "[" + server_->host() + "]";
  return fmt::format("http://{}:{}/{}", host, server_->port(), token_was_made_ ? "?token=" + rules_.token : "");
}

HttpAnswer BrokerInspector::answer(const HttpRequest& request) {
  Service* service = service_;
  if (service != nullptr) return service->answer(request);
  return problem_answer(503, "the broker is starting");
}

std::optional<HttpAnswer> BrokerInspector::answer_at_once(const HttpRequest& request) {
  if (Service* service = service_) return service->answer_at_once(request);
  HttpAnswer answer;
  answer.content_type = "text/plain; charset=utf-8";
  const std::string_view path = std::string_view(request.target).substr(0, request.target.find('?'));
  answer.status = path == "/live" ? 200 : 503;
  answer.body = path == "/live" ? "alive\n" : "the broker is starting\n";
  return answer;
}

std::vector<std::string> BrokerInspector::tick(std::span<const std::shared_ptr<EventStream>> streams) {
  Service* service = service_;
  if (service == nullptr) return std::vector<std::string>(streams.size());
  return service->tick(streams);
}

void BrokerInspector::all_streams_ended() {
  if (Service* service = service_) service->all_streams_ended();
}

}  // namespace cordwood::inspector
