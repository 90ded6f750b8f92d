// kafka-storage: makes the directories of a node ready for their first start. As kafka.tools.StorageTool of Kafka 4.4.0; what it
// writes differs from Kafka's files in ids and times alone. (The 0-0 checkpoint of Kafka has mode 0400, ours the usual one.)
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include <boost/json.hpp>

#include "broker/metadata/features.h"
#include "broker/metadata/snapshot.h"
#include "cli/argparse.h"
#include "offline/dump/java_text.h"
#include "offline/rendering.h"
#include "offline/scram_credential.h"
#include "storage/directory_files.h"
#include "storage/java_properties.h"

namespace cordwood::offline {
namespace {

namespace metadata = broker::metadata;

constexpr std::int16_t kOldestVersion = 7;
constexpr std::int16_t kLatestVersion = 33;
constexpr std::int16_t kScramFrom = 11;  // 3.5-IV2

constexpr cli::OptionSpec kStorageConfig{.name = "config", .argument = "CONFIG", .help = "the node's configuration file", .letter = 'c', .required = true};
constexpr cli::OptionSpec kInfoOptions[] = {kStorageConfig,
    {.name = "json", .help = "one JSON object instead of text (Cordwood's own)"}};
constexpr cli::OptionSpec kFormatOptions[] = {
    kStorageConfig,
    {.name = "cluster-id", .argument = "CLUSTER_ID", .help = "the id of the cluster", .letter = 't', .required = true},
    {.name = "add-scram", .argument = "ADD_SCRAM", .help = "a SCRAM credential for the first records: MECHANISM=[name=…,password=…]", .letter = 'S', .repeatable = true},
    {.name = "ignore-formatted", .help = "leave directories that are formatted already as they are", .letter = 'g'},
    {.name = "release-version", .argument = "RELEASE_VERSION", .help = "the metadata.version to begin with", .letter = 'r'},
    {.name = "feature", .argument = "FEATURE", .help = "name=level of a feature to begin with", .letter = 'f', .repeatable = true},
    {.name = "standalone", .help = "this controller is the only voter", .letter = 's'},
    {.name = "no-initial-controllers", .help = "voters are added later", .letter = 'N'},
    {.name = "initial-controllers", .argument = "INITIAL_CONTROLLERS", .help = "id@host:port:directory of each first voter, separated by commas", .letter = 'I'},
};
constexpr std::string_view kFormatControllers[] = {"standalone", "no-initial-controllers", "initial-controllers"};
constexpr cli::Exclusive kFormatExclusive[] = {{.names = kFormatControllers}};
constexpr cli::OptionSpec kMappingOptions[] = {
    {.name = "release-version", .argument = "RELEASE_VERSION", .help = "a metadata.version; the latest by default", .letter = 'r'}};
constexpr cli::OptionSpec kDependencyOptions[] = {
    {.name = "feature", .argument = "FEATURE", .help = "name=level", .letter = 'f', .repeatable = true, .required = true}};

constexpr cli::Grammar kInfoGrammar{.habit = cli::Habit::argparse4j, .options = kInfoOptions};
constexpr cli::Grammar kFormatGrammar{.habit = cli::Habit::argparse4j, .options = kFormatOptions, .exclusive = kFormatExclusive};
constexpr cli::Grammar kMappingGrammar{.habit = cli::Habit::argparse4j, .options = kMappingOptions};
constexpr cli::Grammar kDependencyGrammar{.habit = cli::Habit::argparse4j, .options = kDependencyOptions};
constexpr cli::Grammar kUuidGrammar{.habit = cli::Habit::argparse4j};
constexpr cli::Grammar::Sub kStorageCommands[] = {
    {"info", "what the log directories are", &kInfoGrammar},
    {"format", "makes the log directories ready", &kFormatGrammar},
    {"version-mapping", "the feature levels that belong to a metadata.version", &kMappingGrammar},
    {"feature-dependencies", "what a feature level needs", &kDependencyGrammar},
    {"random-uuid", "a new id", &kUuidGrammar},
};
constexpr cli::Grammar kStorageGrammar{.habit = cli::Habit::argparse4j, .subcommands = kStorageCommands};

// Kafka's two ways of failing: a sentence alone, or an exception.
Error terse(std::string sentence) { return Error{Errc::invalid, std::move(sentence)}; }
Error thrown(std::string exception) { return Error{Errc::corrupt, std::move(exception)}; }

// --- versions and features ---

// `told_too` is a version that the mistake names after those that are taken.
Result<std::int16_t> metadata_version_of(std::string_view name, std::string_view told_too = "") {
  std::string known;
  std::int16_t of_release = 0;
  for (std::int16_t level = kOldestVersion; level <= kLatestVersion; ++level) {
    const std::string version = metadata::metadata_version_name(level);
    if (version == name) return level;
    // "4.0" is the last of 4.0's.
    if (version.substr(0, version.find('-')) == name) of_release = level;
    known += (known.empty() ? "" : ", ") + version;
  }
  if (of_release > 0) return of_release;
  return terse(fmt::format("Unknown metadata.version '{}'. Supported metadata.version are: {}{}", name, known, told_too));
}

struct FeatureStep {
  std::string_view feature;
  std::int16_t from;  // the metadata.version that has it by default
  std::int16_t level;
};
// In the order in which version-mapping tells them.
constexpr std::string_view kMappedFeatures[] = {metadata::kKRaftVersion, metadata::kTransactionVersion, metadata::kGroupVersion,
                                                metadata::kElrVersion,   metadata::kShareVersion,       metadata::kStreamsVersion};
constexpr FeatureStep kFeatureSteps[] = {
    {metadata::kKRaftVersion, 21, 1}, {metadata::kTransactionVersion, 24, 2}, {metadata::kGroupVersion, 22, 1}, {metadata::kElrVersion, 26, 1},
    {metadata::kShareVersion, 28, 1}, {metadata::kShareVersion, 31, 2},       {metadata::kStreamsVersion, 29, 1},
};

std::int16_t default_level(std::string_view feature, std::int16_t metadata_version) {
  std::int16_t level = 0;
  for (const FeatureStep& step : kFeatureSteps) {
    if (step.feature == feature && metadata_version >= step.from) level = step.level;
  }
  return level;
}

const metadata::SupportedFeature* known_feature(std::string_view name) {
  const auto all = metadata::supported_features();
  const auto found = std::ranges::find(all, name, &metadata::SupportedFeature::name);
  return found == all.end() ? nullptr : &*found;
}

Result<int> version_mapping(const cli::Options& options, cli::Session& session) {
  std::int16_t version = kLatestVersion;
  std::string shown = metadata::metadata_version_name(version);
  if (const auto given = options.values("release-version"); !given.empty()) {
    version = TRY(metadata_version_of(given.back(), ", 4.5-IV0"));  // which Kafka's tool maps, but does not format with
    shown = given.back();
  }
  session.out.print("metadata.version={} ({})\n", version, shown);
  for (const std::string_view feature : kMappedFeatures) session.out.print("{}={}\n", feature, default_level(feature, version));
  return 0;
}

Result<int> feature_dependencies(const cli::Options& options, cli::Session& session) {
  for (const std::string& given : options.values("feature")) {
    const std::size_t equals = given.find('=');
    if (equals == std::string::npos) {
      return terse(fmt::format("Invalid feature format: {}. Expected format: 'feature=version' (e.g. 'group.version=1')", given));
    }
    const std::string name = given.substr(0, equals);
    const auto level = parse_java_long(given.substr(equals + 1));
    if (!level) return terse(fmt::format("Invalid version format: {} for feature {}", given.substr(equals + 1), name));
    const metadata::SupportedFeature* feature = known_feature(name);
    if (feature == nullptr) return terse(fmt::format("Unknown feature: {}", name));
    if (*level < feature->min || *level > feature->max) {
      return terse(fmt::format("Feature level {} is not supported for feature {}", *level, name));
    }
    const bool is_version = name == metadata::kMetadataVersion;
    const std::string shown = is_version ? fmt::format("{}={} ({})", name, *level, metadata::metadata_version_name(static_cast<std::int16_t>(*level)))
                                         : fmt::format("{}={}", name, *level);
    if (name == metadata::kElrVersion && *level > 0) {
      session.out.print("{} requires:\n    metadata.version={} ({})\n", shown, metadata::kElrRecordsFrom, metadata::metadata_version_name(metadata::kElrRecordsFrom));
    } else {
      session.out.print("{} has no dependencies.\n", shown);
    }
  }
  return 0;
}

// --- the configuration ---

struct StorageConfig {
  std::map<std::string, std::string> all;
  std::vector<std::string> log_dirs;
  std::string metadata_dir;
  std::int32_t node_id = 0;

