#include "client/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cerrno>
#include <limits>

#include "net/address.h"
#include "protocol/messages/describe_cluster.h"
#include "protocol/messages/find_coordinator.h"

namespace cordwood::client {
namespace {

using protocol::ErrorCode;

constexpr DurationMs kConnectionSetup{10'000};  // socket.connection.setup.timeout.ms

DurationMs smaller(DurationMs a, DurationMs b) { return {std::min(a.value, b.value)}; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "host:port", "[::1]:port", and with a protocol in front ("PLAINTEXT://host:port") as Kafka's clients take it.
std::optional<HostPort> parse_server(std::string_view text) {
  if (auto scheme = text.find("://"); scheme != std::string_view::npos) text.remove_prefix(scheme + 3);
  auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  std::string_view host = text.substr(0, colon);
  std::string_view digits = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.contains(':')) {
    return {};
  }
  std::uint16_t port = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (host.empty() || digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return {};
  return HostPort{std::string(host), port};
}

// As Java prints an InetSocketAddress: the name as it was given and the address it has.
std::string java_address(const Node& node) {
  auto address = net::resolve(node.host, static_cast<std::uint16_t>(node.port));
  if (!address) return fmt::format("{}/<unresolved>:{}", node.host, node.port);
  std::string literal = address->host();
  return fmt::format("{}/{}", literal == node.host ? "" : node.host, net::to_text(literal, static_cast<std::uint16_t>(node.port)));
}

Result<std::vector<protocol::ApiVersionsResponse::ApiKey>> ask_versions(Connection& connection) {
  protocol::ApiVersionsRequest request;
  request.client_software_name = "cordwood";
  request.client_software_version = CORDWOOD_VERSION;
  // Version 3 is the last one whose answer an old broker's refusal cannot be taken for.
  auto answer = TRY(connection.call<protocol::ApiVersionsResponse>(request, 3));
  if (answer->error_code != ErrorCode::NONE) {
    return Error{Errc::unsupported, fmt::format("ApiVersions was answered with {}", protocol::name_of(answer->error_code))};
  }
  return std::move(answer.message.api_keys);
}

}  // namespace

std::string HostPort::to_string() const { return net::to_text(host, port); }

Result<std::vector<HostPort>> parse_bootstrap_servers(std::string_view text) {
  std::vector<HostPort> servers;
  while (!text.empty()) {
    auto comma = std::min(text.find(','), text.size());
    std::string_view server = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (server.empty()) continue;
    auto parsed = parse_server(server);
    if (!parsed) return Error{Errc::invalid, fmt::format("Invalid url in bootstrap.servers: {}", server)};
    servers.push_back(*std::move(parsed));
  }
  if (servers.empty()) return Error{Errc::invalid, "No resolvable bootstrap urls given in bootstrap.servers"};
  return servers;
}

std::optional<std::int16_t> Link::common_version(std::int16_t api_key, std::int16_t min, std::int16_t max) const {
  auto found = std::ranges::find(versions_, api_key, &protocol::ApiVersionsResponse::ApiKey::api_key);
  if (found == versions_.end()) return {};
  std::int16_t version = std::min(max, found->max_version);
  if (version < std::max(min, found->min_version)) return {};
  return version;
}

Failure Link::no_common_version(const char* request) const {
  std::string_view name(request);
  if (name.ends_with("Request")) name.remove_suffix(std::string_view("Request").size());
  std::string upper;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z' && !upper.empty()) upper += '_';
    upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return {ErrorCode::UNSUPPORTED_VERSION, fmt::format("The node does not support {}", upper)};
}

Failure Link::broken_by(const Error& error, const char* request) {
  broken_ = true;
  if (error.sys_errno == ETIMEDOUT) {
    return {ErrorCode::REQUEST_TIMED_OUT, fmt::format("{} was not answered in time", request)};
  }
  return {ErrorCode::NETWORK_EXCEPTION, error.message()};
}

Cluster::Cluster(ClusterOptions options, const Clock& clock, ClusterListener& listener)
    : options_(std::move(options)), clock_(clock), listener_(listener) {
  std::int32_t id = -1;
  for (const HostPort& server : options_.bootstrap) bootstrap_.push_back({id--, server.host, server.port, {}});
}

MonotonicNs Cluster::deadline() const { return clock_.monotonic() + to_ns(options_.api_timeout); }

DurationMs Cluster::remaining(MonotonicNs deadline) const {
  return {std::max<std::int64_t>(0, (deadline - clock_.monotonic()).value / 1'000'000)};
}

Failure Cluster::no_node(std::string_view call) const {
  return {ErrorCode::REQUEST_TIMED_OUT, fmt::format("Timed out waiting for a node assignment. Call: {}", call)};
}

bool Cluster::resolvable() {
  bool any = false;
  for (const HostPort& server : options_.bootstrap) {
    if (net::resolve(server.host, server.port)) {
      any = true;
    } else {
      listener_.unresolvable(server);
    }
  }
  return any;
}

Link* Cluster::link_to(std::int32_t id) {
  auto found = links_.find(id);
  if (found == links_.end()) return nullptr;
  if (!found->second->broken()) return found->second.get();
  links_.erase(found);
  return nullptr;
}

// Failures: NETWORK_EXCEPTION (told to the listener already), UNSUPPORTED_VERSION.
Outcome<Link*> Cluster::connect(const Node& node, MonotonicNs deadline) {
  DurationMs patience = smaller(smaller(options_.request_timeout, kConnectionSetup), remaining(deadline));
  auto open = [&] {
    return Connection::open(node.host, static_cast<std::uint16_t>(node.port), {std::max<std::int64_t>(1, patience.value)},
                            options_.client_id);
  };
  auto connection = open();
  if (!connection) {
    listener_.cannot_connect(node, java_address(node));
    return Failure{ErrorCode::NETWORK_EXCEPTION, connection.error().message()};
  }
  auto versions = ask_versions(*connection);
  if (!versions) {
    return Failure{versions.error().code == Errc::unsupported ? ErrorCode::UNSUPPORTED_VERSION : ErrorCode::NETWORK_EXCEPTION,
                   versions.error().message()};
  }
  if (auto limited = connection->set_timeout(options_.request_timeout); !limited) {
    return Failure{ErrorCode::NETWORK_EXCEPTION, limited.error().message()};
  }
  auto& link = links_[node.id];
  link = std::make_unique<Link>(node, *std::move(connection), *std::move(versions));
  return link.get();
}

Outcome<Link*> Cluster::any(std::string_view call, MonotonicNs deadline) {
  Link* link = ATTEMPT(any_link(call, deadline));
  if (options_.endpoints == Endpoints::controllers && nodes_.empty()) ATTEMPT(learn_controllers(*link));
  return link;
}

Outcome<Link*> Cluster::any_link(std::string_view call, MonotonicNs deadline) {
  DurationMs wait = options_.reconnect_backoff;
  for (;;) {
    for (const auto& [id, node] : nodes_) {
      if (Link* link = link_to(id)) return link;
    }
    for (const Node& node : bootstrap_) {
      if (Link* link = link_to(node.id)) return link;
    }
    std::vector<Node> candidates;
    for (const auto& [id, node] : nodes_) candidates.push_back(node);
    if (candidates.empty()) candidates = bootstrap_;
    for (const Node& node : candidates) {
      auto link = connect(node, deadline);
      if (link || link.failure().code == ErrorCode::UNSUPPORTED_VERSION) return link;
      if (remaining(deadline).value == 0) return no_node(call);
    }
    // All brokers known from metadata are gone: the addresses given may lead to others.
    nodes_.clear();
    if (!options_.pause(smaller(wait, remaining(deadline)))) return no_node(call);
    if (remaining(deadline).value == 0) return no_node(call);
    wait = smaller({wait.value * 2}, options_.reconnect_backoff_max);
  }
}

void Cluster::learn(const protocol::MetadataResponse& metadata) {
  nodes_.clear();
  for (const auto& broker : metadata.brokers) nodes_[broker.node_id] = {broker.node_id, broker.host, broker.port, broker.rack};
  controller_id_ = metadata.controller_id;
  cluster_id_ = metadata.cluster_id.value_or("");
}

// Failures: MISMATCHED_ENDPOINT_TYPE, told to the listener, when a broker answers.
Outcome<Nothing> Cluster::learn_controllers(Link& link) {
  protocol::DescribeClusterRequest request;
  request.endpoint_type = static_cast<std::int8_t>(Endpoints::controllers);
  auto answer = link.ask<protocol::DescribeClusterResponse>(request);
  if (!answer) return answer.failure();
  if ((*answer)->error_code != ErrorCode::NONE) {
    Failure failure = failure_of((*answer)->error_code, (*answer)->error_message);
    listener_.wrong_endpoint(failure);
    return failure;
  }
  nodes_.clear();
  for (const auto& node : (*answer)->brokers) nodes_[node.broker_id] = {node.broker_id, node.host, node.port, node.rack};
  controller_id_ = (*answer)->controller_id;
  cluster_id_ = (*answer)->cluster_id;
  return Nothing{};
}

Outcome<protocol::MetadataResponse> Cluster::metadata(const std::optional<std::vector<std::string>>& topics,
                                                      std::string_view call, MonotonicNs deadline) {
  if (options_.endpoints == Endpoints::controllers) {
    if (!topics || !topics->empty()) {
      return Failure{ErrorCode::UNSUPPORTED_ENDPOINT_TYPE,
                     "This Admin API is not yet supported when communicating directly with the controller quorum."};
    }
    Link* link = ATTEMPT(any(call, deadline));
    ATTEMPT(learn_controllers(*link));
    return protocol::MetadataResponse{};
  }
  for (int attempt = 0;; ++attempt) {
    Link* link = ATTEMPT(any(call, deadline));
    protocol::MetadataRequest request;
    request.allow_auto_topic_creation = false;
    if (topics) {
      request.topics.emplace();
      for (const std::string& topic : *topics) request.topics->push_back({{}, topic});
    }
    auto answer = link->ask<protocol::MetadataResponse>(request);
    if (answer) {
      learn(**answer);
      return std::move(answer->message);
    }
    if (!protocol::is_retriable(answer.failure().code)) return answer.failure();
    ATTEMPT(back_off(attempt, call, deadline));
  }
}

Outcome<Link*> Cluster::broker(std::int32_t id, std::string_view call, MonotonicNs deadline) {
  DurationMs wait = options_.reconnect_backoff;
  for (;;) {
    if (Link* link = link_to(id)) return link;
    auto node = nodes_.find(id);
    if (node != nodes_.end()) {
      auto link = connect(Node(node->second), deadline);
      if (link || link.failure().code == ErrorCode::UNSUPPORTED_VERSION) return link;
    }
    if (remaining(deadline).value == 0 || !options_.pause(smaller(wait, remaining(deadline)))) return no_node(call);
    wait = smaller({wait.value * 2}, options_.reconnect_backoff_max);
    if (remaining(deadline).value == 0) return no_node(call);
    auto fresh = metadata(std::vector<std::string>(), call, deadline);
    if (!fresh) return fresh.failure();
  }
}

Outcome<Link*> Cluster::controller(std::string_view call, MonotonicNs deadline) {
  if (controller_id_ < 0 || !nodes_.contains(controller_id_)) {
    auto fresh = metadata(std::vector<std::string>(), call, deadline);
    if (!fresh) return fresh.failure();
  }
  if (!nodes_.contains(controller_id_)) return any(call, deadline);
  return broker(controller_id_, call, deadline);
}

Outcome<Link*> Cluster::coordinator(CoordinatorType type, const std::string& key, std::string_view call, MonotonicNs deadline) {
  for (int attempt = 0;; ++attempt) {
    if (auto known = coordinators_.find({type, key}); known != coordinators_.end()) {
      return broker(known->second, call, deadline);
    }
    Link* link = ATTEMPT(any(call, deadline));
    protocol::FindCoordinatorRequest request;
    request.key = key;
    request.key_type = static_cast<std::int8_t>(type);
    request.coordinator_keys = {key};
    auto answer = link->ask<protocol::FindCoordinatorResponse>(request);
    Failure failure;
    if (!answer) {
      failure = answer.failure();
    } else {
      ErrorCode code = (*answer)->error_code;
      std::optional<std::string> message = (*answer)->error_message;
      Node node{(*answer)->node_id, (*answer)->host, (*answer)->port, {}};
      if (!(*answer)->coordinators.empty()) {
        const auto& found = (*answer)->coordinators.front();
        code = found.error_code;
        message = found.error_message;
        node = {found.node_id, found.host, found.port, {}};
      }
      if (code == ErrorCode::NONE) {
        coordinators_[{type, key}] = node.id;
        nodes_.try_emplace(node.id, node);
        return broker(node.id, call, deadline);
      }
      failure = failure_of(code, message);
    }
    if (!protocol::is_retriable(failure.code)) return failure;
    ATTEMPT(back_off(attempt, call, deadline));
  }
}

Outcome<Nothing> Cluster::back_off(int attempt, std::string_view call, MonotonicNs deadline) {
  constexpr int kMostDoublings = 10;
  constexpr DurationMs kLongest{1'000};  // retry.backoff.max.ms
  DurationMs wait = smaller({options_.retry_backoff.value << std::min(attempt, kMostDoublings)}, kLongest);
  if (remaining(deadline).value == 0 || !options_.pause(smaller(wait, remaining(deadline))) || remaining(deadline).value == 0) {
    const TimestampMs now = clock_.now();
    const std::int64_t over_since = (clock_.monotonic() - deadline).value / to_ns({1}).value;
    return Failure{ErrorCode::REQUEST_TIMED_OUT,
                   fmt::format("Call(callName={}, deadlineMs={}, tries={}, nextAllowedTryMs={}) timed out at {} after {} attempt(s)", call,
                               now.value - over_since, attempt + 1, now.value + wait.value, now.value, attempt + 1)};
  }
  return Nothing{};
}

}  // namespace cordwood::client
