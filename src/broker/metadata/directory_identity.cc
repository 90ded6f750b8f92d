#include "broker/metadata/directory_identity.h"

#include <fmt/format.h>

#include <algorithm>

#include "broker/metadata/adoption.h"
#include "broker/metadata/metadata_log.h"
#include "storage/directory_files.h"

namespace cordwood::broker::metadata {
namespace {

struct Contents {
  bool partitions = false;    // of topics
  bool metadata_log = false;  // __cluster_metadata-0
  bool any() const { return partitions || metadata_log; }
};

Result<Contents> contents_of(io::FileSystem& fs, const io::Path& directory) {
  Contents contents;
  for (const auto& entry : TRY(fs.list(directory))) {
    if (entry.kind != io::DirectoryEntry::Kind::directory) continue;
    if (entry.name == kMetadataPartition) {
      contents.metadata_log = true;
    } else if (storage::parse_partition_directory(entry.name)) {
      contents.partitions = true;
    }
  }
  return contents;
}

Error refused(std::string sentence) { return Error{Errc::invalid, std::move(sentence)}; }

Result<void> check_meta(const storage::LogDirectory& directory, const ControllerOptions& options,
                        const std::optional<std::string>& cluster_id) {
  io::Path file = io::join(directory.path, storage::kMetaProperties);
  if (directory.meta->node_id != options.node_id) {
    return refused(fmt::format("{}: stored node id {} does not match the configured node.id {}", file, directory.meta->node_id,
                               options.node_id));
  }
  if (cluster_id && directory.meta->cluster_id != *cluster_id) {
    return refused(
        fmt::format("Invalid cluster.id in: {}. Expected {}, but read {}", file, *cluster_id, directory.meta->cluster_id));
  }
  return {};
}

const storage::LogDirectory* find_directory(const storage::LogManager& logs, const io::Path& path) {
  auto at = std::ranges::find(logs.directories(), path, &storage::LogDirectory::path);
  return at == logs.directories().end() ? nullptr : &*at;
}

// A new log directory's own name is in its parent, and so on upwards: without this a power cut takes the whole directory.
// Parents that we may not open were not made by us.
void sync_names_above(io::FileSystem& fs, const io::Path& directory) {
  for (io::Path path = directory;;) {
    io::Path parent(io::parent_of(path));
    if (parent == path || !fs.sync_directory(parent)) return;
    path = std::move(parent);
  }
}

// Whether a snapshot or the log itself says what the cluster is.
Result<bool> has_records(io::FileSystem& fs, const io::Path& log_dir) {
  io::Path directory = io::join(log_dir, kMetadataPartition);
  if (!TRY(fs.exists(directory))) return false;
  if (!TRY(list_snapshots(fs, directory)).empty()) return true;
  for (const auto& entry : TRY(fs.list(directory))) {
    if (!entry.name.ends_with(".log")) continue;
    if (TRY(fs.status(io::join(directory, entry.name))).size.value > 0) return true;
  }
  return false;
}

// Whether there is anything from which the metadata could come. The voters alone are not enough: a crash while formatting
// leaves them so.
Result<bool> has_metadata(io::FileSystem& fs, const io::Path& log_dir) {
  if (TRY(fs.exists(io::join(log_dir, kBootstrapCheckpoint)))) return true;
  if (TRY(has_records(fs, log_dir))) return true;
  io::Path zero = io::join(io::join(log_dir, kMetadataPartition), snapshot_file_name({}));
  if (!TRY(fs.exists(zero))) return false;
  return !TRY(read_snapshot_file(fs, zero)).records.empty();
}

}  // namespace

Result<DirectoryIdentity> identify_directories(const storage::LogEnvironment& environment, storage::LogManager& logs,
                                               const ControllerOptions& options) {
  io::FileSystem& fs = *environment.fs;
  std::optional<std::string> cluster_id = options.cluster_id;
  std::vector<io::Path> without_meta;
  io::Path with_partitions;  // one of them, for the sentence
  std::vector<MetadataRecord> adopted;
  bool holds_anything = false;
  for (const storage::LogDirectory& directory : logs.directories()) {
    if (directory.offline) continue;
    Contents contents = TRY(contents_of(fs, directory.path));
    holds_anything = holds_anything || contents.any();
    if (contents.partitions) with_partitions = directory.path;
    if (contents.metadata_log && directory.path != options.metadata_dir) {
      return refused(fmt::format("{} holds {}, but the metadata log directory is {}", directory.path, kMetadataPartition,
                                 options.metadata_dir));
    }
    if (!directory.meta) {
      without_meta.push_back(directory.path);
      continue;
    }
    TRY(check_meta(directory, options, cluster_id));
    if (!cluster_id) cluster_id = directory.meta->cluster_id;
  }

  if (!without_meta.empty() && holds_anything) {
    return refused(fmt::format("No `meta.properties` found in {} (a directory that never was formatted, or not of this "
                               "broker), while there are partitions in log.dirs",
                               without_meta.front()));
  }
  if (!without_meta.empty()) {
    if (!cluster_id) cluster_id = Uuid::random(*environment.random).to_string();
    TRY(logs.format(*cluster_id, options.node_id));
    for (const io::Path& directory : without_meta) sync_names_above(fs, directory);
  }

  const storage::LogDirectory* metadata_dir = find_directory(logs, options.metadata_dir);
  if (metadata_dir == nullptr) {
    return refused(fmt::format("the metadata log directory {} is none of log.dirs", options.metadata_dir));
  }
  if (metadata_dir->offline) return *metadata_dir->offline;
  if (!cluster_id) return refused("no log directory is online");
  // Also when only the bootstrap files are there: a take-over that was cut short goes on.
  if (!with_partitions.empty() && !TRY(has_records(fs, metadata_dir->path))) {
    adopted = TRY(adopted_records(fs, logs, options.node_id));
    environment.logger->warn(
        "{} holds partitions, but {} holds no metadata that would name them: they are taken over by a stand-alone broker, "
        "under the names and ids of their directories and with the broker's default settings",
        with_partitions, metadata_dir->path);
    for (const MetadataRecord& record : adopted) {
      if (const auto* topic = std::get_if<TopicRecord>(&record.body)) {
        environment.logger->info("topic {} with id {} is taken over", topic->name, topic->topic_id.to_string());
      }
    }
  }
  if (!TRY(has_metadata(fs, metadata_dir->path))) {
    BootstrapFiles files{options.node_id, metadata_dir->id, options.controller_listener, default_bootstrap_records()};
    TRY(write_bootstrap_files(fs, metadata_dir->path, files, environment.clock->now()));
  }
  return DirectoryIdentity{*cluster_id, metadata_dir->path, metadata_dir->id, std::move(adopted)};
}

}  // namespace cordwood::broker::metadata