  std::string value(const std::string& key) const {
    const auto found = all.find(key);
    return found == all.end() ? "" : found->second;
  }
  bool has_role(std::string_view role) const { return items("process.roles").contains(std::string(role)); }
  std::set<std::string> items(const std::string& key) const {
    std::set<std::string> found;
    for (const std::string& item : list(value(key))) found.insert(item);
    return found;
  }
  static std::vector<std::string> list(std::string_view text) {
    std::vector<std::string> found;
    while (!text.empty()) {
      const std::size_t comma = text.find(',');
      std::string_view item = text.substr(0, comma);
      text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
      while (item.starts_with(' ')) item.remove_prefix(1);
      while (item.ends_with(' ')) item.remove_suffix(1);
      if (!item.empty()) found.emplace_back(item);
    }
    return found;
  }
};

Result<StorageConfig> read_storage_config(const cli::Options& options, cli::Session& session) {
  const std::string path = options.values("config").back();
  const auto bytes = io::read_file(session.files, path);
  if (!bytes && bytes.error().code == Errc::not_found) return thrown("java.nio.file.NoSuchFileException: " + path);
  if (!bytes) return thrown("java.io.IOException: " + bytes.error().message());
  StorageConfig config;
  config.all = TRY(storage::parse_java_properties(as_text(*bytes)));
  const std::string node = config.value("node.id").empty() ? config.value("broker.id") : config.value("node.id");
  const auto id = parse_java_long(node);
  if (node.empty()) {
    return thrown("org.apache.kafka.common.config.ConfigException: Missing required configuration \"node.id\" which has no default value.");
  }
  if (!id || *id < 0 || *id > INT32_MAX) {
    return thrown(fmt::format("org.apache.kafka.common.config.ConfigException: Invalid value {} for configuration node.id: Not a number of type INT", node));
  }
  config.node_id = static_cast<std::int32_t>(*id);
  config.log_dirs = StorageConfig::list(config.value("log.dirs").empty() ? config.value("log.dir") : config.value("log.dirs"));
  if (config.log_dirs.empty()) config.log_dirs = {"/tmp/kafka-logs"};
  config.metadata_dir = config.value("metadata.log.dir").empty() ? config.log_dirs.front() : config.value("metadata.log.dir");
  return config;
}

std::vector<std::string> sorted_directories(const StorageConfig& config) {
  std::set<std::string> all(config.log_dirs.begin(), config.log_dirs.end());
  all.insert(config.metadata_dir);
  return {all.begin(), all.end()};
}

// --- info ---

std::string shown_meta(const storage::MetaProperties& meta) {
  return fmt::format("{{cluster.id={}{}, node.id={}, version=1}}", meta.cluster_id,
                     meta.directory_id ? ", directory.id=" + meta.directory_id->to_string() : "", meta.node_id.value);
}

Result<int> storage_info(const cli::Options& options, cli::Session& session) {
  const StorageConfig config = TRY(read_storage_config(options, session));
  std::vector<std::string> found;
  std::vector<std::string> problems;
  std::optional<storage::MetaProperties> first;
  for (const std::string& directory : sorted_directories(config)) {
    const auto status = session.files.status(directory);
    if (!status) {
      problems.push_back(directory + " does not exist");
      continue;
    }
    if (!status->is_directory) {
      problems.push_back(directory + " is not a directory");
      continue;
    }
    found.push_back(directory);
    const auto meta = storage::read_meta_properties(session.files, directory);
    if (!meta) {
      problems.push_back(meta.error().message());
    } else if (!*meta) {
      problems.push_back(directory + " is not formatted.");
    } else if (!first) {
      first = **meta;
    } else if (first->cluster_id != (*meta)->cluster_id || first->node_id != (*meta)->node_id) {
      problems.push_back(fmt::format("Metadata for {}/meta.properties was {}, but other directories featured {}", directory, shown_meta(**meta), shown_meta(*first)));
    }
  }
  if (options.has("json")) {
    boost::json::object object{{"logDirs", boost::json::value_from(found)}, {"metadata", nullptr}, {"problems", boost::json::value_from(problems)}};
    if (first) {
      boost::json::object meta{{"clusterId", first->cluster_id}, {"nodeId", first->node_id.value}, {"directoryId", nullptr}};
      if (first->directory_id) meta["directoryId"] = first->directory_id->to_string();
      object["metadata"] = std::move(meta);
    }
    session.out.print("{}\n", boost::json::serialize(object));
    return problems.empty() ? 0 : 1;
  }
  const auto tell = [&](std::string_view one, std::string_view many, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    session.out.print("{}\n", lines.size() == 1 ? one : many);
    for (const std::string& line : lines) session.out.print("  {}\n", line);
    session.out.print("\n");
  };
  tell("Found log directory:", "Found log directories:", found);
  if (first) session.out.print("Found metadata: {}\n\n", shown_meta(*first));
  tell("Found problem:", "Found problems:", problems);
  return problems.empty() ? 0 : 1;
}

// --- format ---

struct FormatPlan {
  std::int16_t metadata_version = kLatestVersion;
  std::map<std::string, std::int16_t> features;  // without metadata.version, kraft.version and levels of 0
  std::vector<metadata::UserScramCredentialRecord> credentials;
  std::int16_t kraft_version = 1;
  std::vector<metadata::Voter> voters;
  Uuid metadata_directory_id;
};

// The line that Java adds below an exception whose cause is this text.
std::string no_number(std::string_view text) { return fmt::format("\nCaused by: java.lang.NumberFormatException: For input string: \"{}\"", text); }
std::string no_uuid(std::string_view text) {
  constexpr std::size_t kLongest = 24;
  constexpr std::string_view kCause = "\nCaused by: java.lang.IllegalArgumentException: ";
  if (text.size() > kLongest) return fmt::format("{}Input string with prefix `{}` is too long to be decoded as a base64 UUID", kCause, text.substr(0, kLongest));
  const auto bytes = parse_base64(text);
  return fmt::format("{}Input string `{}` decoded as {} bytes, which is not equal to the expected 16 bytes of a base64-encoded UUID", kCause, text,
                     bytes ? bytes->size() : 0);
}

// "5@localhost:21131:JEXY6aqzQY-32P5TStzaFg"
Result<metadata::Voter> parse_voter(std::string_view text, const std::string& listener) {
  const auto illegal = [](std::string_view why) { return thrown(fmt::format("java.lang.IllegalArgumentException: {}", why)); };
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return illegal("No @ found in dynamic voter string.");
  const auto id = parse_java_long(text.substr(0, at));
  if (!id || *id < 0 || *id > INT32_MAX) return illegal("Failed to parse node id in dynamic voter string." + no_number(text.substr(0, at)));
  std::string_view rest = text.substr(at + 1);
  const std::size_t host_end = rest.starts_with('[') ? rest.find(']') : rest.find(':');
  if (host_end == std::string_view::npos) return illegal("No colon following hostname could be found.");
  const bool is_bracketed = rest.starts_with('[');
  const std::string host(is_bracketed ? rest.substr(1, host_end - 1) : rest.substr(0, host_end));
  rest.remove_prefix(is_bracketed ? std::min(rest.size(), host_end + 2) : host_end + 1);
  const std::size_t port_end = rest.find(':');
  if (port_end == std::string_view::npos) return illegal("No colon following port could be found.");
  const auto port = parse_java_long(rest.substr(0, port_end));
  if (!port || *port < 0 || *port > 65535) return illegal("Failed to parse port in dynamic voter string." + no_number(rest.substr(0, port_end)));
  const auto directory = Uuid::parse(rest.substr(port_end + 1));
  if (!directory) return illegal("Failed to parse directory ID in dynamic voter string." + no_uuid(rest.substr(port_end + 1)));
  metadata::Voter voter;
  voter.id = NodeId{static_cast<std::int32_t>(*id)};
  voter.directory_id = *directory;
  voter.endpoints = {{.name = listener, .host = host, .port = static_cast<std::uint16_t>(*port)}};
  return voter;
}

// Where this node's controller listens: "CONTROLLER://localhost:21131" of listeners.
Result<metadata::Voter> own_voter(const StorageConfig& config, const std::string& listener, Uuid directory_id) {
  const std::string text = config.value("advertised.listeners") + "," + config.value("listeners");
  for (const std::string& item : StorageConfig::list(text)) {
    if (!item.starts_with(listener + "://")) continue;
    const std::string address = item.substr(listener.size() + 3);
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos) break;
    std::string host = address.substr(0, colon);
    if (host.empty()) host = "localhost";
    return parse_voter(fmt::format("{}@{}:{}:{}", config.node_id, host, address.substr(colon + 1), directory_id.to_string()), listener);
  }
  return terse(fmt::format("No listener {} was found in the configuration", listener));
}

Result<FormatPlan> plan_format(const cli::Options& options, const StorageConfig& config, cli::Session& session) {
  FormatPlan plan;
  if (const auto given = options.values("release-version"); !given.empty()) plan.metadata_version = TRY(metadata_version_of(given.back()));
  for (const std::string& given : options.values("add-scram")) plan.credentials.push_back(TRY(parse_scram_credential(given, session.random)));
  std::map<std::string, std::int64_t> wanted;
  for (const std::string& feature : options.values("feature")) {
    const std::size_t equals = feature.find('=');
    if (equals == std::string::npos) {
      return thrown(fmt::format("java.lang.RuntimeException: Can't parse feature=level string {}: equals sign not found.", feature));
    }
    const auto level = parse_java_long(feature.substr(equals + 1));
    if (!level) {
      return thrown(fmt::format("java.lang.RuntimeException: Can't parse feature=level string {}: unable to parse {} as a short.", feature, feature.substr(equals + 1)));
    }
    wanted[feature.substr(0, equals)] = *level;
  }
  const bool is_controller = config.has_role("controller");
  const bool has_static_voters = !config.value("controller.quorum.voters").empty();
  const bool names_voters = options.has("standalone") || options.has("initial-controllers");
  if (has_static_voters && names_voters) {
    return terse("You cannot specify controller.quorum.voters and format the node with --initial-controllers or --standalone. If you want to "
                 "use dynamic quorum, please remove controller.quorum.voters and specify controller.quorum.bootstrap.servers instead.");
  }
  if (!is_controller && options.has("standalone")) return terse("You can only use --standalone on a controller.");
  if (is_controller && !has_static_voters && !names_voters && !options.has("no-initial-controllers")) {
    return terse("Because controller.quorum.voters is not set on this controller, you must specify one of the following: --standalone, "
                 "--initial-controllers, or --no-initial-controllers.");
  }
  for (const auto& [name, level] : wanted) {
    if (name == metadata::kMetadataVersion) {
      if (options.has("release-version")) return terse("Use --release-version instead of --feature metadata.version=X to avoid ambiguity.");
      plan.metadata_version = static_cast<std::int16_t>(level);
      continue;
    }
    const metadata::SupportedFeature* feature = known_feature(name);
    if (feature == nullptr) {
      std::string names;
      for (const metadata::SupportedFeature& known : metadata::supported_features()) {
        if (known.name != metadata::kMetadataVersion) names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
      }
      return terse(fmt::format("Unsupported feature: {}. Supported features are: {}", name, names));
    }
    if (level < feature->min || level > feature->max) {
      return thrown(fmt::format("java.lang.IllegalArgumentException: No feature:{} with feature level {}", name, level));
    }
  }
  for (const std::string_view feature : kMappedFeatures) {
    const auto given = wanted.find(std::string(feature));
    const auto level = given == wanted.end() ? default_level(feature, plan.metadata_version) : static_cast<std::int16_t>(given->second);
    if (feature == metadata::kKRaftVersion) {
      plan.kraft_version = has_static_voters || !is_controller ? 0 : 1;
      if (given != wanted.end() && given->second == 0 && plan.kraft_version == 1) {
        return terse("Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the flags --standalone, --initial-controllers, "
                     "or --no-initial-controllers is used. For dynamic controllers support, try removing the --feature flag for kraft.version.");
      }
      if (given != wanted.end() && given->second > 0 && plan.kraft_version == 0) {
        return terse("Cannot set kraft.version to 1 unless controller.quorum.voters is empty and one of the flags --standalone, --initial-controllers, "
                     "or --no-initial-controllers is used. For dynamic controllers support, try using one of --standalone, --initial-controllers, or "
                     "--no-initial-controllers and removing controller.quorum.voters.");
      }
    } else if (level > 0) {
      if (feature == metadata::kElrVersion && plan.metadata_version < metadata::kElrRecordsFrom) {
        return thrown(fmt::format("java.lang.IllegalArgumentException: {} could not be set to {} because it depends on metadata.version level {}", feature,
                                  level, metadata::kElrRecordsFrom));
      }
      plan.features[std::string(feature)] = level;
    }
  }
  if (!plan.credentials.empty() && plan.metadata_version < kScramFrom) return terse("SCRAM is only supported in metadata.version 3.5-IV2 or later.");
  plan.metadata_directory_id = Uuid::random(session.random);
  const std::vector<std::string> controller_listeners = StorageConfig::list(config.value("controller.listener.names"));
  const std::string listener = controller_listeners.empty() ? "CONTROLLER" : controller_listeners.front();
  if (options.has("standalone")) plan.voters = {TRY(own_voter(config, listener, plan.metadata_directory_id))};
  if (const auto given = options.values("initial-controllers"); !given.empty()) {
    for (const std::string& text : StorageConfig::list(given.back())) {
      metadata::Voter voter = TRY(parse_voter(text, listener));
      if (voter.id.value == config.node_id) plan.metadata_directory_id = voter.directory_id;
      plan.voters.push_back(std::move(voter));
    }
  }
  return plan;
}

std::string shown_bootstrap(const FormatPlan& plan) {
  std::string records = fmt::format("ApiMessageAndVersion(FeatureLevelRecord(name='metadata.version', featureLevel={}) at version 0)", plan.metadata_version);
  for (const auto& [name, level] : plan.features) {
    records += fmt::format(", ApiMessageAndVersion(FeatureLevelRecord(name='{}', featureLevel={}) at version 0)", name, level);
  }
  for (const metadata::UserScramCredentialRecord& credential : plan.credentials) {
    records += fmt::format(", ApiMessageAndVersion({} at version 0)", shown_scram_credential(credential));
  }
  return fmt::format("Bootstrap metadata: BootstrapMetadata(records=[{}], metadataVersionLevel={}, source=format command)", records, plan.metadata_version);
}

Result<void> write_directory(const StorageConfig& config, const FormatPlan& plan, const std::string& directory, const std::string& cluster_id,
                             cli::Session& session) {
  const bool is_metadata = directory == config.metadata_dir;
  TRY(session.files.create_directories(directory));
  if (is_metadata && config.has_role("controller")) {
    metadata::SnapshotContent content;
    if (plan.kraft_version > 0) content.kraft_version = plan.kraft_version;
    content.voters = plan.voters;
    content.records.push_back({metadata::FeatureLevelRecord{.name = std::string(metadata::kMetadataVersion), .feature_level = plan.metadata_version}, 0});
    for (const auto& [name, level] : plan.features) content.records.push_back({metadata::FeatureLevelRecord{.name = name, .feature_level = level}, 0});
    for (const metadata::UserScramCredentialRecord& credential : plan.credentials) content.records.push_back({credential, 0});
    const io::Path log = io::join(directory, "__cluster_metadata-0");
    TRY(session.files.create_directories(log));
    const TimestampMs now = session.clock.now();
    TRY(metadata::write_snapshot_file(session.files, io::join(log, metadata::snapshot_file_name({})), content, {}, now, now));
  }
  // Last: a directory with this file is formatted.
  storage::MetaProperties meta;
  meta.cluster_id = cluster_id;
  meta.node_id = NodeId{config.node_id};
  meta.directory_id = is_metadata ? plan.metadata_directory_id : Uuid::random(session.random);
  return storage::write_meta_properties(session.files, directory, meta, session.clock.now());
}

Result<int> storage_format(const cli::Options& options, cli::Session& session) {
  const StorageConfig config = TRY(read_storage_config(options, session));
  const std::string cluster_id = options.values("cluster-id").back();
  const FormatPlan plan = TRY(plan_format(options, config, session));
  std::vector<std::string> to_do;
  for (const std::string& directory : sorted_directories(config)) {
    const auto meta = storage::read_meta_properties(session.files, directory);
    if (!meta) return thrown(fmt::format("java.lang.RuntimeException: {}", meta.error().message()));
    if (!*meta) {
      to_do.push_back(directory);
      continue;
    }
    if ((*meta)->cluster_id != cluster_id) {
      return thrown(fmt::format("java.lang.RuntimeException: Invalid cluster.id in: {}/meta.properties. Expected {}, but read {}", directory, cluster_id, (*meta)->cluster_id));
    }
    if ((*meta)->node_id.value != config.node_id) {
      return thrown(fmt::format("java.lang.RuntimeException: Stored node id {} doesn't match previous node id {} in {}/meta.properties. If you moved your "
                                "data, make sure your configured node id matches.", (*meta)->node_id.value, config.node_id, directory));
    }
    if (!options.has("ignore-formatted")) {
      return terse(fmt::format("Log directory {} is already formatted. Use --ignore-formatted to ignore this directory and format the others.", directory));
    }
  }
  if (to_do.empty()) {
    session.out.print("All of the log directories are already formatted.\n");
    return 0;
  }
  session.out.print("{}\n", shown_bootstrap(plan));
  // The metadata directory comes first.
  std::ranges::stable_partition(to_do, [&](const std::string& directory) { return directory == config.metadata_dir; });
  for (const std::string& directory : to_do) {
    const bool is_voter = std::ranges::find(plan.voters, NodeId{config.node_id}, &metadata::Voter::id) != plan.voters.end();
    const std::string_view kind = directory != config.metadata_dir ? "data directory"
                                  : is_voter                       ? "dynamic metadata voter directory"
                                  : plan.voters.empty()            ? "metadata directory"
                                                                   : "dynamic metadata directory";
    session.out.print("Formatting {} {} with metadata.version {}.\n", kind, directory, metadata::metadata_version_name(plan.metadata_version));
    if (const auto written = write_directory(config, plan, directory, cluster_id, session); !written) {
      return terse(fmt::format("Error while writing {}: {}", directory, written.error().message()));
    }
  }
  return 0;
}

int run_storage(const cli::Command& self, const cli::Words& words, cli::Session& session) {
  const cli::ArgumentHabits habits{.program = "kafka-storage", .help_code = 0};
  auto read = cli::arguments_or_exit_code(self, habits, words, session);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const auto& arguments = std::get<cli::Arguments>(read);
  const std::string_view name = arguments.command->name;
  const cli::Options& options = arguments.command_options;
  Result<int> code = 0;
  if (name == "random-uuid") {
    session.out.print("{}\n", Uuid::random(session.random).to_string());
  } else if (name == "info") {
    code = storage_info(options, session);
  } else if (name == "format") {
    code = storage_format(options, session);
  } else if (name == "version-mapping") {
    code = version_mapping(options, session);
  } else {
    code = feature_dependencies(options, session);
  }
  if (code) return *code;
  session.out.flush();
  session.err.print("{}{}\n", code.error().code == Errc::corrupt ? "Exception in thread \"main\" " : "", code.error().what);
  return 1;
}

}  // namespace

extern const cli::Command storage_command;
const cli::Command storage_command{
    .name = "storage",
    .kafka_name = "kafka-storage",
    .summary = "make the log directories of a node ready, and tell what they are",
    .grammar = &kStorageGrammar,
    .run = run_storage,
};

}  // namespace cordwood::offline
