#include "cli/api_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace cordwood::cli {
namespace {

struct ApiName {
  std::string_view name;
  std::int16_t key;
  std::int16_t min_version;
  std::int16_t max_version;
};

constexpr ApiName kApiNames[] = {
#define CORDWOOD_API(name, key, min_version, max_version) {#name, key, min_version, max_version},
#include "cli/api_names.inc"
#undef CORDWOOD_API
};

// Those of controllers, which are named when a node tells them.
constexpr ApiName kControllerApiNames[] = {
    {"Vote", 52, 0, 2},          {"BeginQuorumEpoch", 53, 0, 1},   {"EndQuorumEpoch", 54, 0, 1},  {"AlterPartition", 56, 2, 3},
    {"Envelope", 58, 0, 0},      {"FetchSnapshot", 59, 0, 1},      {"BrokerRegistration", 62, 0, 4}, {"BrokerHeartbeat", 63, 0, 2},
    {"AllocateProducerIds", 67, 0, 0}, {"ControllerRegistration", 70, 0, 0}, {"AssignReplicasToDirs", 73, 0, 0}, {"UpdateRaftVoter", 82, 0, 0},
};

const ApiName* api_of(std::int16_t key) {
  for (const ApiName& api : kApiNames) {
    if (api.key == key) return &api;
  }
  for (const ApiName& api : kControllerApiNames) {
    if (api.key == key) return &api;
  }
  return nullptr;
}

std::string range_text(std::int16_t min, std::int16_t max) {
  return min == max ? fmt::format("{}", min) : fmt::format("{} to {}", min, max);
}

std::string usable_text(const ApiName& api, std::int16_t min, std::int16_t max) {
  if (max < api.min_version) return "[unusable: node too old]";
  if (min > api.max_version) return "[unusable: node too new]";
  return fmt::format("[usable: {}]", std::min(max, api.max_version));
}

}  // namespace

std::string node_text(const client::Node& node) {
  return fmt::format("{}:{} (id: {} rack: {} isFenced: false)", node.host, node.port, node.id, node.rack.value_or("null"));
}

std::string api_versions_text(const client::Link& link) {
  std::map<std::int16_t, std::string> lines;
  for (const ApiName& api : kApiNames) lines[api.key] = fmt::format("{}({}): UNSUPPORTED", api.name, api.key);
  for (const auto& told : link.versions()) {
    const ApiName* api = api_of(told.api_key);
    std::string range = range_text(told.min_version, told.max_version);
    lines[told.api_key] = api == nullptr
                              ? fmt::format("UNKNOWN({}): {}", told.api_key, range)
                              : fmt::format("{}({}): {} {}", api->name, api->key, range,
                                            usable_text(*api, told.min_version, told.max_version));
  }
  std::string text = node_text(link.node()) + " -> (\n";
  std::size_t left = lines.size();
  for (const auto& [key, line] : lines) text += fmt::format("\t{}{}\n", line, --left == 0 ? "" : ",");
  return text + ")\n";
}

boost::json::object api_versions_json(const client::Link& link) {
  boost::json::array keys;
  for (const auto& told : link.versions()) {
    auto api = std::ranges::find(kApiNames, told.api_key, &ApiName::key);
    boost::json::object key{{"name", nullptr}, {"apiKey", told.api_key}, {"minVersion", told.min_version}, {"maxVersion", told.max_version}, {"usableVersion", nullptr}};
    if (api != std::end(kApiNames)) {
      key["name"] = api->name;
      if (told.max_version >= api->min_version && told.min_version <= api->max_version) {
        key["usableVersion"] = std::min(told.max_version, api->max_version);
      }
    }
    keys.push_back(std::move(key));
  }
  const client::Node& node = link.node();
  boost::json::object object{{"nodeId", node.id}, {"host", node.host}, {"port", node.port}, {"rack", nullptr}, {"apiKeys", std::move(keys)}};
  if (node.rack) object["rack"] = *node.rack;
  return object;
}

}  // namespace cordwood::cli
