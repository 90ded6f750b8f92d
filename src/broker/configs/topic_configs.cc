#include "broker/configs/topic_configs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "broker/configs/broker_configs.h"
#include "broker/configs/topic_config_keys.h"

namespace cordwood::broker::configs {
namespace {

using metadata::ConfigValues;
using metadata::Image;

constexpr TopicKey make_topic_key(std::string_view name, ConfigType type, const char* default_value, ValueRule rule,
                            const char* broker_key, bool shown) {
  TopicKey key;
  key.name = name;
  key.type = type;
  key.default_value = default_value;
  key.rule = rule;
  key.broker_key = broker_key;
  key.shown = shown;
  return key;
}

namespace topic_table {
using namespace rules;
using enum ConfigType;
constexpr const char* kNoDefault = nullptr;
constexpr bool shown = true;
constexpr bool hidden = false;
constexpr TopicKey kKeys[] = {
#define TOPIC_CONFIG(...) make_topic_key(__VA_ARGS__),
#include "broker/configs/topic_config_table.inc"
#undef TOPIC_CONFIG
};
}  // namespace topic_table
constexpr std::span<const TopicKey> kTopicTable = topic_table::kKeys;

// Kafka's hash table of topic settings has this many slots.
constexpr std::size_t kTopicDescribeBuckets = 64;

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kHourMs = 60 * kMinuteMs;

std::optional<std::int64_t> whole(const std::optional<ConfigValue>& value) {
  if (!value) return {};
  return value->integer;
}

// A duration that the broker may give in several units: the most exact one that is set goes before the others.
struct Unit {
  const char* key;
  std::int64_t factor;
};
std::optional<std::int64_t> first_given(const Config& config, const Image& image, std::initializer_list<Unit> units) {
  for (const Unit& unit : units) {
    auto value = whole(effective_broker_value(config, image, unit.key));
    std::int64_t product = 0;
    if (!value) continue;
    if (__builtin_mul_overflow(*value, unit.factor, &product)) return INT64_MAX;
    return product;
  }
  return {};
}

// What the broker gives a topic that does not override `key`.
std::optional<ConfigValue> inherited_value(const Config& config, const Image& image, const TopicKey& key) {
  std::optional<std::int64_t> derived;
  if (key.name == "retention.ms") {
    derived = first_given(config, image, {{"log.retention.ms", 1}, {"log.retention.minutes", kMinuteMs},
                                          {"log.retention.hours", kHourMs}});
    if (derived < 0) derived = -1;
  } else if (key.name == "segment.ms") {
    derived = first_given(config, image, {{"log.roll.ms", 1}, {"log.roll.hours", kHourMs}});
  } else if (key.name == "segment.jitter.ms") {
    derived = first_given(config, image, {{"log.roll.jitter.ms", 1}, {"log.roll.jitter.hours", kHourMs}});
  } else if (key.name == "flush.ms") {
    derived = first_given(config, image, {{"log.flush.interval.ms", 1}, {"log.flush.scheduler.interval.ms", 1}});
  } else if (key.broker_key != nullptr) {
    return effective_broker_value(config, image, key.broker_key);
  }
  if (derived) return ConfigValue{.text = fmt::format("{}", *derived), .integer = *derived, .real = 0, .items = {}};
  if (key.default_value == nullptr) return {};
  auto value = read_config_value(key, key.default_value);
  CHECK(value.has_value(), "the default of {} obeys its rule", key.name);
  return std::move(*value);
}

std::optional<ConfigValue> effective_value(const Config& config, const Image& image, const ConfigValues& overrides,
                                           const TopicKey& key) {
  if (auto at = overrides.find(std::string(key.name)); at != overrides.end()) {
    if (auto value = read_config_value(key, at->second)) return std::move(*value);
  }
  return inherited_value(config, image, key);
}

// Reads settings by name from the four layers; the names are ours, so an unknown one is a bug.
class Reader {
 public:
  Reader(const Config& config, const Image& image, const ConfigValues& overrides)
      : config_(config), image_(image), overrides_(overrides) {}

