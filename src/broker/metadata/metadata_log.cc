#include "broker/metadata/metadata_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "broker/metadata/features.h"

namespace cordwood::broker::metadata {
namespace {

// Kafka's largest batch of the metadata log is 8 MiB; half of it leaves room for everything around the records.
constexpr std::size_t kLargestBatch = 4 * MiB;
constexpr std::size_t kMostRecordsPerBatch = 10'000;

storage::LogConfig metadata_log_config(const MetadataLogSettings& settings) {
  storage::LogConfig config;
  config.segment_bytes = settings.segment_bytes;
  config.segment_ms = settings.segment_ms;
  config.max_message_bytes = {8 * MiB};
  config.retention_ms = {-1};
  config.cleanup_delete = false;
  return config;
}

// Cuts an operation into pieces that fit into a batch each.
std::vector<std::span<const MetadataRecord>> pieces_of(std::span<const MetadataRecord> records) {
  std::vector<std::span<const MetadataRecord>> pieces;
  std::size_t start = 0;
  std::size_t size = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::size_t more = encode_record(records[i]).size();
    if (i > start && (size + more > kLargestBatch || i - start >= kMostRecordsPerBatch)) {
      pieces.push_back(records.subspan(start, i - start));
      start = i;
      size = 0;
    }
    size += more;
  }
  if (start < records.size()) pieces.push_back(records.subspan(start));
  return pieces;
}

}  // namespace

std::vector<MetadataRecord> default_bootstrap_records() {
  std::vector<MetadataRecord> records;
  records.push_back({FeatureLevelRecord{std::string(kMetadataVersion), kDefaultMetadataVersion}, 0});
  records.push_back({FeatureLevelRecord{std::string(kGroupVersion), 1}, 0});
  records.push_back({FeatureLevelRecord{std::string(kTransactionVersion), 2}, 0});
  return records;
}

Result<void> write_bootstrap_files(io::FileSystem& fs, const io::Path& log_dir, const BootstrapFiles& files,
                                   TimestampMs now) {
  SnapshotContent voters;
  voters.kraft_version = 1;
  voters.voters.push_back({files.node_id, files.directory_id, {files.controller_listener}, 0, 1});
  io::Path directory = io::join(log_dir, kMetadataPartition);
  TRY(fs.create_directories(directory));
  TRY(write_snapshot_file(fs, io::join(directory, snapshot_file_name({})), voters, {}, now, now));

  // Last, since its presence says that the other one is there. The directory's sync at its end covers both.
  SnapshotContent features;
  features.records = files.features;
  return write_snapshot_file(fs, io::join(log_dir, kBootstrapCheckpoint), features, {}, now, now);
}

Result<std::unique_ptr<MetadataLog>> MetadataLog::open(storage::LogEnvironment environment, const LoadedMetadata& loaded,
                                                       const MetadataLogSettings& settings) {
  storage::OpenOptions options;
  options.config = metadata_log_config(settings);
  // A snapshot alone, without any segment: the log goes on where it ends.
  options.log_start_checkpoint = loaded.walk.has_files ? loaded.walk.start : loaded.end();
  options.is_metadata_log = true;
  TopicPartition partition{"__cluster_metadata", PartitionId{0}};
  std::shared_ptr<storage::PartitionLog> log =
      TRY(storage::PartitionLog::open(environment, loaded.directory, partition, options));
  TRY(log->set_topic_id(kMetadataTopicId));
  if (log->log_end_offset() != loaded.end()) {
    return Error{Errc::corrupt, fmt::format("{}: reading ended at offset {}, opening at {}", loaded.directory, loaded.end(),
                                            log->log_end_offset())};
  }
  if (loaded.walk.torn_tail) {
    const TornTail& tail = *loaded.walk.torn_tail;
    environment.logger->warn("{}: cut {} bytes at position {}, a write that a crash interrupted ({})", tail.file, tail.size,
                             tail.position, tail.reason);
  }
  std::unique_ptr<MetadataLog> opened(new MetadataLog(environment, std::move(log), settings.retention));
  opened->bytes_since_snapshot_ = loaded.bytes_since_snapshot;
  opened->last_timestamp_ = environment.clock->now();
  opened->last_snapshot_at_ = environment.clock->monotonic();
  TRY(opened->find_snapshots(loaded.snapshot.value_or(SnapshotId{})));
  return opened;
}

