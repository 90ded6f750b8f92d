#include "broker/metadata/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "broker/metadata/apply.h"
#include "broker/metadata/features.h"
#include "broker/metadata/log_walk.h"
#include "broker/metadata/metadata_batch.h"
#include "broker/metadata/wire_values.h"

namespace cordwood::broker::metadata {
namespace {

constexpr std::string_view kSuffix = ".checkpoint";
constexpr std::size_t kOffsetDigits = 20;
constexpr std::size_t kEpochDigits = 10;
constexpr std::size_t kRecordsPerBatch = 1024;
constexpr std::int32_t kNoBroker = -1;

template <class Number>
std::optional<Number> parse_digits(std::string_view text) {
  Number value = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size() || text.starts_with('-')) return std::nullopt;
  return value;
}

template <class EndPoint>
void put_endpoints(const std::vector<Endpoint>& from, std::vector<EndPoint>& into) {
  for (const Endpoint& endpoint : from) {
    EndPoint& entry = into.emplace_back();
    entry.name = endpoint.name;
    entry.host = endpoint.host;
    entry.port = endpoint.port;
    entry.security_protocol = endpoint.security_protocol;
  }
}

template <class Feature>
void put_features(const std::map<std::string, FeatureRange>& from, std::vector<Feature>& into) {
  for (const auto& [name, range] : from) {
    Feature& entry = into.emplace_back();
    entry.name = name;
    entry.min_supported_version = range.min;
    entry.max_supported_version = range.max;
  }
}

RegisterBrokerRecord to_record(const BrokerRegistration& broker) {
  RegisterBrokerRecord record;
  record.broker_id = broker.id.value;
  record.is_migrating_zk_broker = broker.is_migrating_zk_broker;
  record.incarnation_id = broker.incarnation;
  record.broker_epoch = broker.epoch;
  put_endpoints(broker.endpoints, record.end_points);
  put_features(broker.features, record.features);
  record.rack = broker.rack;
  record.fenced = broker.fenced;
  record.in_controlled_shutdown = broker.in_controlled_shutdown;
  record.log_dirs = broker.log_dirs;
  record.cordoned_log_dirs = broker.cordoned_log_dirs;
  return record;
}

RegisterControllerRecord to_record(const ControllerRegistration& controller) {
  RegisterControllerRecord record;
  record.controller_id = controller.id.value;
  record.incarnation_id = controller.incarnation;
  record.zk_migration_ready = controller.zk_migration_ready;
  put_endpoints(controller.endpoints, record.end_points);
  put_features(controller.features, record.features);
  return record;
}

PartitionRecord to_record(Uuid topic_id, PartitionId index, const PartitionState& partition) {
  PartitionRecord record;
  record.partition_id = index.value;
  record.topic_id = topic_id;
  record.replicas = ids(partition.replicas);
  record.isr = ids(partition.isr);
  record.removing_replicas = ids(partition.removing_replicas);
  record.adding_replicas = ids(partition.adding_replicas);
  record.leader = partition.leader ? partition.leader->value : kNoLeader;
  record.leader_recovery_state = partition.leader_recovery_state;
  record.leader_epoch = partition.leader_epoch;
  record.partition_epoch = partition.partition_epoch;
  record.directories = partition.directories;
  // Null, not empty, when there are none (seen in snapshots of Kafka 4.4.0).
  if (!partition.eligible_leader_replicas.empty()) record.eligible_leader_replicas = ids(partition.eligible_leader_replicas);
  if (!partition.last_known_elr.empty()) record.last_known_elr = ids(partition.last_known_elr);
  return record;
}

// The image's records one by one.
class Writer {
 public:
  explicit Writer(const Image& image) : image_(image), metadata_version_(image.metadata_version()) {}

  std::vector<MetadataRecord> write() {
    features();
    for (const auto& [id, broker] : image_.brokers) add(to_record(broker));
    for (const auto& [id, controller] : image_.controllers) add(to_record(controller));
    for (const auto& [name, topic] : image_.topics) {
      add(TopicRecord{topic->name, topic->id});
      for (const auto& [index, partition] : topic->partitions) add(to_record(topic->id, index, partition));
    }
    configs();
    quotas();
    if (image_.next_producer_id > 0) add(ProducerIdsRecord{kNoBroker, kNoBroker, image_.next_producer_id});
    security();
    return std::move(records_);
  }

 private:
  template <class Record>
  void add(Record record) {
    records_.push_back(record_for(metadata_version_, std::move(record)));
  }

