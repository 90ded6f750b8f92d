#include "cli/feature_levels.h"

#include <fmt/format.h>

#include <algorithm>

namespace cordwood::cli {
namespace {

constexpr Release kReleases[] = {
    {"3.3-IV3", 7, 0, 0, 0, 0, 0, 0},
    {"3.4-IV0", 8, 0, 0, 0, 0, 0, 0},
    {"3.5-IV0", 9, 0, 0, 0, 0, 0, 0},
    {"3.5-IV1", 10, 0, 0, 0, 0, 0, 0},
    {"3.5-IV2", 11, 0, 0, 0, 0, 0, 0},
    {"3.6-IV0", 12, 0, 0, 0, 0, 0, 0},
    {"3.6-IV1", 13, 0, 0, 0, 0, 0, 0},
    {"3.6-IV2", 14, 0, 0, 0, 0, 0, 0},
    {"3.7-IV0", 15, 0, 0, 0, 0, 0, 0},
    {"3.7-IV1", 16, 0, 0, 0, 0, 0, 0},
    {"3.7-IV2", 17, 0, 0, 0, 0, 0, 0},
    {"3.7-IV3", 18, 0, 0, 0, 0, 0, 0},
    {"3.7-IV4", 19, 0, 0, 0, 0, 0, 0},
    {"3.8-IV0", 20, 0, 0, 0, 0, 0, 0},
    {"3.9-IV0", 21, 1, 0, 0, 0, 0, 0},
    {"4.0-IV0", 22, 1, 0, 1, 0, 0, 0},
    {"4.0-IV1", 23, 1, 0, 1, 0, 0, 0},
    {"4.0-IV2", 24, 1, 2, 1, 0, 0, 0},
    {"4.0-IV3", 25, 1, 2, 1, 0, 0, 0},
    {"4.1-IV0", 26, 1, 2, 1, 1, 0, 0},
    {"4.1-IV1", 27, 1, 2, 1, 1, 0, 0},
    {"4.2-IV0", 28, 1, 2, 1, 1, 1, 0},
    {"4.2-IV1", 29, 1, 2, 1, 1, 1, 1},
    {"4.3-IV0", 30, 1, 2, 1, 1, 1, 1},
    {"4.4-IV0", 31, 1, 2, 1, 1, 2, 1},
    {"4.4-IV1", 32, 1, 2, 1, 1, 2, 1},
    {"4.4-IV2", 33, 1, 2, 1, 1, 2, 1},
    {"4.5-IV0", 34, 1, 2, 1, 1, 2, 1},
};
// What comes behind it is not a release yet.
constexpr std::string_view kNewest = "4.4-IV2";

}  // namespace

std::span<const Release> releases() { return kReleases; }

const Release* find_release(std::string_view name) {
  auto found = std::ranges::find(kReleases, name, &Release::name);
  if (found != std::end(kReleases)) return found;
  const Release* newest = nullptr;
  for (const Release& release : kReleases) {
    if (release.name.substr(0, release.name.find('-')) == name && release.metadata_version <= newest_release().metadata_version) {
      newest = &release;
    }
  }
  return newest;
}

const Release& newest_release() { return *std::ranges::find(kReleases, kNewest, &Release::name); }

const Release* release_of_level(std::int64_t metadata_version) {
  auto found = std::ranges::find(kReleases, metadata_version, &Release::metadata_version);
  return found == std::end(kReleases) ? nullptr : found;
}

std::string unknown_release_text(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Release& release : kReleases) names.push_back(release.name);
  return fmt::format("Unknown metadata.version '{}'. Supported metadata.version are: {}", name, fmt::join(names, ", "));
}

std::vector<FeatureLevel> feature_levels(const Release& release) {
  return {{"kraft.version", release.kraft},
          {"transaction.version", release.transaction},
          {"group.version", release.group},
          {"eligible.leader.replicas.version", release.eligible_leaders},
          {"share.version", release.share},
          {"streams.version", release.streams}};
}

std::optional<std::int16_t> highest_level(std::string_view feature) {
  if (feature == "metadata.version") return kReleases[std::size(kReleases) - 1].metadata_version;
  auto levels = feature_levels(newest_release());
  auto found = std::ranges::find(levels, feature, &FeatureLevel::feature);
  if (found == levels.end()) return {};
  return found->level;
}

}  // namespace cordwood::cli
