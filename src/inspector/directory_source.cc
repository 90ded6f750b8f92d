#include "inspector/directory_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "broker/directory_claim.h"
#include "broker/metadata/metadata_log.h"
#include "broker/metadata/topic_name.h"
#include "inspector/settings_text.h"
#include "inspector/views/retention_walk.h"
#include "io/overlay_file_system.h"
#include "offline/session_clock.h"
#include "storage/partition_log.h"

namespace cordwood::inspector {
namespace {

using offline::PartitionOnDisk;
using Kind = storage::PartitionDirectoryName::Kind;

constexpr DurationMs kLookAge{2'000};
// A look that takes long is repeated less often: no more than a tenth of the time goes into it.
constexpr std::int64_t kLookShare = 10;
constexpr std::size_t kOpenLogs = 8;
constexpr std::size_t kOpenSegments = 512;
// More than this is not checked byte by byte, as a start after a crash would do it: the log is opened as if it had been closed well.
constexpr ByteCount kMostRecovered{256 * MiB};

ByteCount size_of(const PartitionOnDisk& partition) {
  ByteCount size{0};
  for (const offline::SegmentOnDisk& segment : partition.segments) size += segment.size;
  return size;
}

Offset start_of(const PartitionOnDisk& partition) {
  const Offset first = partition.segments.empty() ? Offset{0} : partition.segments.front().base_offset;
  return std::max(partition.log_start.value_or(first), first);
}

// What is surely there, without reading a batch: the checkpoints and the base of the last segment.
Offset least_end_of(const PartitionOnDisk& partition) {
  Offset end = start_of(partition);
  if (!partition.segments.empty()) end = std::max(end, partition.segments.back().base_offset);
  if (partition.recovery_point) end = std::max(end, *partition.recovery_point);
  if (partition.high_watermark) end = std::max(end, *partition.high_watermark);
  return end;
}

// Segments of the metadata log go when snapshots hold what they tell, whatever the settings of topics say.
storage::LogConfig log_config_of(const offline::DataDirectory& data, const std::string& topic) {
  storage::LogConfig config = data.config_of(topic);
  if (topic == broker::metadata::kClusterMetadata) {
    config.cleanup_delete = config.cleanup_compact = false;
    config.retention_ms = DurationMs{-1};
  }
  return config;
}

api::PartitionState state_by_name(Kind kind) {
  switch (kind) {
    case Kind::current: return api::PartitionState::online;
    case Kind::deleted: return api::PartitionState::deleted;
    case Kind::future: return api::PartitionState::future;
    case Kind::stray: return api::PartitionState::stray;
  }
  return api::PartitionState::online;
}

bool same_files(const PartitionOnDisk& a, const PartitionOnDisk& b) {
  return a.directory == b.directory && std::ranges::equal(a.segments, b.segments, [](const auto& x, const auto& y) {
    return x.base_offset == y.base_offset && x.size == y.size;
  });
}

}  // namespace

struct DirectorySource::Look {
  offline::DataDirectory data;
  MonotonicNs taken;
  TopicTable table;