  void features() {
    add(FeatureLevelRecord{std::string(kMetadataVersion), metadata_version_});
    for (const auto& [name, level] : image_.features) {
      if (name != kMetadataVersion) add(FeatureLevelRecord{name, level});
    }
  }

  void configs() {
    for (const auto& [resource, values] : image_.configs) {
      for (const auto& [name, value] : values) {
        add(ConfigRecord{static_cast<std::int8_t>(resource.type), resource.name, name, value});
      }
    }
  }

  void quotas() {
    for (const auto& [entity, limits] : image_.quotas) {
      for (const auto& [key, value] : limits) {
        ClientQuotaRecord record;
        for (const auto& [type, name] : entity.parts) record.entity.push_back({type, name});
        record.key = key;
        record.value = value;
        add(std::move(record));
      }
    }
  }

  void security() {
    for (const auto& [id, acl] : image_.acls) {
      add(AccessControlEntryRecord{id, acl.resource_type, acl.resource_name, acl.pattern_type, acl.principal, acl.host,
                                   acl.operation, acl.permission_type});
    }
    for (const auto& [key, credential] : image_.scram) {
      add(UserScramCredentialRecord{key.first, key.second, credential.salt, credential.stored_key, credential.server_key,
                                    credential.iterations});
    }
    for (const auto& [id, token] : image_.tokens) {
      add(DelegationTokenRecord{token.owner, token.requester, token.renewers, token.issue_timestamp, token.max_timestamp,
                                token.expiration_timestamp, token.token_id});
    }
  }

  const Image& image_;
  std::int16_t metadata_version_;
  std::vector<MetadataRecord> records_;
};

}  // namespace

std::string snapshot_file_name(SnapshotId id) {
  return fmt::format("{:0{}}-{:0{}}{}", id.end_offset.value, kOffsetDigits, id.epoch, kEpochDigits, kSuffix);
}

std::optional<SnapshotId> parse_snapshot_file_name(std::string_view name) {
  if (name.size() != kOffsetDigits + 1 + kEpochDigits + kSuffix.size() || !name.ends_with(kSuffix) ||
      name[kOffsetDigits] != '-') {
    return std::nullopt;
  }
  auto offset = parse_digits<std::int64_t>(name.substr(0, kOffsetDigits));
  auto epoch = parse_digits<std::int32_t>(name.substr(kOffsetDigits + 1, kEpochDigits));
  if (!offset || !epoch) return std::nullopt;
  return SnapshotId{{*offset}, *epoch};
}

Result<std::vector<SnapshotId>> list_snapshots(io::FileSystem& fs, const io::Path& directory) {
  std::vector<SnapshotId> found;
  if (!TRY(fs.exists(directory))) return found;
  for (const auto& entry : TRY(fs.list(directory))) {
    auto id = parse_snapshot_file_name(entry.name);
    if (entry.kind == io::DirectoryEntry::Kind::file && id && *id != SnapshotId{}) found.push_back(*id);
  }
  std::ranges::sort(found);
  return found;
}

Result<SnapshotContent> read_snapshot_file(io::FileSystem& fs, const io::Path& path) {
  SnapshotContent content;
  bool header_seen = false;
  bool footer_seen = false;
  BatchVisitor visitor;
  visitor.metadata = [&](const MetadataRecord& record, Offset) -> Result<void> {
    content.records.push_back(record);
    return {};
  };
  visitor.control = [&](const ControlRecord& record, Offset) -> Result<void> {
    if (std::holds_alternative<SnapshotHeaderRecord>(record)) header_seen = true;
    if (std::holds_alternative<SnapshotFooterRecord>(record)) footer_seen = true;
    if (const auto* version = std::get_if<KRaftVersionRecord>(&record)) content.kraft_version = version->kraft_version;
    if (const auto* voters = std::get_if<VotersRecord>(&record)) content.voters = from_record(*voters);
    return {};
  };
  auto visit = [&](const record::BatchView& batch, const std::string& where) -> Result<void> {
    if (footer_seen) return Error{Errc::corrupt, fmt::format("{}: a batch behind the footer", where)};
    TRY(decode_batch(batch, where, visitor));
    if (!header_seen) return Error{Errc::corrupt, fmt::format("{}: the first record is no SNAPSHOT_HEADER", where)};
    return {};
  };
  TRY(walk_batch_file(fs, path, visit));
  if (!footer_seen) return Error{Errc::corrupt, fmt::format("{} is incomplete: it has no footer", path)};
  return content;
}

