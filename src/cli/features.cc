// kafka-features: the features of a cluster and their levels: shown, raised, lowered.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include <boost/json.hpp>

#include "cli/argparse.h"
#include "cli/command.h"
#include "cli/feature_levels.h"
#include "cli/kafka_tool.h"
#include "client/call.h"
#include "protocol/messages/api_versions.h"
#include "protocol/messages/update_features.h"

namespace cordwood::cli {
namespace {

constexpr OptionSpec kFeatureToolOptions[] = {
    {.name = "bootstrap-server", .argument = "BOOTSTRAP_SERVER", .help = "brokers to start from"},
    {.name = "bootstrap-controller", .argument = "BOOTSTRAP_CONTROLLER", .help = "controllers to start from"},
    {.name = "command-config", .argument = "COMMAND_CONFIG", .help = "properties of the client"},
};
constexpr OptionSpec kDescribeFeatureOptions[] = {{.name = "node-id", .argument = "NODE_ID", .help = "the broker to ask"},
                                                {.name = "json", .help = "one JSON array instead of lines (Cordwood's own)"}};
constexpr OptionSpec kUpgradeOptions[] = {
    {.name = "metadata", .argument = "METADATA", .help = "the old way to name a level of metadata.version"},
    {.name = "release-version", .argument = "RELEASE_VERSION", .help = "all features as in this release"},
    {.name = "feature", .argument = "FEATURE", .help = "feature=level", .repeatable = true},
    {.name = "dry-run", .help = "only check"},
};
constexpr OptionSpec kDowngradeOptions[] = {
    {.name = "metadata", .argument = "METADATA", .help = "the old way to name a level of metadata.version"},
    {.name = "release-version", .argument = "RELEASE_VERSION", .help = "all features as in this release"},
    {.name = "feature", .argument = "FEATURE", .help = "feature=level", .repeatable = true},
    {.name = "unsafe", .help = "even where metadata are lost"},
    {.name = "dry-run", .help = "only check"},
};
constexpr OptionSpec kDisableOptions[] = {
    {.name = "feature", .argument = "FEATURE", .help = "a feature to set to level 0", .repeatable = true},
    {.name = "unsafe", .help = "even where metadata are lost"},
    {.name = "dry-run", .help = "only check"},
};
constexpr OptionSpec kMappingOptions[] = {
    {.name = "release-version", .argument = "RELEASE_VERSION", .help = "a release; the newest without it"},
    {.name = "json", .help = "one JSON object instead of lines (Cordwood's own)"}};
constexpr OptionSpec kDependencyOptions[] = {
    {.name = "feature", .argument = "FEATURE", .help = "feature=level", .repeatable = true, .required = true},
    {.name = "json", .help = "one JSON array instead of lines (Cordwood's own)"}};

constexpr Grammar kDescribeFeatureGrammar{.habit = Habit::argparse4j, .options = kDescribeFeatureOptions};
constexpr Grammar kUpgradeGrammar{.habit = Habit::argparse4j, .options = kUpgradeOptions};
constexpr Grammar kDowngradeGrammar{.habit = Habit::argparse4j, .options = kDowngradeOptions};
constexpr Grammar kDisableGrammar{.habit = Habit::argparse4j, .options = kDisableOptions};
constexpr Grammar kMappingGrammar{.habit = Habit::argparse4j, .options = kMappingOptions};
constexpr Grammar kDependencyGrammar{.habit = Habit::argparse4j, .options = kDependencyOptions};
constexpr Grammar::Sub kFeatureCommands[] = {
    {"describe", "print features and their levels", &kDescribeFeatureGrammar},
    {"upgrade", "raise levels", &kUpgradeGrammar},
    {"downgrade", "lower levels", &kDowngradeGrammar},
    {"disable", "set levels to 0", &kDisableGrammar},
    {"version-mapping", "print the levels of a release", &kMappingGrammar},
    {"feature-dependencies", "print what levels of features need", &kDependencyGrammar},
};
constexpr Grammar kFeaturesGrammar{.habit = Habit::argparse4j, .options = kFeatureToolOptions, .subcommands = kFeatureCommands};

constexpr std::string_view kMetadataVersion = "metadata.version";
using Done = std::monostate;

std::string level_text(std::string_view feature, std::int16_t level) {
  if (feature != kMetadataVersion) return fmt::format("{}", level);
  const Release* release = release_of_level(level);
  return release == nullptr ? fmt::format("UNKNOWN [{}]", level) : std::string(release->name);
}

Tried<Done> describe_features(const Options& options, client::Cluster& cluster, Session& session) {
  protocol::ApiVersionsRequest request;
  request.client_software_name = "cordwood";
  request.client_software_version = session.version;
  auto node = NEED(tried(options.int_value("node-id")));
  auto answer = NEED(tried_get(node ? client::ask_broker<protocol::ApiVersionsResponse>(cluster, *node, "describeFeatures", request)
                                    : client::ask_any<protocol::ApiVersionsResponse>(cluster, "describeFeatures", request)));
  boost::json::array array;
  std::map<std::string, const protocol::ApiVersionsResponse::SupportedFeature*> sorted;
  for (const auto& feature : answer->supported_features) sorted[feature.name] = &feature;
  for (const auto& [name, feature] : sorted) {
    std::int16_t level = 0;
    for (const auto& finalized : answer->finalized_features) {
      if (finalized.name == name) level = finalized.max_version_level;
    }
    if (options.has("json")) {
      array.push_back({{"name", name}, {"minVersion", feature->min_version}, {"maxVersion", feature->max_version}, {"finalizedVersionLevel", level},
                       {"finalizedFeaturesEpoch", answer->finalized_features_epoch}});
      continue;
    }
    std::string epoch = answer->finalized_features_epoch >= 0 ? fmt::format("{}", answer->finalized_features_epoch) : "-";
    session.out.print("Feature: {:<42}SupportedMinVersion: {:<17}SupportedMaxVersion: {:<17}FinalizedVersionLevel: {:<17}Epoch: {}\n", name,
                      level_text(name, feature->min_version), level_text(name, feature->max_version), level_text(name, level), epoch);
  }
  if (options.has("json")) session.out.print("{}\n", boost::json::serialize(array));
  return Done{};
}

Tried<std::pair<std::string, std::int16_t>> parse_feature(std::string_view text) {
  auto equals = text.find('=');
  if (equals == std::string_view::npos) {
    return std::unexpected(terse_exception(fmt::format("Can't parse feature=level string {}: equals sign not found.", text)));
  }
  std::string_view number = java_trimmed(text.substr(equals + 1));
  auto level = parse_java_int(number);
  if (!level || !std::in_range<std::int16_t>(*level)) {
    return std::unexpected(
        terse_exception(fmt::format("Can't parse feature=level string {}: unable to parse {} as a short.", text, number)));
  }
  return std::pair(std::string(java_trimmed(text.substr(0, equals))), static_cast<std::int16_t>(*level));
}

using Levels = std::map<std::string, std::int16_t>;

Tried<const Release*> named_release(std::string_view name) {
  const Release* release = find_release(name);
  if (release == nullptr) return std::unexpected(terse_exception(unknown_release_text(name)));
  return release;
}

// What upgrade and downgrade are to do.
Tried<Levels> wanted_levels(const Options& options, std::string_view action, Session& session) {
  Levels levels;
  auto release_name = NEED(tried(options.value("release-version")));
  auto metadata = NEED(tried(options.value("metadata")));
  auto features = options.values("feature");
  if (release_name) {
    if (metadata || !features.empty()) {
      return std::unexpected(terse_exception("Can not specify `release-version` with other feature flags."));
    }
    const Release* release = NEED(named_release(*release_name));
    levels[std::string(kMetadataVersion)] = release->metadata_version;
    for (const auto& [feature, level] : feature_levels(*release)) levels[std::string(feature)] = level;
    return levels;
  }
  if (metadata) {
    session.out.write(" `metadata` flag is deprecated and may be removed in a future release.\n");
    levels[std::string(kMetadataVersion)] = NEED(named_release(*metadata))->metadata_version;
  }
  for (const std::string& text : features) {
    auto [feature, level] = NEED(parse_feature(text));
    if (!levels.emplace(feature, level).second) {
      return std::unexpected(terse_exception(fmt::format("Feature {} was specified more than once.", feature)));
    }
  }
  if (levels.empty()) return std::unexpected(terse_exception(fmt::format("You must specify at least one feature to {}", action)));
  return levels;
}

Tried<Done> update_features(const Options& options, std::string_view action, client::Cluster& cluster, Session& session) {
  enum : std::int8_t { kUpgrade = 1, kSafeDowngrade = 2, kUnsafeDowngrade = 3 };
  Levels levels;
  if (action == "disable") {
    for (const std::string& feature : options.values("feature")) {
      if (!levels.emplace(feature, std::int16_t{0}).second) {
        return std::unexpected(terse_exception(fmt::format("Feature {} was specified more than once.", feature)));
      }
    }
    if (levels.empty()) return std::unexpected(terse_exception("You must specify at least one feature to disable"));
  } else {
    levels = NEED(wanted_levels(options, action, session));
  }
  bool dry_run = options.has("dry-run");
  protocol::UpdateFeaturesRequest request;
  request.validate_only = dry_run;
  for (const auto& [feature, level] : levels) {
    std::int8_t type = action == "upgrade" ? kUpgrade : options.has("unsafe") ? kUnsafeDowngrade : kSafeDowngrade;
    request.feature_updates.push_back({.feature = feature, .max_version_level = level, .upgrade_type = type});
  }
  auto answer = client::ask_controller<protocol::UpdateFeaturesResponse>(cluster, "updateFeatures", request);
  std::string_view done = action == "upgrade" ? "upgraded" : action == "downgrade" ? "downgraded" : "disabled";
  std::size_t failed = 0;
  for (const auto& [feature, level] : levels) {
    client::Failure failure{protocol::ErrorCode::NONE, ""};
    if (!answer) {
      failure = answer.failure();  // as if each had been answered with it
    } else if ((*answer)->error_code != protocol::ErrorCode::NONE) {
      failure = client::failure_of((*answer)->error_code, (*answer)->error_message);
    } else {
      for (const auto& result : (*answer)->results) {
        if (result.feature != feature || result.error_code == protocol::ErrorCode::NONE) continue;
        failure = client::failure_of(result.error_code, result.error_message);
      }
    }
    std::string to = action == "disable" ? "" : fmt::format(" to {}", level);
    if (failure.code == protocol::ErrorCode::NONE) {
      session.out.print("{} {} {}{}.\n", feature, dry_run ? "can be" : "was", done, to);
    } else {
      session.out.print("{} {} {}{}. {}\n", dry_run ? "Can not" : "Could not", action, feature, to, failure.message);
      ++failed;
    }
  }
  if (failed == 0) return Done{};
  return std::unexpected(terse_exception(fmt::format("{} out of {} operation(s) failed.", failed, levels.size())));
}

Tried<Done> print_mapping(const Options& options, Session& session) {
  auto name = NEED(tried(options.value("release-version")));
  const Release* release = name ? NEED(named_release(*name)) : &newest_release();
  if (options.has("json")) {
    boost::json::object object{{std::string(kMetadataVersion), release->metadata_version}};
    for (const auto& [feature, level] : feature_levels(*release)) object[std::string(feature)] = level;
    session.out.print("{}\n", boost::json::serialize(object));
    return Done{};
  }
  session.out.print("metadata.version={} ({})\n", release->metadata_version, name ? std::string_view(*name) : release->name);
  for (const auto& [feature, level] : feature_levels(*release)) session.out.print("{}={}\n", feature, level);
  return Done{};
}

// What a level needs of another feature.
struct Dependency {
  std::string_view feature;
  std::int16_t level;
};
std::optional<Dependency> dependency_of(std::string_view feature, std::int16_t level) {
  constexpr std::int16_t kLevelOf40Iv1 = 23;
  // The one that Kafka 4.4 has.
  if (feature == "eligible.leader.replicas.version" && level == 1) return Dependency{kMetadataVersion, kLevelOf40Iv1};
  return {};
}

Tried<Done> print_dependencies(const Options& options, Session& session) {
  boost::json::array array;
  for (const std::string& text : options.values("feature")) {
    auto [feature, level] = NEED(parse_feature(text));
    auto highest = highest_level(feature);
    if (!highest) return std::unexpected(terse_exception(fmt::format("Unknown feature: {}", feature)));
    constexpr std::int16_t kOldestMetadataVersion = 7;
    bool known = feature == kMetadataVersion ? level >= kOldestMetadataVersion && level <= *highest : level >= 0 && level <= *highest;
    if (!known) return std::unexpected(terse_exception(fmt::format("No feature:{} with feature level {}", feature, level)));
    const auto needs = dependency_of(feature, level);
    if (options.has("json")) {
      boost::json::object dependencies;
      if (needs) dependencies[needs->feature] = needs->level;
      array.push_back({{"name", feature}, {"level", level}, {"dependencies", std::move(dependencies)}});
      continue;
    }
    auto named = [](std::string_view of, std::int16_t at) {
      std::string plain = fmt::format("{}={}", of, at);
      return of == kMetadataVersion ? fmt::format("{} ({})", plain, level_text(of, at)) : plain;
    };
    if (needs) session.out.print("{} requires:\n    {}\n", named(feature, level), named(needs->feature, needs->level));
    else session.out.print("{} has no dependencies.\n", named(feature, level));
  }
  if (options.has("json")) session.out.print("{}\n", boost::json::serialize(array));
  return Done{};
}

Tried<Done> act_on_features(const Arguments& arguments, Session& session) {
  auto config = NEED(tried(arguments.options.value("command-config")));
  auto admin = make_admin_client(session, arguments.options, config.value_or(""));
  if (!admin) return std::unexpected(terse_exception(admin.error().message));
  const Options& options = arguments.command_options;
  std::string_view command = arguments.command->name;
  if (command == "describe") return describe_features(options, (*admin)->cluster, session);
  if (command == "version-mapping") return print_mapping(options, session);
  if (command == "feature-dependencies") return print_dependencies(options, session);
  return update_features(options, command, (*admin)->cluster, session);
}

int run_features(const Command& self, const Words& words, Session& session) {
  auto wrong = [&](std::string_view message) {
    session.err.print("Command line error: {}. Type --help for help.", message);
    return 1;
  };
  auto read = read_arguments(*self.grammar, words);
  if (const auto* mistake = std::get_if<ArgumentMistake>(&read)) return wrong(mistake->message);
  if (const auto* help = std::get_if<HelpAsked>(&read)) {
    session.out.write(argument_help_text("kafka-features", self, help->command));
    return 0;
  }
  const auto& arguments = std::get<Arguments>(read);
  if (!arguments.options.has("bootstrap-server") && !arguments.options.has("bootstrap-controller")) {
    return wrong("You must specify either --bootstrap-controller or --bootstrap-server.");
  }
  auto done = act_on_features(arguments, session);
  if (done) return 0;
  session.out.flush();
  session.err.print("{}\n", done.error().message);
  return 1;
}

}  // namespace

extern const Command features_command{
    .name = "features",
    .kafka_name = "kafka-features",
    .summary = "print features of a cluster and change their levels",
    .grammar = &kFeaturesGrammar,
    .run = run_features,
};

}  // namespace cordwood::cli
