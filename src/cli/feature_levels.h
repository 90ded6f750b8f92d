// cli/feature_levels.h — Kafka's features by release: what kafka-features knows without asking anybody.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cordwood::cli {

struct Release {
  std::string_view name;  // "4.0-IV3"
  std::int16_t metadata_version;
  std::int16_t kraft;
  std::int16_t transaction;
  std::int16_t group;
  std::int16_t eligible_leaders;
  std::int16_t share;
  std::int16_t streams;
};

// Ascending.
std::span<const Release> releases();
// By name, or the newest of "4.0". The newest that is done, 4.4-IV2, is in no need of a name. Null when there is none.
const Release* find_release(std::string_view name);
const Release& newest_release();
// The release that brought this level of metadata.version.
const Release* release_of_level(std::int64_t metadata_version);
// "Unknown metadata.version 'x'. Supported metadata.version are: …"
std::string unknown_release_text(std::string_view name);

// The features beside metadata.version, with their levels in a release, in Kafka's order.
struct FeatureLevel {
  std::string_view feature;
  std::int16_t level;
};
std::vector<FeatureLevel> feature_levels(const Release& release);
// The highest level of a feature; nothing for one that nobody knows.
std::optional<std::int16_t> highest_level(std::string_view feature);

}  // namespace cordwood::cli