Result<std::optional<TimestampMs>> read_snapshot_timestamp(io::FileSystem& fs, const io::Path& path) {
  // The header batch is the first one; with the voters in it a few hundred bytes.
  constexpr std::size_t kEnough = 64 * KiB;
  const std::optional<TimestampMs> unreadable;
  std::shared_ptr<io::File> file = TRY(fs.open(path, io::OpenMode::read));
  ByteVector head(kEnough);
  head.resize(TRY(file->read_at({0}, head)));
  Result<record::BatchHeader> header = record::read_header(head);
  if (!header || header->magic != 2 || header->batch_length < 0) return unreadable;
  const auto size = static_cast<std::size_t>(header->total_size().value);
  if (size < record::kHeaderSize || size > head.size()) return unreadable;
  record::BatchView batch(BytesView(head).first(size));
  std::optional<TimestampMs> found;
  BatchVisitor visitor;
  visitor.metadata = [](const MetadataRecord&, Offset) -> Result<void> { return {}; };
  visitor.control = [&](const ControlRecord& record, Offset) -> Result<void> {
    if (const auto* start = std::get_if<SnapshotHeaderRecord>(&record)) found = {start->last_contained_log_timestamp};
    return {};
  };
  if (!batch.crc_is_valid() || !decode_batch(batch, path, visitor)) return unreadable;
  return found;
}

Result<void> write_snapshot_file(io::FileSystem& fs, const io::Path& path, const SnapshotContent& content, SnapshotId id,
                                 TimestampMs last_contained, TimestampMs now) {
  io::Path part = path + ".part";
  std::shared_ptr<io::File> file = TRY(fs.open(part, io::OpenMode::truncate));
  FilePosition position{0};
  BatchPlace place{Offset{0}, id.epoch, now};
  auto append = [&](const ByteVector& batch, std::size_t count) -> Result<void> {
    TRY(file->write_at(position, batch));
    position += ByteCount{static_cast<std::int64_t>(batch.size())};
    place.base_offset += OffsetDelta{static_cast<std::int64_t>(count)};
    return {};
  };

  std::vector<ControlRecord> head;
  head.push_back(SnapshotHeaderRecord{0, last_contained.value});
  if (content.kraft_version.value_or(0) > 0) {
    head.push_back(KRaftVersionRecord{0, *content.kraft_version});
    // A node that is formatted to be told its voters later has none yet, and Kafka no record of them.
    if (!content.voters.empty()) head.push_back(to_record(content.voters));
  }
  TRY(append(encode_batch(std::span<const ControlRecord>(head), place), head.size()));
  std::span<const MetadataRecord> rest = content.records;
  while (!rest.empty()) {
    auto some = rest.first(std::min(rest.size(), kRecordsPerBatch));
    TRY(append(encode_batch(some, place), some.size()));
    rest = rest.subspan(some.size());
  }
  std::vector<ControlRecord> foot{SnapshotFooterRecord{}};
  TRY(append(encode_batch(std::span<const ControlRecord>(foot), place), foot.size()));
  TRY(file->sync());
  TRY(file->close());
  TRY(fs.rename(part, path));
  return fs.sync_directory(io::Path(io::parent_of(path)));
}

std::vector<MetadataRecord> image_to_records(const Image& image) { return Writer(image).write(); }

Result<Image> image_of(const SnapshotContent& content, SnapshotId id) {
  Image base;
  base.kraft_version = content.kraft_version.value_or(0);
  base.voters = content.voters;
  ImageBuilder builder(std::move(base));
  for (const MetadataRecord& record : content.records) TRY(builder.apply(record));
  if (builder.in_transaction()) return Error{Errc::corrupt, "a metadata transaction is left open"};
  builder.set_position(id.end_offset, id.epoch);
  return builder.take();
}

Result<std::optional<LoadedSnapshot>> load_newest_snapshot(io::FileSystem& fs, const io::Path& directory, Logger& logger) {
  std::vector<SnapshotId> snapshots = TRY(list_snapshots(fs, directory));
  for (auto id = snapshots.rbegin(); id != snapshots.rend(); ++id) {
    io::Path path = io::join(directory, snapshot_file_name(*id));
    Result<SnapshotContent> content = read_snapshot_file(fs, path);
    if (!content) {
      if (content.error().code != Errc::corrupt) return content.error();
      logger.warn("The metadata snapshot is passed over: {}", content.error().message());
      continue;
    }
    Result<Image> image = image_of(*content, *id);
    if (!image) return Error{image.error().code, fmt::format("{}: {}", path, image.error().what)};
    return std::optional<LoadedSnapshot>{LoadedSnapshot{*id, std::move(*image)}};
  }
  return std::optional<LoadedSnapshot>{};
}

}  // namespace cordwood::broker::metadata