  std::optional<ConfigValue> value(std::string_view name) const {
    const TopicKey* key = find_topic_key(name);
    CHECK(key != nullptr, "{} is in the table of topic settings", name);
    return effective_value(config_, image_, overrides_, *key);
  }
  storage::SettingSource source(std::string_view name) const {
    switch (origin_of_topic_setting(config_, image_, overrides_, name).source) {
      case ConfigSource::dynamic_topic: return storage::SettingSource::topic;
      case ConfigSource::dynamic_broker: return storage::SettingSource::dynamic_broker;
      case ConfigSource::dynamic_default_broker: return storage::SettingSource::dynamic_cluster;
      case ConfigSource::static_broker: return storage::SettingSource::static_broker;
      default: return storage::SettingSource::default_value;
    }
  }
  std::int64_t integer(std::string_view name) const { return whole(value(name)).value_or(0); }
  ByteCount bytes(std::string_view name) const { return {integer(name)}; }
  DurationMs duration(std::string_view name) const { return {integer(name)}; }
  int small(std::string_view name) const { return static_cast<int>(integer(name)); }

 private:
  const Config& config_;
  const Image& image_;
  const ConfigValues& overrides_;
};

std::optional<record::CompressionSettings> compression_of(const Reader& reader) {
  auto type = reader.value("compression.type");
  std::string name = type ? type->text : "producer";
  if (name == "uncompressed") return record::CompressionSettings{record::Codec::none, {}};
  if (name == "gzip") return record::CompressionSettings{record::Codec::gzip, reader.small("compression.gzip.level")};
  if (name == "lz4") return record::CompressionSettings{record::Codec::lz4, reader.small("compression.lz4.level")};
  if (name == "zstd") return record::CompressionSettings{record::Codec::zstd, reader.small("compression.zstd.level")};
  if (name == "snappy") return record::CompressionSettings{record::Codec::snappy, {}};
  return {};
}

}  // namespace

std::span<const TopicKey> topic_keys() { return kTopicTable; }

const TopicKey* find_topic_key(std::string_view name) {
  auto at = std::ranges::find(kTopicTable, name, &TopicKey::name);
  return at == kTopicTable.end() ? nullptr : &*at;
}

bool is_topic_list_config(const std::string& name) {
  const TopicKey* key = find_topic_key(name);
  return key != nullptr && key->type == ConfigType::list;
}

std::optional<std::string> validate_topic_configs(const Config& config, const Image& image,
                                                  const ConfigValues& overrides) {
  std::vector<std::string> names;
  for (const auto& [name, value] : overrides) names.push_back(name);
  for (const std::string& name : in_hash_order(std::move(names))) {
    if (find_topic_key(name) == nullptr) return fmt::format("Unknown topic config name: {}", name);
  }
  for (const TopicKey& key : kTopicTable) {
    auto at = overrides.find(std::string(key.name));
    if (at == overrides.end()) continue;
    if (auto value = read_config_value(key, at->second); !value) return value.error().what;
  }
  Reader reader(config, image, overrides);
  std::int64_t min_lag = reader.integer("min.compaction.lag.ms");
  std::int64_t max_lag = reader.integer("max.compaction.lag.ms");
  if (min_lag > max_lag) {
    return fmt::format("conflict topic config setting min.compaction.lag.ms ({}) > max.compaction.lag.ms ({})", min_lag,
                       max_lag);
  }
  if (reader.integer("remote.storage.enable") != 0) {
    return "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.";
  }
  return {};
}

std::optional<std::string> validate_new_topic_configs(
    const Config& config, const Image& image,
    const std::vector<std::pair<std::string, std::optional<std::string>>>& overrides) {
  std::vector<std::string> without_value;
  ConfigValues values;
  for (const auto& [name, value] : overrides) {
    if (value) {
      values[name] = *value;
    } else {
      without_value.push_back(name);
    }
  }
  if (!without_value.empty()) {
    return fmt::format("Null value not supported for topic configs: {}", fmt::join(without_value, ","));
  }
  return validate_topic_configs(config, image, values);
}

std::vector<ConfigEntry> describe_topic_configs(const Config& config, const Image& image,
                                                const ConfigValues& overrides) {
  std::vector<std::string> names;
  for (const TopicKey& key : kTopicTable) {
    if (key.shown || overrides.contains(std::string(key.name))) names.emplace_back(key.name);
  }
  std::vector<ConfigEntry> entries;
  for (const std::string& name : in_hash_order(std::move(names), kTopicDescribeBuckets)) {
    const TopicKey& key = *find_topic_key(name);
    ConfigEntry entry;
    entry.name = name;
    entry.type = key.type;
    if (auto value = effective_value(config, image, overrides, key)) entry.value = value->text;
    if (key.broker_key != nullptr) entry.synonyms = broker_synonyms(config, image, key.broker_key);
    if (auto at = overrides.find(name); at != overrides.end()) {
      auto value = read_config_value(key, at->second);
      entry.value = value ? value->text : at->second;
      entry.synonyms.insert(entry.synonyms.begin(), {name, entry.value, ConfigSource::dynamic_topic});
    }
    if (!entry.synonyms.empty()) entry.source = entry.synonyms.front().source;
    entries.push_back(std::move(entry));
  }
  return entries;
}

SettingOrigin origin_of_topic_setting(const Config& config, const Image& image, const ConfigValues& overrides, std::string_view name) {
  const TopicKey* key = find_topic_key(name);
  if (key == nullptr) return {};
  if (const auto at = overrides.find(std::string(name)); at != overrides.end() && read_config_value(*key, at->second)) {
    return {ConfigSource::dynamic_topic, std::string(name)};
  }
  if (key->broker_key == nullptr) return {};
  for (const std::string& broker_key : broker_synonym_names(key->broker_key)) {
    for (const ConfigSynonym& synonym : broker_synonyms(config, image, broker_key)) {
      if (synonym.name != broker_key) continue;
      if (synonym.source != ConfigSource::default_value) return {synonym.source, broker_key};
      break;
    }
  }
  return {};
}

storage::LogConfig make_log_config(const Config& config, const Image& image, const ConfigValues& overrides) {
  Reader reader(config, image, overrides);
  storage::LogConfig log;
  log.segment_bytes = reader.bytes("segment.bytes");
  // A topic-level setting for tests, which may be smaller than segment.bytes can be; below one byte every batch rolls.
  if (auto own = whole(reader.value("internal.segment.bytes"))) log.segment_bytes = {std::max<std::int64_t>(*own, 1)};
  log.segment_ms = reader.duration("segment.ms");
  log.segment_jitter_ms = reader.duration("segment.jitter.ms");
  log.segment_index_bytes = reader.bytes("segment.index.bytes");
  log.index_interval_bytes = reader.bytes("index.interval.bytes");
  log.retention_ms = reader.duration("retention.ms");
  log.retention_bytes = reader.bytes("retention.bytes");
  log.max_message_bytes = reader.bytes("max.message.bytes");
  log.flush_messages = reader.integer("flush.messages");
  log.flush_ms = reader.duration("flush.ms");
  log.file_delete_delay_ms = reader.duration("file.delete.delay.ms");
  log.delete_retention_ms = reader.duration("delete.retention.ms");
  log.min_compaction_lag_ms = reader.duration("min.compaction.lag.ms");
  log.max_compaction_lag_ms = reader.duration("max.compaction.lag.ms");
  if (auto ratio = reader.value("min.cleanable.dirty.ratio")) log.min_cleanable_dirty_ratio = ratio->real;
  if (auto policy = reader.value("cleanup.policy")) {
    log.cleanup_delete = std::ranges::count(policy->items, "delete") > 0;
    log.cleanup_compact = std::ranges::count(policy->items, "compact") > 0;
  }
  log.retention_ms_source = reader.source("retention.ms");
  log.retention_bytes_source = reader.source("retention.bytes");
  log.cleanup_policy_source = reader.source("cleanup.policy");
  log.preallocate = reader.integer("preallocate") != 0;
  log.compression = compression_of(reader);
  log.gzip_level = reader.small("compression.gzip.level");
  log.lz4_level = reader.small("compression.lz4.level");
  log.zstd_level = reader.small("compression.zstd.level");
  auto timestamp_type = reader.value("message.timestamp.type");
  log.message_timestamp_type = timestamp_type && timestamp_type->text == "LogAppendTime"
                                   ? record::TimestampType::log_append_time
                                   : record::TimestampType::create_time;
  log.message_timestamp_before_max_ms = reader.duration("message.timestamp.before.max.ms");
  log.message_timestamp_after_max_ms = reader.duration("message.timestamp.after.max.ms");
  log.max_decompressed_message_bytes = reader.bytes("max.decompressed.message.bytes");
  log.min_insync_replicas = reader.small("min.insync.replicas");
  return log;
}

storage::LogConfig make_log_config(const Config& config, const Image& image, const std::string& topic) {
  return make_log_config(config, image, image.config({metadata::ResourceType::topic, topic}));
}

}  // namespace cordwood::broker::configs
