// client/cluster.h — a cluster as a client knows it: where it starts from, its brokers, a connection to each, who leads and who
// coordinates, and the patience with which all of this is asked for.
//
// Blocking and single-threaded: a tool asks one thing after another. Times, retries and what is told of them are those of
// Kafka's AdminClient (seen on Kafka 4.4.0): a broker that cannot be reached is tried again for `api_timeout`, about once a second.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/types.h"
#include "client/connection.h"
#include "client/failure.h"
#include "protocol/messages/api_versions.h"
#include "protocol/messages/metadata.h"

namespace cordwood::client {

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const HostPort&) const = default;
  std::string to_string() const;  // "host:port", brackets around IPv6
};

// "host:port,host:port" as bootstrap.servers takes it. Errors: invalid with Kafka's text ("Invalid url in
// bootstrap.servers: localhost").
Result<std::vector<HostPort>> parse_bootstrap_servers(std::string_view text);

struct Node {
  std::int32_t id = -1;  // bootstrap addresses count down from -1
  std::string host;
  std::int32_t port = 0;
  std::optional<std::string> rack;
  bool operator==(const Node&) const = default;
};

// What a client tells its user while it goes on: called in the thread of the call.
class ClusterListener {
 public:
  virtual ~ClusterListener() = default;
  // `address` as Java prints it: "localhost/127.0.0.1:9092".
  virtual void cannot_connect(const Node& node, const std::string& address) = 0;
  virtual void unresolvable(const HostPort& server) = 0;
  // Who answered is none of those that were asked for: a broker where controllers were given.
  virtual void wrong_endpoint(const Failure&) {}
};

// Whose addresses the bootstrap addresses are, and whom calls go to.
enum class Endpoints : std::int8_t { brokers = 1, controllers = 2 };

struct ClusterOptions {
  std::vector<HostPort> bootstrap;
  Endpoints endpoints = Endpoints::brokers;
  std::string client_id = "adminclient-1";
  DurationMs request_timeout{30'000};        // request.timeout.ms: one request
  DurationMs api_timeout{60'000};            // default.api.timeout.ms: one call with its retries
  DurationMs retry_backoff{100};             // retry.backoff.ms
  DurationMs reconnect_backoff{50};          // doubles up to reconnect_backoff_max
  DurationMs reconnect_backoff_max{1'000};
  // Waits, and answers whether to go on: false when the user wants the program to end.
  std::function<bool(DurationMs)> pause;
};

// A connection together with what that broker speaks.
class Link {
 public:
  Link(Node node, Connection connection, std::vector<protocol::ApiVersionsResponse::ApiKey> versions)
      : node_(std::move(node)), connection_(std::move(connection)), versions_(std::move(versions)) {}

  const Node& node() const { return node_; }
  Connection& connection() { return connection_; }
  const std::vector<protocol::ApiVersionsResponse::ApiKey>& versions() const { return versions_; }

  // The highest version that both ends speak; nothing when there is none.
  template <class Request>
  std::optional<std::int16_t> version_for() const {
    return common_version(Request::kApiKey, Request::kMinVersion, Request::kMaxVersion);
  }
  std::optional<std::int16_t> common_version(std::int16_t api_key, std::int16_t min, std::int16_t max) const;

  // Asks in the highest common version, or in one at most `max_version`.
  // Failures: UNSUPPORTED_VERSION, REQUEST_TIMED_OUT, NETWORK_EXCEPTION; then the link is broken() but for the first.
  template <class Response, class Request>
  Outcome<Answer<Response>> ask(const Request& request, std::int16_t max_version = Request::kMaxVersion) {
    auto version = common_version(Request::kApiKey, Request::kMinVersion, max_version);
    if (!version) return no_common_version(Request::kName);
    auto answer = connection_.call<Response>(request, *version);
    if (!answer) return broken_by(answer.error(), Request::kName);
    return *std::move(answer);
  }
  bool broken() const { return broken_; }
  // For whoever used connection() and found it useless: the cluster makes another one.
  void give_up() { broken_ = true; }

 private:
  Failure no_common_version(const char* request) const;
  Failure broken_by(const Error& error, const char* request);

  Node node_;
  Connection connection_;
  std::vector<protocol::ApiVersionsResponse::ApiKey> versions_;
  bool broken_ = false;
};

enum class CoordinatorType : std::int8_t { group = 0, transaction = 1, share = 2 };

// One thread. `clock` and `listener` must outlive it.
class Cluster {
 public:
  // Does no I/O. `options.bootstrap` is not empty.
  Cluster(ClusterOptions options, const Clock& clock, ClusterListener& listener);

  // When a call that begins now must be over.
  MonotonicNs deadline() const;
  const ClusterOptions& options() const { return options_; }

  // Whether one bootstrap server's name has an address; each that has none is told to the listener.
  bool resolvable();

  // Any broker (or controller: options) that can be reached; connected ones first. `call` names what it is for in the failure:
  // "Timed out waiting for a node assignment. Call: listTopics".
  Outcome<Link*> any(std::string_view call, MonotonicNs deadline);
  // The broker of this id, as the newest metadata tell it. `call` as above.
  Outcome<Link*> broker(std::int32_t id, std::string_view call, MonotonicNs deadline);
  // The broker that takes changes: the controller of the metadata, where KRaft names any broker that is alive.
  Outcome<Link*> controller(std::string_view call, MonotonicNs deadline);
  // Asks again while the coordinator is not there. Failures: what FindCoordinator answers for good.
  Outcome<Link*> coordinator(CoordinatorType type, const std::string& key, std::string_view call, MonotonicNs deadline);
  void forget_coordinator(CoordinatorType type, const std::string& key) { coordinators_.erase({type, key}); }

  // Metadata of these topics (nothing: of all; empty: of none, just the brokers), never creating one. Brokers and
  // controller are remembered. Controllers tell of no topics: UNSUPPORTED_ENDPOINT_TYPE; their own addresses are remembered,
  // and the answer is empty.
  Outcome<protocol::MetadataResponse> metadata(const std::optional<std::vector<std::string>>& topics, std::string_view call,
                                               MonotonicNs deadline);
  // The brokers of the newest metadata, by id.
  const std::map<std::int32_t, Node>& nodes() const { return nodes_; }
  const std::string& cluster_id() const { return cluster_id_; }
  std::int32_t controller_id() const { return controller_id_; }

  // Waits before a call is tried again. Failure: REQUEST_TIMED_OUT when `deadline` is over or the user wants to end.
  Outcome<Nothing> back_off(int attempt, std::string_view call, MonotonicNs deadline);

 private:
  Outcome<Link*> connect(const Node& node, MonotonicNs deadline);
  Link* link_to(std::int32_t id);
  DurationMs remaining(MonotonicNs deadline) const;
  Failure no_node(std::string_view call) const;
  void learn(const protocol::MetadataResponse& metadata);
  Outcome<Link*> any_link(std::string_view call, MonotonicNs deadline);
  Outcome<Nothing> learn_controllers(Link& link);

  ClusterOptions options_;
  const Clock& clock_;
  ClusterListener& listener_;
  std::vector<Node> bootstrap_;
  std::map<std::int32_t, Node> nodes_;
  std::map<std::int32_t, std::unique_ptr<Link>> links_;
  std::map<std::pair<CoordinatorType, std::string>, std::int32_t> coordinators_;
  std::int32_t controller_id_ = -1;
  std::string cluster_id_;
};

}  // namespace cordwood::client
