#include "offline/data_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "base/properties.h"
#include "broker/configs/topic_configs.h"
#include "broker/metadata/metadata_log.h"
#include "storage/checkpoint_file.h"
#include "storage/segment_file_name.h"

namespace cordwood::offline {
namespace {

constexpr std::string_view kMetadataTopic = "__cluster_metadata";

std::vector<std::string> split_paths(std::string_view dirs) {
  std::vector<std::string> paths;
  while (!dirs.empty()) {
    const std::size_t comma = std::min(dirs.find(','), dirs.size());
    std::string path(dirs.substr(0, comma));
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (!path.empty()) paths.push_back(std::move(path));
    dirs.remove_prefix(std::min(comma + 1, dirs.size()));
  }
  return paths;
}

// Of a server.properties that may name listeners, security and a cluster that we do not serve, what logs are governed by.
bool concerns_logs(std::string_view key) {
  for (std::string_view prefix : {"log.", "offsets.topic.", "message.", "metadata.", "producer.id.", "cordwood."}) {
    if (key.starts_with(prefix)) return true;
  }
  for (std::string_view name : {"node.id", "broker.id", "compression.type", "compression.gzip.level", "compression.lz4.level",
                                "compression.zstd.level", "min.insync.replicas", "num.partitions"}) {
    if (key == name) return true;
  }
  return false;
}

Result<broker::Config> read_config(io::FileSystem& fs, const std::string& path) {
  const ByteVector bytes = TRY(io::read_file(fs, path));
  std::vector<std::pair<std::string, std::string>> kept;
  for (auto& [key, value] : TRY(parse_properties(as_text(bytes)))) {
    if (concerns_logs(key)) kept.emplace_back(key, value);
  }
  MemoryLogger quiet;
  return broker::Config::from_properties(kept, quiet);
}

class DirectoryReading {
 public:
  DirectoryReading(io::FileSystem& fs, DataDirectory& data) : fs_(fs), data_(data) {}

  Result<void> log_dir(const io::Path& path) {
    const std::size_t index = data_.log_dirs.size();
    LogDirOnDisk& found = data_.log_dirs.emplace_back();
    found.path = path;
    if (auto meta = storage::read_meta_properties(fs_, path)) {
      found.meta = *meta;
    } else {
      warn(meta.error());
    }
    found.clean = fs_.exists(io::join(path, storage::kCleanShutdown)).has_value() &&
                  *fs_.exists(io::join(path, storage::kCleanShutdown));
    found.in_use = is_locked(path);
    const auto starts = checkpoint(path, storage::kLogStartCheckpoint);
    const auto recovery = checkpoint(path, storage::kRecoveryPointCheckpoint);
    const auto committed = checkpoint(path, storage::kReplicationCheckpoint);
    const auto cleaned = checkpoint(path, storage::kCleanerCheckpoint);
    for (const io::DirectoryEntry& entry : TRY(fs_.list(path))) {
      if (entry.kind == io::DirectoryEntry::Kind::file || entry.kind == io::DirectoryEntry::Kind::other) continue;
      const auto name = storage::parse_partition_directory(entry.name);
      if (!name) continue;
      PartitionOnDisk partition = describe(io::join(path, entry.name), *name, index);
      if (name->kind == storage::PartitionDirectoryName::Kind::current) {
        const auto look_up = [&](const storage::OffsetsByPartition& offsets) -> std::optional<Offset> {
          const auto at = offsets.find(partition.partition);
          if (at == offsets.end()) return std::nullopt;
          return at->second;
        };
        partition.log_start = look_up(starts);
        partition.recovery_point = look_up(recovery);
        partition.high_watermark = look_up(committed);
        partition.cleaned_to = look_up(cleaned);
      }
      data_.partitions.push_back(std::move(partition));
    }
    return {};
  }

  void single_partition(const io::Path& path, const storage::PartitionDirectoryName& name) {
    const std::size_t index = data_.log_dirs.size();
    data_.log_dirs.push_back({.path = io::Path(io::parent_of(path)), .is_whole = false});
    data_.partitions.push_back(describe(path, name, index));
  }

  bool has_segments_in(const io::Path& log_dir) const {
    return std::ranges::any_of(data_.partitions, [&](const PartitionOnDisk& partition) {
      return data_.log_dirs[partition.log_dir].path == log_dir && !partition.segments.empty();
    });
  }

  void metadata(const io::Path& log_dir) {
    MemoryLogger quiet;
    auto loaded = broker::metadata::load_metadata(fs_, log_dir, quiet);
    if (!loaded) {
      data_.warnings.push_back(fmt::format("the metadata log is not used: {}", loaded.error().message()));
      return;
    }
    data_.image = std::make_shared<const broker::metadata::Image>(std::move(loaded->image));
    data_.has_metadata = loaded->has_records;
  }

 private:
  void warn(const Error& error) { data_.warnings.push_back(error.message()); }

  storage::OffsetsByPartition checkpoint(const io::Path& log_dir, const char* name) {
    auto read = storage::read_offset_checkpoint(fs_, io::join(log_dir, name));
    if (read) return *std::move(read);
    warn(read.error());
    return {};
  }

  bool is_locked(const io::Path& log_dir) {
    const Result<bool> locked = fs_.is_locked(io::join(log_dir, storage::kLockFile));
    return locked && *locked;
  }