Result<void> MetadataLog::write(BytesView batch) {
  storage::AppendResult appended = log_->append_as_follower(batch);
  if (appended.fault != storage::AppendFault::none) {
    if (appended.error) return *appended.error;
    return Error{Errc::io, "the metadata log refused a batch of its own controller"};
  }
  bytes_since_snapshot_ += ByteCount{static_cast<std::int64_t>(batch.size())};
  return {};
}

Result<void> MetadataLog::append(std::span<const ControlRecord> records, std::int32_t epoch) {
  last_timestamp_ = environment_.clock->now();
  return write(encode_batch(records, {end(), epoch, last_timestamp_}));
}

Result<std::vector<MetadataRecord>> MetadataLog::append(std::vector<MetadataRecord> records, std::int32_t epoch,
                                                        std::int16_t metadata_version, Atomic atomic) {
  if (records.empty()) return records;
  last_timestamp_ = environment_.clock->now();
  if (atomic == Atomic::yes && metadata_version >= kMetadataTransactionsFrom && pieces_of(records).size() > 1) {
    records.insert(records.begin(), {BeginTransactionRecord{"Large operation"}, 0});
    records.push_back({EndTransactionRecord{}, 0});
  }
  for (std::span<const MetadataRecord> piece : pieces_of(records)) {
    TRY(write(encode_batch(piece, {end(), epoch, last_timestamp_})));
  }
  return records;
}

Result<void> MetadataLog::flush() {
  TRY(log_->flush());
  log_->set_high_watermark(log_->log_end_offset());
  return {};
}

Result<void> MetadataLog::find_snapshots(SnapshotId newest) {
  io::FileSystem& fs = *environment_.fs;
  for (const auto& entry : TRY(fs.list(log_->directory()))) {
    std::optional<SnapshotId> id = parse_snapshot_file_name(entry.name);
    if (entry.kind != io::DirectoryEntry::Kind::file || !id || *id > newest) continue;
    io::Path path = io::join(log_->directory(), entry.name);
    std::shared_ptr<io::File> file = TRY(fs.open(path, io::OpenMode::read));
    snapshots_.push_back({*id, TRY(file->size()), TRY(read_snapshot_timestamp(fs, path))});
  }
  std::ranges::sort(snapshots_, {}, &SnapshotFacts::id);
  return {};
}

Result<void> MetadataLog::write_snapshot(const Image& image) {
  io::FileSystem& fs = *environment_.fs;
  SnapshotId id{image.next_offset, image.epoch};
  io::Path path = io::join(log_->directory(), snapshot_file_name(id));
  SnapshotContent content;
  content.kraft_version = image.kraft_version;
  content.voters = image.voters;
  content.records = image_to_records(image);
  TRY(write_snapshot_file(fs, path, content, id, last_timestamp_, environment_.clock->now()));
  bytes_since_snapshot_ = {};
  last_snapshot_at_ = environment_.clock->monotonic();
  std::shared_ptr<io::File> file = TRY(fs.open(path, io::OpenMode::read));
  snapshots_.push_back({id, TRY(file->size()), last_timestamp_});
  return {};
}

Result<void> MetadataLog::apply_retention() {
  TRY(log_->remove_retired_files());
  if (snapshots_.size() < 2) return {};
  std::vector<SnapshotVerdict> gone = snapshots_that_go(snapshots_, log_->segments(), log_->log_start_offset(), retention_,
                                                        environment_.clock->now());
  if (gone.empty()) return {};
  // The log first: without the older snapshots it is read from the oldest one that stays, and never the other way round.
  TRY(log_->advance_log_start(gone.back().log_start));
  TRY(log_->apply_retention(environment_.clock->now()));
  for (const SnapshotVerdict& verdict : gone) {
    std::string name = snapshot_file_name(verdict.id);
    environment_.logger->info("Removing the metadata snapshot {}, and the log below offset {}: {}", name, verdict.log_start,
                              verdict.reason);
    TRY(environment_.fs->remove_file(io::join(log_->directory(), name)));
    snapshots_.erase(snapshots_.begin());
  }
  return {};
}

Result<void> MetadataLog::close_cleanly() { return log_->close_cleanly(); }

}  // namespace cordwood::broker::metadata