  const PartitionOnDisk* find(const TopicPartition& partition) const {
    const auto [first, last] = std::ranges::equal_range(data.partitions, partition, {}, &PartitionOnDisk::partition);
    const PartitionOnDisk* found = nullptr;
    for (auto at = first; at != last; ++at) {
      if (found == nullptr || at->kind == Kind::current) found = &*at;
    }
    return found;
  }
  api::PartitionState state_of(const PartitionOnDisk& partition) const {
    const bool is_known = !data.has_metadata || partition.partition.topic == broker::metadata::kClusterMetadata ||
                          broker::claim_of(*data.image, data.config.node_id, partition.partition, partition.topic_id) ==
                              storage::DirectoryClaim::ours;
    if (partition.kind == Kind::current && !is_known) return api::PartitionState::stray;
    return state_by_name(partition.kind);
  }
  // Exactly where the log ends, where it was closed well.
  std::optional<Offset> end_of(const PartitionOnDisk& partition) const {
    const offline::LogDirOnDisk& log_dir = data.log_dirs[partition.log_dir];
    if (partition.kind == Kind::current && log_dir.clean && !log_dir.in_use && partition.recovery_point) return *partition.recovery_point;
    if (!partition.segments.empty() && partition.segments.back().size == ByteCount{0}) return partition.segments.back().base_offset;
    return {};
  }
};

struct DirectorySource::Opened {
  Opened(io::FileSystem& fs, const Clock& time) : clock(time), overlay(fs, time) {}
  offline::SessionClock clock;
  MemoryLogger logger;
  io::OverlayFileSystem overlay;
  PartitionOnDisk on_disk;  // as it was opened
  std::shared_ptr<storage::PartitionLog> log;
  std::string why_no_log;
};

struct DirectorySource::Slot {
  io::Path directory;
  Mutex mu;  // held while its log is opened
  std::shared_ptr<Opened> opened GUARDED_BY(mu);
};

DirectorySource::DirectorySource(io::FileSystem& fs, const Clock& clock, Random& random, std::string dirs,
                                 std::optional<std::string> config_file)
    : fs_(fs), clock_(clock), random_(random), dirs_(std::move(dirs)), config_file_(std::move(config_file)),
      open_files_(std::make_shared<storage::OpenFiles>(kOpenSegments)) {}

DirectorySource::~DirectorySource() = default;

Result<std::unique_ptr<DirectorySource>> DirectorySource::open(io::FileSystem& fs, const Clock& clock, Random& random,
                                                               std::string dirs, std::optional<std::string> config_file) {
  std::unique_ptr<DirectorySource> source(new DirectorySource(fs, clock, random, std::move(dirs), std::move(config_file)));
  const MonotonicNs began = clock.monotonic();
  auto first = TRY(source->look_now());
  MutexLock lock(source->mu_);
  source->look_ = std::move(first);
  source->looked_ = clock.monotonic();
  source->look_took_ = source->looked_ - began;
  return source;
}

Result<std::shared_ptr<const DirectorySource::Look>> DirectorySource::look_now() {
  auto look = std::make_shared<Look>();
  look->taken = clock_.monotonic();
  look->data = TRY(offline::open_data_directory(fs_, dirs_, config_file_));
  look->table.taken = look->taken;
  const auto& image = *look->data.image;
  TopicFacts* facts = nullptr;
  for (const PartitionOnDisk& partition : look->data.partitions) {
    const std::string& name = partition.partition.topic;
    if (facts == nullptr || facts->name != name) {
      facts = &look->table.topics.emplace_back();
      facts->name = name;
      facts->internal = name.starts_with("__");
      if (const auto topic = image.topic(name)) facts->topic_id = topic->id;
    }
    const api::PartitionState state = look->state_of(partition);
    if (!facts->topic_id && partition.topic_id) facts->topic_id = *partition.topic_id;
    facts->size_bytes += size_of(partition).value;
    if (state != api::PartitionState::online) {
      // A copy under way and what will be deleted are no partitions of the topic.
      if (state == api::PartitionState::stray) {
        ++facts->partitions;
        ++facts->problems;
      }
      continue;
    }
    ++facts->partitions;
    facts->records += (look->end_of(partition).value_or(least_end_of(partition)) - start_of(partition)).value;
  }
  // What the metadata knows and no directory holds.
  std::vector<TopicFacts> missing;
  for (const auto& [name, topic] : image.topics) {
    const TopicFacts* known = look->table.find(name);
    if (known == nullptr) {
      TopicFacts& added = missing.emplace_back();
      added.name = name;
      added.topic_id = topic->id;
      added.internal = name.starts_with("__");
      added.partitions = added.problems = static_cast<std::int64_t>(topic->partitions.size());
    } else if (known->partitions < static_cast<std::int64_t>(topic->partitions.size())) {
      auto& changed = look->table.topics[static_cast<std::size_t>(known - look->table.topics.data())];
      changed.problems += static_cast<std::int64_t>(topic->partitions.size()) - changed.partitions;
      changed.partitions = static_cast<std::int64_t>(topic->partitions.size());
    }
  }
  for (TopicFacts& added : missing) look->table.topics.push_back(std::move(added));
  std::ranges::sort(look->table.topics, {}, &TopicFacts::name);
  return std::shared_ptr<const Look>(std::move(look));
}

std::shared_ptr<const DirectorySource::Look> DirectorySource::look() {
  const MonotonicNs now = clock_.monotonic();
  {
    MutexLock lock(mu_);
    const DurationNs age = now - looked_;
    if (looking_ || age < to_ns(kLookAge) || age.value < look_took_.value * kLookShare) return look_;
    looking_ = true;
  }
  auto fresh = look_now();
  MutexLock lock(mu_);
  looking_ = false;
  looked_ = clock_.monotonic();
  look_took_ = looked_ - now;
  if (fresh) {
    look_ = *std::move(fresh);
    why_old_.clear();
  } else {
    why_old_ = fresh.error().message();
  }
  return look_;
}

api::About DirectorySource::about() {
  const auto look = this->look();
  api::About about;
  about.mode = api::Mode::directory;
  std::vector<std::int64_t> partitions(look->data.log_dirs.size());
  std::vector<std::int64_t> bytes(look->data.log_dirs.size());
  for (const PartitionOnDisk& partition : look->data.partitions) {
    ++partitions[partition.log_dir];
    bytes[partition.log_dir] += size_of(partition).value;
  }
  for (std::size_t i = 0; i < look->data.log_dirs.size(); ++i) {
    const offline::LogDirOnDisk& log_dir = look->data.log_dirs[i];
    api::LogDir& shown = about.log_dirs.emplace_back();
    shown.path = log_dir.path;
    if (log_dir.meta) {
      about.cluster_id = log_dir.meta->cluster_id;
      about.node_id = log_dir.meta->node_id.value;
      if (log_dir.meta->directory_id) shown.directory_id = log_dir.meta->directory_id->to_string();
    } else if (log_dir.is_whole) {
      about.warnings.push_back(fmt::format("{} has no readable meta.properties", log_dir.path));
    }
    shown.partitions = partitions[i];
    shown.size_bytes = bytes[i];
    shown.in_use = log_dir.in_use;
    if (!log_dir.in_use && log_dir.is_whole) shown.clean = log_dir.clean;
    if (const auto space = fs_.space(log_dir.path)) {
      shown.free_bytes = space->available.value;
      shown.total_bytes = space->total.value;
    }
    if (log_dir.in_use) about.warnings.push_back(fmt::format("a broker is using {}: this is how it lies on the disk now and then", log_dir.path));
  }
  if (!look->data.has_metadata) {
    about.warnings.emplace_back("there is no metadata log here: settings of topics are not known, the broker's are taken");
  }
  constexpr std::size_t kMostWarnings = 100;
  for (const std::string& warning : look->data.warnings) {
    if (about.warnings.size() >= kMostWarnings) break;
    about.warnings.push_back(warning);
  }
  if (look->data.warnings.size() > kMostWarnings) {
    about.warnings.push_back(fmt::format("{} warnings in all; the rest is left out", look->data.warnings.size()));
  }
  MutexLock lock(mu_);
  for (const auto& [directory, note] : notes_) {
    if (about.warnings.size() < kMostWarnings) about.warnings.push_back(note);
  }
  if (!why_old_.empty()) about.warnings.push_back(fmt::format("what is shown is not of now: {}", why_old_));
  return about;
}

std::shared_ptr<const TopicTable> DirectorySource::topics() {
  auto look = this->look();
  const TopicTable* table = &look->table;
  return {std::move(look), table};
}

std::string DirectorySource::cleanup_policy(const std::string& topic) {
  const storage::LogConfig config = log_config_of(look()->data, topic);
  if (config.cleanup_compact) return config.cleanup_delete ? "compact,delete" : "compact";
  return config.cleanup_delete ? "delete" : "none";
}

Result<api::Topic> DirectorySource::topic(const std::string& name) {
  const auto look = this->look();
  const TopicFacts* facts = look->table.find(name);
  if (facts == nullptr) return Error{Errc::not_found, fmt::format("there is no topic '{}'", name)};
  const auto& image = *look->data.image;
  api::Topic topic;
  topic.name = name;
  topic.internal = facts->internal;
  if (facts->topic_id) topic.topic_id = facts->topic_id->to_string();
  if (name != broker::metadata::kClusterMetadata) topic.settings = settings_of(look->data.config, image, name);
  const auto known = image.topic(name);
  const auto add_replicas = [](api::PartitionRow& row, const broker::metadata::PartitionState& state) {
    if (state.leader) row.leader = state.leader->value;
    row.leader_epoch = state.leader_epoch;
    for (const NodeId node : state.replicas) row.replicas.push_back(node.value);
    for (const NodeId node : state.isr) row.isr.push_back(node.value);
  };
  std::set<PartitionId> here;
  const auto by_topic = std::ranges::equal_range(look->data.partitions, name, {},
                                                 [](const PartitionOnDisk& one) -> const std::string& { return one.partition.topic; });
  for (const PartitionOnDisk& partition : by_topic) {
    api::PartitionRow& row = topic.partitions.emplace_back();
    row.partition = partition.partition.partition.value;
    row.state = look->state_of(partition);
    row.directory = partition.directory;
    row.log_start = start_of(partition).value;
    if (partition.high_watermark) row.high_watermark = partition.high_watermark->value;
    if (const auto end = look->end_of(partition)) row.log_end = end->value;
    row.size_bytes = size_of(partition).value;
    row.segments = static_cast<std::int64_t>(partition.segments.size());
    if (partition.segments.empty()) row.problem = "there is no segment in its directory";
    if (row.state == api::PartitionState::stray) row.problem = "the metadata does not know it";
    if (partition.kind != Kind::current) continue;
    here.insert(partition.partition.partition);
    if (const auto* state = image.partition(partition.partition)) add_replicas(row, *state);
  }
  if (known) {
    for (const auto& [id, state] : known->partitions) {
      if (here.contains(id)) continue;
      api::PartitionRow& row = topic.partitions.emplace_back();
      row.partition = id.value;
      row.state = api::PartitionState::missing;
      row.problem = "none of these directories holds it";
      add_replicas(row, state);
    }
  }
  std::ranges::stable_sort(topic.partitions, {}, &api::PartitionRow::partition);
  return topic;
}

std::shared_ptr<DirectorySource::Opened> DirectorySource::open_log(const std::shared_ptr<const Look>& look,
                                                                   const PartitionOnDisk& on_disk) {
  std::shared_ptr<Slot> slot;
  std::list<std::shared_ptr<Slot>> dropped;  // their logs are closed without the lock
  {
    MutexLock lock(mu_);
    const auto at = std::ranges::find(slots_, on_disk.directory, [](const auto& one) { return one->directory; });
    if (at != slots_.end()) {
      slots_.splice(slots_.begin(), slots_, at);
    } else {
      slots_.push_front(std::make_shared<Slot>());
      slots_.front()->directory = on_disk.directory;
    }
    slot = slots_.front();
    while (slots_.size() > kOpenLogs) dropped.splice(dropped.begin(), slots_, std::prev(slots_.end()));
  }
  MutexLock lock(slot->mu);
  if (slot->opened && same_files(slot->opened->on_disk, on_disk)) return slot->opened;
  auto opened = std::make_shared<Opened>(fs_, clock_);
  opened->on_disk = on_disk;
  const offline::LogDirOnDisk& log_dir = look->data.log_dirs[on_disk.log_dir];
  storage::OpenOptions options;
  options.config = log_config_of(look->data, on_disk.partition.topic);
  options.producer.expiration_ms = look->data.config.producer_id_expiration_ms;
  options.is_metadata_log = on_disk.partition.topic == broker::metadata::kClusterMetadata;
  if (on_disk.log_start) options.log_start_checkpoint = *on_disk.log_start;
  if (on_disk.recovery_point) options.recovery_point_checkpoint = *on_disk.recovery_point;
  if (on_disk.high_watermark) options.high_watermark_checkpoint = *on_disk.high_watermark;
  ByteCount to_check{0};
  for (std::size_t i = 0; i < on_disk.segments.size(); ++i) {
    const bool is_last = i + 1 == on_disk.segments.size();
    if (is_last || on_disk.segments[i + 1].base_offset > options.recovery_point_checkpoint) to_check += on_disk.segments[i].size;
  }
  options.last_stop = log_dir.clean && !log_dir.in_use ? storage::StopKind::clean : storage::StopKind::unclean;
  if (options.last_stop == storage::StopKind::unclean && to_check > kMostRecovered) {
    options.last_stop = storage::StopKind::clean;
    MutexLock notes_lock(mu_);
    notes_[on_disk.directory] = fmt::format("{}: {} bytes that a start would check are not checked here", on_disk.directory, to_check);
  }
  if (on_disk.segments.empty()) {
    opened->why_no_log = "there is no segment in its directory";
  } else {
    const storage::LogEnvironment environment{&opened->overlay, &opened->clock, &random_, &opened->logger, open_files_};
    auto log = storage::PartitionLog::open(environment, on_disk.directory, on_disk.partition, options);
    if (log) {
      opened->log = *std::move(log);
      const auto* state = look->data.image->partition(on_disk.partition);
      // As at a start: what the only replica has is committed.
      if (state == nullptr || state->replicas.size() == 1) opened->log->set_high_watermark(opened->log->log_end_offset());
    } else {
      opened->why_no_log = log.error().message();
    }
  }
  slot->opened = opened;
  return opened;
}

Result<PartitionAt> DirectorySource::partition(const TopicPartition& name) {
  const auto look = this->look();
  const PartitionOnDisk* on_disk = look->find(name);
  if (on_disk == nullptr) {
    const bool is_known = look->data.image->partition(name) != nullptr;
    return Error{Errc::not_found, is_known ? fmt::format("none of these directories holds {}", name.to_string())
                                           : fmt::format("there is no partition {}", name.to_string())};
  }
  const auto opened = open_log(look, *on_disk);
  PartitionAt at;
  at.partition = name;
  at.state = look->state_of(*on_disk);
  at.fs = &fs_;
  at.directory = on_disk->directory;
  at.log_directory = look->data.log_dirs[on_disk->log_dir].path;
  at.config = log_config_of(look->data, name.topic);
  // The log lives in what was opened for it.
  if (opened->log) at.log = std::shared_ptr<storage::PartitionLog>(opened, opened->log.get());
  at.why_no_log = opened->why_no_log;
  const offline::LogDirOnDisk& log_dir = look->data.log_dirs[on_disk->log_dir];
  at.next_start.last_stop = log_dir.clean ? storage::StopKind::clean : storage::StopKind::unclean;
  at.next_start.is_in_use = log_dir.in_use;
  if (on_disk->recovery_point) at.next_start.recovery_point = *on_disk->recovery_point;
  at.cleaned_to = on_disk->cleaned_to;
  at.topic_id = on_disk->topic_id;
  if (const auto topic = look->data.image->topic(name.topic)) {
    if (!at.topic_id) at.topic_id = topic->id;
    at.topic_partitions = static_cast<std::int32_t>(topic->partitions.size());
  } else if (const TopicFacts* facts = look->table.find(name.topic)) {
    at.topic_partitions = static_cast<std::int32_t>(std::max<std::int64_t>(facts->partitions, 1));
  }
  if (const auto* state = look->data.image->partition(name)) {
    if (state->leader) at.leader = state->leader->value;
    at.leader_epoch = state->leader_epoch;
    for (const NodeId node : state->replicas) at.replicas.push_back(node.value);
    for (const NodeId node : state->isr) at.isr.push_back(node.value);
  }
  if (name.topic != broker::metadata::kClusterMetadata) at.settings = settings_of(look->data.config, *look->data.image, name.topic);
  at.retention_check_interval = look->data.config.log_retention_check_interval_ms;
  const auto groups = groups_of(look);
  for (const GroupFacts& group : groups->groups) {
    for (const GroupCommit& commit : group.commits) {
      if (commit.partition == name) at.groups.push_back({group.name, commit.offset, commit.committed_at});
    }
  }
  return at;
}

std::shared_ptr<const storage::PartitionLog> DirectorySource::log(const TopicPartition& name) {
  const auto look = this->look();
  const PartitionOnDisk* on_disk = look->find(name);
  if (on_disk == nullptr) return nullptr;
  const auto opened = open_log(look, *on_disk);
  return opened->log ? std::shared_ptr<storage::PartitionLog>(opened, opened->log.get()) : nullptr;
}

PartitionBounds DirectorySource::bounds(const TopicPartition& name) {
  const auto look = this->look();
  const PartitionOnDisk* on_disk = look->find(name);
  if (on_disk == nullptr) return {};
  return {start_of(*on_disk), look->end_of(*on_disk).value_or(least_end_of(*on_disk))};
}

std::vector<storage::RetentionVerdict> DirectorySource::retention(const TopicPartition& name, TimestampMs now) {
  const auto look = this->look();
  const PartitionOnDisk* on_disk = look->find(name);
  if (on_disk == nullptr || on_disk->segments.empty()) return {};
  // By the names and sizes that are known, without a log.
  PartitionAt at;
  at.partition = name;
  at.fs = &fs_;
  at.directory = on_disk->directory;
  at.config = log_config_of(look->data, name.topic);
  ExtentAt extent;
  extent.log_start = start_of(*on_disk);
  extent.log_end = look->end_of(*on_disk).value_or(least_end_of(*on_disk));
  // As at a start: what the only replica has is committed.
  extent.high_watermark = extent.last_stable = extent.log_end;
  std::vector<ByteCount> sizes;
  for (const offline::SegmentOnDisk& segment : on_disk->segments) {
    if (!extent.segments.empty()) extent.segments.back().next = segment.base_offset;
    extent.segments.push_back({segment.base_offset, std::max(extent.log_end, segment.base_offset), false, nullptr});
    sizes.push_back(segment.size);
  }
  extent.segments.back().active = true;
  return judge_segments(at, extent, sizes, storage::RetentionLimits::of(at.config), now, 0, extent.segments.size()).verdicts;
}

std::shared_ptr<const DirectoryGroups> DirectorySource::groups_of(const std::shared_ptr<const Look>& look) {
  MutexLock lock(groups_mu_);
  if (groups_ && groups_look_) {
    const auto offsets_of = [](const Look& one) {
      return std::ranges::equal_range(one.data.partitions, std::string("__consumer_offsets"), {},
                                      [](const PartitionOnDisk& partition) -> const std::string& { return partition.partition.topic; });
    };
    if (groups_look_ == look || std::ranges::equal(offsets_of(*groups_look_), offsets_of(*look), same_files)) return groups_;
  }
  groups_ = std::make_shared<const DirectoryGroups>(read_groups(fs_, look->data));
  groups_look_ = look;
  return groups_;
}

Result<std::vector<GroupFacts>> DirectorySource::groups() { return groups_of(look())->groups; }

Result<GroupFacts> DirectorySource::group(const std::string& name) {
  const auto groups = groups_of(look());
  const auto at = std::ranges::lower_bound(groups->groups, name, {}, &GroupFacts::name);
  if (at == groups->groups.end() || at->name != name) return Error{Errc::not_found, fmt::format("there is no group '{}'", name)};
  return *at;
}

std::optional<api::PartitionTick> DirectorySource::partition_tick(const TopicPartition& name) {
  const auto look = this->look();
  const PartitionOnDisk* on_disk = look->find(name);
  if (on_disk == nullptr || on_disk->segments.empty()) return {};
  api::PartitionTick tick;
  tick.log_start = start_of(*on_disk).value;
  tick.log_end = look->end_of(*on_disk).value_or(least_end_of(*on_disk)).value;
  tick.high_watermark = on_disk->high_watermark.value_or(Offset{tick.log_end}).value;
  tick.last_stable = tick.high_watermark;
  tick.size_bytes = size_of(*on_disk).value;
  tick.segments = static_cast<std::int64_t>(on_disk->segments.size());
  tick.active_segment = on_disk->segments.back().base_offset.value;
  tick.active_bytes = on_disk->segments.back().size.value;
  return tick;
}

}  // namespace cordwood::inspector