  PartitionOnDisk describe(const io::Path& directory, const storage::PartitionDirectoryName& name, std::size_t log_dir) {
    PartitionOnDisk partition;
    partition.partition = name.partition;
    partition.kind = name.kind;
    partition.directory = directory;
    partition.log_dir = log_dir;
    if (auto id = storage::read_partition_metadata(fs_, directory)) {
      partition.topic_id = *id;
    } else {
      warn(id.error());
    }
    const auto files = fs_.list(directory);
    if (!files) {
      warn(files.error());
      return partition;
    }
    for (const io::DirectoryEntry& file : *files) {
      const storage::SegmentFileName parsed = storage::parse_segment_file_name(file.name);
      if (parsed.kind != storage::SegmentFileKind::log || parsed.state != storage::SegmentFileState::current) continue;
      if (!parsed.offset) continue;
      const auto status = fs_.status(io::join(directory, file.name));
      if (status) {
        partition.segments.push_back({*parsed.offset, status->size});
      } else if (status.error().code != Errc::not_found) {
        warn(status.error());
      }
    }
    std::ranges::sort(partition.segments, {}, &SegmentOnDisk::base_offset);
    return partition;
  }

  io::FileSystem& fs_;
  DataDirectory& data_;
};

}  // namespace

io::Path PartitionOnDisk::log_file(const SegmentOnDisk& segment) const {
  return io::join(directory, storage::segment_file_name(segment.base_offset, storage::kLogSuffix));
}

bool DataDirectory::in_use() const { return std::ranges::any_of(log_dirs, &LogDirOnDisk::in_use); }

storage::LogConfig DataDirectory::config_of(const std::string& topic) const {
  return broker::configs::make_log_config(config, *image, topic);
}

Result<DataDirectory> open_data_directory(io::FileSystem& fs, std::string_view dirs,
                                          const std::optional<std::string>& config_file) {
  DataDirectory data;
  data.image = std::make_shared<const broker::metadata::Image>();
  if (config_file) data.config = TRY(read_config(fs, *config_file));
  DirectoryReading reading(fs, data);
  std::vector<io::Path> with_metadata;
  for (const std::string& path : split_paths(dirs)) {
    const io::FileStatus status = TRY(fs.status(path));
    if (!status.is_directory) return Error{Errc::not_found, fmt::format("{} is no directory", path)};
    const auto name = storage::parse_partition_directory(io::file_name(path));
    const bool is_log_dir = TRY(fs.exists(io::join(path, storage::kMetaProperties)));
    if (name && !is_log_dir) {
      reading.single_partition(path, *name);
      continue;
    }
    TRY(reading.log_dir(path));
    if (!is_log_dir && !reading.has_segments_in(path)) {
      return Error{Errc::not_found,
                   fmt::format("{} is no log directory: it has neither meta.properties nor a partition with a segment", path)};
    }
    if (TRY(fs.exists(io::join(path, broker::metadata::kMetadataPartition)))) with_metadata.push_back(path);
  }
  if (data.log_dirs.empty()) return Error{Errc::invalid, "no directory is named"};
  if (!with_metadata.empty()) reading.metadata(with_metadata.front());
  if (with_metadata.size() > 1) {
    data.warnings.push_back(fmt::format("there is more than one metadata log: that of {} is used", with_metadata.front()));
  }
  if (!config_file || !data.config.given.contains("node.id")) {
    for (const LogDirOnDisk& log_dir : data.log_dirs) {
      if (log_dir.meta) data.config.node_id = log_dir.meta->node_id;
    }
  }
  std::ranges::stable_sort(data.partitions, {}, &PartitionOnDisk::partition);
  return data;
}

bool PartitionChoice::matches(const TopicPartition& tested) const {
  if (partition && *partition != tested.partition) return false;
  if (topic.ends_with('*')) return tested.topic.starts_with(std::string_view(topic).substr(0, topic.size() - 1));
  return tested.topic == topic;
}

Result<PartitionChoice> parse_choice(std::string_view text) {
  PartitionChoice choice;
  const std::size_t colon = text.rfind(':');
  choice.topic = std::string(text.substr(0, colon));
  if (colon == std::string_view::npos) return choice;
  const std::string_view number = text.substr(colon + 1);
  std::int32_t partition = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), partition);
  if (error != std::errc() || end != number.data() + number.size() || partition < 0) {
    return Error{Errc::invalid, fmt::format("'{}' in '{}' is no partition", number, text)};
  }
  choice.partition = PartitionId{partition};
  return choice;
}

Result<std::vector<PartitionChoice>> parse_choices(const std::vector<std::string>& choices, std::span<const TopicPartition> there) {
  std::vector<PartitionChoice> parsed;
  for (const std::string& text : choices) {
    parsed.push_back(TRY(parse_choice(text)));
    if (std::ranges::any_of(there, [&](const TopicPartition& partition) { return parsed.back().matches(partition); })) continue;
    const auto name = storage::parse_partition_directory(text);
    if (!name || std::ranges::find(there, name->partition) == there.end()) {
      return Error{Errc::not_found, fmt::format("no topic and no partition here is called {}", text)};
    }
    parsed.back() = {name->partition.topic, name->partition.partition};
  }
  return parsed;
}

Result<std::vector<const PartitionOnDisk*>> choose(const DataDirectory& data, const std::vector<std::string>& choices) {
  std::vector<const PartitionOnDisk*> current;
  std::vector<TopicPartition> there;
  for (const PartitionOnDisk& partition : data.partitions) {
    if (partition.kind != storage::PartitionDirectoryName::Kind::current) continue;
    current.push_back(&partition);
    there.push_back(partition.partition);
  }
  const std::vector<PartitionChoice> parsed = TRY(parse_choices(choices, there));
  std::erase_if(current, [&](const PartitionOnDisk* partition) {
    if (parsed.empty()) return partition->partition.topic == kMetadataTopic;
    return std::ranges::none_of(parsed, [&](const PartitionChoice& choice) { return choice.matches(partition->partition); });
  });
  return current;
}

}  // namespace cordwood::offline
