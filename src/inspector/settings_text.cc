#include "inspector/settings_text.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "broker/configs/topic_configs.h"

namespace cordwood::inspector {
namespace {

using broker::configs::ConfigEntry;
using broker::configs::ConfigSource;

struct SettingWords {
  std::string_view name;
  std::string_view says;
};

constexpr std::array kWords{
    SettingWords{"cleanup.policy", "What becomes of old segments: 'delete' removes them by time or size, 'compact' keeps the last record of each key."},
    SettingWords{"compression.type", "The codec in which batches are stored; 'producer' keeps what the producer chose."},
    SettingWords{"compression.gzip.level", "How hard gzip tries, where compression.type is gzip."},
    SettingWords{"compression.lz4.level", "How hard lz4 tries, where compression.type is lz4."},
    SettingWords{"compression.zstd.level", "How hard zstd tries, where compression.type is zstd."},
    SettingWords{"delete.retention.ms", "How long a tombstone stays in a compacted log, so that readers see that its key was deleted."},
    SettingWords{"file.delete.delay.ms", "How long the files of a removed segment stay on the disk, renamed to .deleted, for reads under way."},
    SettingWords{"flush.messages", "After how many records an append waits for the disk before it is acknowledged."},
    SettingWords{"flush.ms", "How long records may stay in the page cache only, before they are written to the disk."},
    SettingWords{"index.interval.bytes", "About how many bytes of the log lie between two entries of an index."},
    SettingWords{"max.compaction.lag.ms", "A record that waits longer than this for a compaction makes the log due, however clean it is."},
    SettingWords{"max.message.bytes", "The largest batch that a producer may send."},
    SettingWords{"message.timestamp.after.max.ms", "How far a record's time may lie in the future."},
    SettingWords{"message.timestamp.before.max.ms", "How far a record's time may lie in the past."},
    SettingWords{"message.timestamp.type", "Whose time a record carries: CreateTime the producer's, LogAppendTime the broker's."},
    SettingWords{"min.cleanable.dirty.ratio", "Which part of the log must be uncompacted before the cleaner takes it on."},
    SettingWords{"min.compaction.lag.ms", "How long a record is safe from compaction."},
    SettingWords{"min.insync.replicas", "How many replicas must have a record before acks=all is answered."},
    SettingWords{"preallocate", "Whether a new segment's file gets its full size at once."},
    SettingWords{"retention.bytes", "Segments go, the oldest first, while the rest still holds this much; -1 is no limit."},
    SettingWords{"retention.ms", "A segment goes once its newest record is older than this; -1 is no limit."},
    SettingWords{"segment.bytes", "A new segment begins before this one would grow beyond so many bytes."},
    SettingWords{"segment.index.bytes", "How large an index file may grow; a full one begins a new segment."},
    SettingWords{"segment.jitter.ms", "Up to so much less than segment.ms is waited, so that not all logs roll at once."},
    SettingWords{"segment.ms", "A new segment begins when this one's first record is so old and another one comes."},
    SettingWords{"unclean.leader.election.enable", "Whether a replica that has not everything may lead: records can be lost then."},
};

}  // namespace

const char* source_words(ConfigSource source) {
  switch (source) {
    case ConfigSource::dynamic_topic: return "topic";
    case ConfigSource::dynamic_broker: return "dynamic broker";
    case ConfigSource::dynamic_default_broker: return "dynamic default broker";
    case ConfigSource::static_broker: return "server.properties";
    default: return "default";
  }
}

const char* source_words(storage::SettingSource source) {
  switch (source) {
    case storage::SettingSource::default_value: return source_words(ConfigSource::default_value);
    case storage::SettingSource::static_broker: return source_words(ConfigSource::static_broker);
    case storage::SettingSource::dynamic_cluster: return source_words(ConfigSource::dynamic_default_broker);
    case storage::SettingSource::dynamic_broker: return source_words(ConfigSource::dynamic_broker);
    case storage::SettingSource::topic: return source_words(ConfigSource::dynamic_topic);
  }
  return "";
}

std::vector<api::Setting> settings_of(const broker::Config& config, const broker::metadata::Image& image, const std::string& topic) {
  const auto& overrides = image.config({broker::metadata::ResourceType::topic, topic});
  std::vector<api::Setting> settings;
  for (const ConfigEntry& entry : broker::configs::describe_topic_configs(config, image, overrides)) {
    const auto* words = std::ranges::find(kWords, entry.name, &SettingWords::name);
    if (words == kWords.end()) continue;
    const broker::configs::SettingOrigin origin = broker::configs::origin_of_topic_setting(config, image, overrides, entry.name);
    api::Setting& setting = settings.emplace_back();
    setting.name = entry.name;
    setting.value = entry.value.value_or("");
    setting.source = source_words(origin.source);
    setting.says = words->says;
    if (!origin.given_as.empty() && origin.given_as != entry.name) setting.given_as = origin.given_as;
  }
  return settings;
}

}  // namespace cordwood::inspector
