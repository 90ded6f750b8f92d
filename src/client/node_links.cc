#include "client/node_links.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/messages/api_versions.h"

namespace cordwood::client {
namespace {

using protocol::ErrorCode;

// ApiVersions as every broker since 2.4 answers it.
constexpr std::int16_t kApiVersionsVersion = 3;

}  // namespace

Outcome<Link*> NodeLinks::to(const Node& node) {
  if (Link* link = find(node.id)) return link;
  Refused& refused = refused_[node.id];
  Failure failure{ErrorCode::NETWORK_EXCEPTION, fmt::format("cannot reach {}:{}", node.host, node.port)};
  if (clock_.monotonic() < refused.not_before) return failure;
  if (node.port <= 0 || node.port > 65535) return failure;
  auto connection =
      Connection::open(node.host, static_cast<std::uint16_t>(node.port), options_.request_timeout, options_.client_id);
  protocol::ApiVersionsRequest request;
  request.client_software_name = "cordwood";
  request.client_software_version = "1";
  if (connection) {
    auto answer = connection->call<protocol::ApiVersionsResponse>(request, kApiVersionsVersion);
    if (answer && (*answer)->error_code == ErrorCode::NONE) {
      refused_.erase(node.id);
      auto link = std::make_unique<Link>(node, *std::move(connection), (*answer)->api_keys);
      return (links_[node.id] = std::move(link)).get();
    }
  }
  ++refused.times;
  DurationMs pause{options_.reconnect_backoff.value << std::min(refused.times - 1, 10)};
  refused.not_before = clock_.monotonic() + to_ns(std::min(pause, options_.reconnect_backoff_max));
  listener_.cannot_connect(node, fmt::format("{}/{}:{}", node.host, node.host, node.port));
  return failure;
}

Link* NodeLinks::find(std::int32_t id) {
  auto found = links_.find(id);
  return found == links_.end() ? nullptr : found->second.get();
}

void NodeLinks::drop(std::int32_t id) { links_.erase(id); }

std::vector<std::int32_t> NodeLinks::ids() const {
  std::vector<std::int32_t> ids;
  for (const auto& [id, link] : links_) ids.push_back(id);
  return ids;
}

std::vector<bool> wait_readable(const std::vector<int>& descriptors, DurationMs timeout) {
  constexpr std::int64_t kLongest = 60'000;
  std::vector<pollfd> polled;
  for (int descriptor : descriptors) polled.push_back({descriptor, POLLIN, 0});
  int ready = ::poll(polled.data(), polled.size(), static_cast<int>(std::clamp<std::int64_t>(timeout.value, 0, kLongest)));
  std::vector<bool> readable(descriptors.size());
  for (std::size_t i = 0; ready > 0 && i < polled.size(); ++i) readable[i] = polled[i].revents != 0;
  return readable;
}

}  // namespace cordwood::client
