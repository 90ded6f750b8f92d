#include "broker/metadata/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace cordwood::broker::metadata {
namespace {

constexpr std::array kFeatures = {
    SupportedFeature{kElrVersion, 0, 1},   SupportedFeature{kGroupVersion, 0, 1},   SupportedFeature{kKRaftVersion, 0, 1},
    SupportedFeature{kMetadataVersion, 7, 33}, SupportedFeature{kShareVersion, 0, 2}, SupportedFeature{kStreamsVersion, 0, 1},
    SupportedFeature{kTransactionVersion, 0, 2},
};
static_assert(std::ranges::is_sorted(kFeatures, {}, &SupportedFeature::name));

constexpr std::int16_t kLowestNamed = 7;
constexpr std::array<std::string_view, 27> kVersionNames = {
    "3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2", "3.7-IV0",
    "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV1", "4.0-IV2",
    "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0", "4.4-IV0", "4.4-IV1", "4.4-IV2"};
static_assert(kVersionNames[kDefaultMetadataVersion - kLowestNamed] == "4.0-IV3");

}  // namespace

std::span<const SupportedFeature> supported_features() { return kFeatures; }

std::string metadata_version_name(std::int16_t level) {
  int index = level - kLowestNamed;
  if (index < 0 || index >= static_cast<int>(kVersionNames.size())) return fmt::format("level {}", level);
  return std::string(kVersionNames[static_cast<std::size_t>(index)]);
}

Result<void> check_finalized_features(const std::map<std::string, std::int16_t>& features, std::string_view where) {
  std::vector<std::string> faults;
  for (const auto& [name, level] : features) {
    auto known = std::ranges::find(kFeatures, std::string_view(name), &SupportedFeature::name);
    if (known == kFeatures.end()) {
      if (level > 0) faults.push_back(fmt::format("{} at level {}, which is not known", name, level));
    } else if (level < known->min || level > known->max) {
      faults.push_back(fmt::format("{} at level {}, where levels {} to {} are supported", name, level, known->min, known->max));
    }
  }
  if (!faults.empty()) {
    return Error{Errc::unsupported, fmt::format("{} needs {}", where, fmt::join(faults, " and "))};
  }
  if (!features.contains(std::string(kMetadataVersion))) {
    return Error{Errc::corrupt, fmt::format("{}: the metadata names no metadata.version", where)};
  }
  return {};
}

}  // namespace cordwood::broker::metadata
