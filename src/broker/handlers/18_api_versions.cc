// ApiVersions (key 18), versions 0-5: v1 throttle time, v3 flexible, software name and features, v5 cluster and node check.
//
// The first request of practically every client. A version that we do not know is answered in the layout of v0, so that
// its sender can read which ones we do know. The answer's header is never flexible.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "protocol/messages/api_versions.h"

namespace cordwood::broker {
namespace {

using protocol::ApiVersionsRequest;
using protocol::ApiVersionsResponse;
using protocol::ErrorCode;

constexpr std::int16_t kSoftwareNameFrom = 3;
// Older readers take a feature whose lowest level is 0 for a broken one.
constexpr std::int16_t kZeroMinimumFrom = 4;
constexpr std::int16_t kClusterCheckFrom = 5;
constexpr std::int32_t kNoNode = -1;

// Letters and digits, with '-' and '.' between them.
bool is_software_text(std::string_view text) {
  auto is_alphanumeric = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; });
}

ErrorCode check(Broker& broker, const ApiVersionsRequest& request, std::int16_t version) {
  if (version >= kSoftwareNameFrom &&
      (!is_software_text(request.client_software_name) || !is_software_text(request.client_software_version))) {
    return ErrorCode::INVALID_REQUEST;
  }
  if (version >= kClusterCheckFrom) {
    if (request.cluster_id.has_value() != (request.node_id != kNoNode)) return ErrorCode::INVALID_REQUEST;
    if (request.cluster_id && (*request.cluster_id != broker.controller().cluster_id() ||
                               request.node_id != broker.config().node_id.value)) {
      return ErrorCode::REBOOTSTRAP_REQUIRED;
    }
  }
  return ErrorCode::NONE;
}

ApiVersionsResponse::ApiKey entry(const ApiEntry& api) {
  ApiVersionsResponse::ApiKey key;
  key.api_key = api.key;
  key.min_version = api.min_advertised;
  key.max_version = api.max_version;
  return key;
}

void add_features(Broker& broker, std::int16_t version, ApiVersionsResponse& response) {
  auto image = broker.image();
  // What this broker registered with is what it supports.
  auto us = image->brokers.find(broker.config().node_id);
  if (us != image->brokers.end()) {
    for (const auto& [name, range] : us->second.features) {
      if (version < kZeroMinimumFrom && range.min == 0) continue;
      auto& feature = response.supported_features.emplace_back();
      feature.name = name;
      feature.min_version = range.min;
      feature.max_version = range.max;
    }
  }
  auto finalize = [&](const std::string& name, std::int16_t level) {
    if (level == 0) return;
    auto& feature = response.finalized_features.emplace_back();
    feature.name = name;
    feature.max_version_level = level;
    feature.min_version_level = level;
  };
  for (const auto& [name, level] : image->features) finalize(name, level);
  // Kept in a control record rather than among the features.
  if (!image->features.contains("kraft.version")) finalize("kraft.version", image->kraft_version);
  response.finalized_features_epoch = image->next_offset.value - 1;
}

}  // namespace

void handle_api_versions(Broker& broker, Exchange exchange) {
  ApiVersionsResponse response;
  const ApiEntry* served = find_api(ApiVersionsRequest::kApiKey);
  if (exchange.version() < served->min_version || exchange.version() > served->max_version) {
    response.error_code = ErrorCode::UNSUPPORTED_VERSION;
    response.api_keys.push_back(entry(*served));
    return exchange.answer_as(response, 0);
  }
  ApiVersionsRequest request;
  if (!exchange.decode(request)) return;
  response.error_code = check(broker, request, exchange.version());
  if (response.error_code == ErrorCode::NONE) {
    for (const ApiEntry& api : api_table()) response.api_keys.push_back(entry(api));
    add_features(broker, exchange.version(), response);
  }
  exchange.answer(response);
}

}  // namespace cordwood::broker
