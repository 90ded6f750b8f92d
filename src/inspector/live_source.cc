#include "inspector/live_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "broker/broker.h"
#include "broker/configs/topic_configs.h"
#include "broker/metadata/topic_name.h"
#include "client/groups.h"
#include "inspector/settings_text.h"

namespace cordwood::inspector {
namespace {

constexpr DurationMs kTableAge{200};
constexpr DurationMs kRateWindow{2'000};
constexpr DurationMs kSampleDistance{200};
// Samples that are further apart say nothing of now.
constexpr DurationMs kLongestRateWindow{6'000};

// The log of the metadata: no topic of the image, and no partition of the table.
bool is_metadata(const TopicPartition& name) { return name.topic == broker::metadata::kClusterMetadata && name.partition == PartitionId{0}; }

bool is_internal(std::string_view topic) { return topic.starts_with("__"); }

RateMeter::Counts counts_of(const broker::Partition& partition) {
  const broker::Partition::Traffic traffic = partition.traffic();
  return {traffic.records_in, traffic.bytes_in};
}

}  // namespace

const TopicFacts* TopicTable::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(topics, name, {}, [](const TopicFacts& one) { return std::string_view(one.name); });
  return at == topics.end() || at->name != name ? nullptr : &*at;
}

void RateMeter::add(MonotonicNs now, Sample sample) {
  if (!taken_.empty() && now - taken_.back().at < to_ns(kSampleDistance)) return;
  while (!taken_.empty() && now - taken_.front().at > to_ns(kLongestRateWindow)) taken_.pop_front();
  // One that is as old as the window stays, so that there is always one to compare with.
  while (taken_.size() > 1 && now - taken_[1].at >= to_ns(kRateWindow)) taken_.pop_front();
  taken_.push_back({now, std::move(sample)});
}

const RateMeter::Taken* RateMeter::base(MonotonicNs now) const {
  for (const Taken& taken : taken_) {
    if (now - taken.at <= to_ns(kLongestRateWindow) && now - taken.at >= to_ns(kSampleDistance)) return &taken;
  }
  return nullptr;
}

std::optional<RateMeter::Rate> RateMeter::rate_of(const void* what, const Counts& counts, MonotonicNs now) const {
  const Taken* from = base(now);
  if (from == nullptr) return {};
  const auto at = from->sample.find(what);
  // A partition that was not there then, or one that has got the place of one that is gone.
  Counts before = at == from->sample.end() ? Counts{} : at->second;
  if (before.records > counts.records || before.bytes > counts.bytes) before = {};
  const double seconds = static_cast<double>((now - from->at).value) / 1e9;
  return Rate{static_cast<double>(counts.records - before.records) / seconds,
              static_cast<double>(counts.bytes - before.bytes) / seconds};
}

LiveSource::LiveSource(const broker::View& view, const Clock& clock, TimestampMs started)
    : view_(view), clock_(clock), started_(started) {}

api::About LiveSource::about() {
  api::About about;
  about.mode = api::Mode::broker;
  about.cluster_id = view_.cluster_id();
  about.node_id = view_.config().node_id.value;
  for (const broker::ListenerAddress& listener : view_.config().listeners) {
    about.listeners.push_back(fmt::format("{}://{}:{}", listener.name, listener.host, listener.port));
  }
  about.started_ms = started_.value;
  std::map<io::Path, std::pair<std::int64_t, std::int64_t>> held;  // partitions and bytes by log directory
  for (const auto& partition : view_.partitions()) {
    auto& [partitions, bytes] = held[io::Path(io::parent_of(partition->log()->directory()))];
    ++partitions;
    bytes += partition->log()->size().value;
  }
  for (const storage::LogDirectory& directory : view_.directories()) {
    api::LogDir& shown = about.log_dirs.emplace_back();
    shown.path = directory.path;
    if (directory.meta && directory.meta->directory_id) shown.directory_id = directory.meta->directory_id->to_string();
    shown.partitions = held[directory.path].first;
    shown.size_bytes = held[directory.path].second;
    shown.in_use = true;
    if (directory.offline) {
      shown.offline = directory.offline->message();
      about.warnings.push_back(fmt::format("{} is offline: {}", directory.path, directory.offline->message()));
    } else if (const auto space = view_.files().space(directory.path)) {
      shown.free_bytes = space->available.value;
      shown.total_bytes = space->total.value;
    }
  }
  return about;
}

std::shared_ptr<const TopicTable> LiveSource::topics() {
  MutexLock taking(taking_mu_);
  const MonotonicNs now = clock_.monotonic();
  {
    MutexLock lock(mu_);
    if (table_ && now - table_->taken < to_ns(kTableAge)) return table_;
  }
  const auto image = view_.image();
  const auto partitions = view_.partitions();
  auto table = std::make_shared<TopicTable>();
  table->taken = now;
  table->topics.reserve(image->topics.size() + 1);
  std::unordered_map<std::string_view, TopicFacts*> by_name;
  std::unordered_map<std::string_view, std::int64_t> online;
  for (const auto& [name, topic] : image->topics) {
    TopicFacts& facts = table->topics.emplace_back();
    facts.name = name;
    facts.topic_id = topic->id;
    facts.internal = is_internal(name);
    facts.partitions = static_cast<std::int64_t>(topic->partitions.size());
    facts.problems = facts.partitions;  // less those that are found to be well
    by_name.emplace(name, &facts);
  }
  RateMeter::Sample sample;
  sample.reserve(partitions.size());
  MutexLock lock(mu_);
  for (const auto& partition : partitions) {
    const auto at = by_name.find(partition->name().topic);
    if (at == by_name.end()) continue;
    TopicFacts& facts = *at->second;
    const storage::PartitionLog& log = *partition->log();
    facts.records += (log.log_end_offset() - log.log_start_offset()).value;
    facts.size_bytes += log.size().value;
    const broker::Partition::Traffic traffic = partition->traffic();
    facts.records_in += traffic.records_in;
    facts.bytes_in += traffic.bytes_in;
    facts.bytes_out += traffic.bytes_out;
    if (partition->leadership().is_leader) --facts.problems;
    const RateMeter::Counts counts{traffic.records_in, traffic.bytes_in};
    if (const auto rate = meter_.rate_of(partition.get(), counts, now)) {
      facts.records_per_second = facts.records_per_second.value_or(0) + rate->records_per_second;
      facts.bytes_per_second = facts.bytes_per_second.value_or(0) + rate->bytes_per_second;
    }
    sample.emplace(partition.get(), counts);
  }
  const auto metadata = view_.metadata_log();
  TopicFacts& facts = table->topics.emplace_back();
  facts.name = broker::metadata::kClusterMetadata;
  facts.topic_id = kMetadataTopicId;
  facts.internal = true;
  facts.partitions = 1;
  facts.records = (metadata->log_end_offset() - metadata->log_start_offset()).value;
  facts.size_bytes = metadata->size().value;
  std::ranges::sort(table->topics, {}, &TopicFacts::name);
  meter_.add(now, std::move(sample));
  table->groups = static_cast<std::int64_t>(view_.group_count());
  table_ = table;
  return table;
}

std::optional<RateMeter::Rate> LiveSource::rate_of(const broker::Partition& partition) {
  MutexLock lock(mu_);
  return meter_.rate_of(&partition, counts_of(partition), clock_.monotonic());
}

std::string LiveSource::cleanup_policy(const std::string& topic) {
  if (topic == broker::metadata::kClusterMetadata) return "none";
  const storage::LogConfig config = broker::configs::make_log_config(view_.config(), *view_.image(), topic);
  if (config.cleanup_compact) return config.cleanup_delete ? "compact,delete" : "compact";
  return config.cleanup_delete ? "delete" : "none";
}

api::PartitionState LiveSource::state_of(const TopicPartition& name, const broker::Partition* partition) const {
  if (partition == nullptr) return view_.is_loading(name) ? api::PartitionState::loading : api::PartitionState::missing;
  return partition->check_leader(-1) == protocol::ErrorCode::KAFKA_STORAGE_ERROR ? api::PartitionState::offline
                                                                                : api::PartitionState::online;
}

Result<api::Topic> LiveSource::topic(const std::string& name) {
  if (name == broker::metadata::kClusterMetadata) return metadata_topic();
  topics();  // so that there is something to compare with when rates are wanted
  const auto image = view_.image();
  const auto state = image->topic(name);
  if (!state) return Error{Errc::not_found, fmt::format("there is no topic '{}'", name)};
  api::Topic topic;
  topic.name = name;
  topic.topic_id = state->id.to_string();
  topic.internal = is_internal(name);
  topic.settings = settings_of(view_.config(), *image, name);
  for (const auto& [id, replicated] : state->partitions) {
    api::PartitionRow& row = topic.partitions.emplace_back();
    const TopicPartition partition_name{name, id};
    const auto partition = view_.find(partition_name);
    row.partition = id.value;
    row.state = state_of(partition_name, partition.get());
    if (replicated.leader) row.leader = replicated.leader->value;
    row.leader_epoch = replicated.leader_epoch;
    for (const NodeId node : replicated.replicas) row.replicas.push_back(node.value);
    for (const NodeId node : replicated.isr) row.isr.push_back(node.value);
    if (partition == nullptr) {
      row.problem = row.state == api::PartitionState::loading ? "its log is still being recovered"
                                                              : "no log of it is on this broker";
      continue;
    }
    const storage::PartitionLog& log = *partition->log();
    row.directory = log.directory();
    row.log_start = log.log_start_offset().value;
    row.high_watermark = log.high_watermark().value;
    row.log_end = log.log_end_offset().value;
    row.size_bytes = log.size().value;
    row.segments = static_cast<std::int64_t>(log.segments().size());
    if (row.state == api::PartitionState::offline) row.problem = "its log directory has failed";
    if (const auto rate = rate_of(*partition)) {
      row.records_per_second = rate->records_per_second;
      row.bytes_per_second = rate->bytes_per_second;
    }
  }
  return topic;
}

// It is read and written by the controller alone: this broker leads it.
api::Topic LiveSource::metadata_topic() const {
  const auto log = view_.metadata_log();
  api::Topic topic;
  topic.name = broker::metadata::kClusterMetadata;
  topic.topic_id = kMetadataTopicId.to_string();
  topic.internal = true;
  api::PartitionRow& row = topic.partitions.emplace_back();
  row.state = api::PartitionState::online;
  row.directory = log->directory();
  row.leader = view_.config().node_id.value;
  row.replicas = row.isr = {view_.config().node_id.value};
  row.log_start = log->log_start_offset().value;
  row.high_watermark = log->high_watermark().value;
  row.log_end = log->log_end_offset().value;
  row.size_bytes = log->size().value;
  row.segments = static_cast<std::int64_t>(log->segments().size());
  return topic;
}

PartitionAt LiveSource::metadata_partition() const {
  PartitionAt at;
  at.partition = {std::string(broker::metadata::kClusterMetadata), PartitionId{0}};
  at.topic_id = kMetadataTopicId;
  at.fs = &view_.files();
  at.is_live = true;
  at.log = view_.metadata_log();
  at.directory = at.log->directory();
  at.log_directory = io::Path(io::parent_of(at.directory));
  at.config = at.log->config();
  at.leader = view_.config().node_id.value;
  at.replicas = at.isr = {view_.config().node_id.value};
  at.retention_check_interval = view_.config().log_retention_check_interval_ms;
  return at;
}

Result<PartitionAt> LiveSource::partition(const TopicPartition& name) {
  if (is_metadata(name)) return metadata_partition();
  const auto image = view_.image();
  const auto topic = image->topic(name.topic);
  const broker::metadata::PartitionState* state = image->partition(name);
  if (!topic || state == nullptr) return Error{Errc::not_found, fmt::format("there is no partition {}", name.to_string())};
  const auto partition = view_.find(name);
  PartitionAt at;
  at.partition = name;
  at.topic_id = topic->id;
  at.state = state_of(name, partition.get());
  at.fs = &view_.files();
  at.is_live = true;
  if (partition != nullptr) {
    at.log = partition->log();
    at.directory = at.log->directory();
    at.log_directory = io::Path(io::parent_of(at.directory));
    at.cleaned_to = view_.cleaned_to(name);
    at.cleaner = view_.cleaner_status(name);
  } else {
    at.why_no_log = at.state == api::PartitionState::loading ? "its log is still being recovered" : "no log of it is on this broker";
    return Error{at.state == api::PartitionState::loading ? Errc::closed : Errc::not_found,
                 fmt::format("{}: {}", name.to_string(), at.why_no_log)};
  }
  at.config = broker::configs::make_log_config(view_.config(), *image, name.topic);
  if (state->leader) at.leader = state->leader->value;
  at.leader_epoch = state->leader_epoch;
  for (const NodeId node : state->replicas) at.replicas.push_back(node.value);
  for (const NodeId node : state->isr) at.isr.push_back(node.value);
  at.topic_partitions = static_cast<std::int32_t>(topic->partitions.size());
  for (broker::CommittedView& committed : view_.committed_in(name)) {
    at.groups.push_back({std::move(committed.group), committed.committed, committed.committed_at});
  }
  at.settings = settings_of(view_.config(), *image, name.topic);
  at.retention_check_interval = view_.config().log_retention_check_interval_ms;
  return at;
}

std::shared_ptr<const storage::PartitionLog> LiveSource::log(const TopicPartition& name) {
  if (is_metadata(name)) return view_.metadata_log();
  const auto partition = view_.find(name);
  return partition == nullptr ? nullptr : partition->log();
}

PartitionBounds LiveSource::bounds(const TopicPartition& name) {
  const auto log = this->log(name);
  if (log == nullptr) return {};
  return {log->log_start_offset(), log->high_watermark()};
}

std::vector<storage::RetentionVerdict> LiveSource::retention(const TopicPartition& name, TimestampMs now) {
  const auto log = this->log(name);
  auto verdicts = log == nullptr ? Result<std::vector<storage::RetentionVerdict>>(Error{Errc::not_found, ""}) : log->explain_retention(now);
  return verdicts ? *std::move(verdicts) : std::vector<storage::RetentionVerdict>();
}

std::optional<api::PartitionTick> LiveSource::partition_tick(const TopicPartition& name) {
  const auto held = this->log(name);
  if (held == nullptr) return {};
  const storage::PartitionLog& log = *held;
  api::PartitionTick tick;
  tick.log_start = log.log_start_offset().value;
  tick.high_watermark = log.high_watermark().value;
  tick.last_stable = log.last_stable_offset().value;
  tick.log_end = log.log_end_offset().value;
  tick.size_bytes = log.size().value;
  const std::vector<storage::SegmentInfo> segments = log.segments();
  tick.segments = static_cast<std::int64_t>(segments.size());
  if (!segments.empty()) {
    tick.active_segment = segments.back().base_offset.value;
    tick.active_bytes = segments.back().size.value;
  }
  const auto partition = view_.find(name);
  const auto rate = partition == nullptr ? std::nullopt : rate_of(*partition);
  if (rate) {
    tick.records_per_second = rate->records_per_second;
    tick.bytes_per_second = rate->bytes_per_second;
  }
  return tick;
}

std::vector<TopicPartition> assigned_partitions(BytesView assignment) {
  std::vector<TopicPartition> partitions;
  for (client::GroupPartition& one : client::parse_consumer_assignment(assignment)) {
    partitions.push_back({std::move(one.topic), PartitionId{one.partition}});
  }
  return partitions;
}

namespace {

GroupFacts facts_of(broker::GroupView view) {
  GroupFacts facts;
  facts.name = std::move(view.id);
  facts.state = std::move(view.state);
  facts.protocol_type = std::move(view.protocol_type);
  facts.assignor = std::move(view.protocol);
  facts.generation = view.generation;
  facts.leader = std::move(view.leader);
  facts.member_count = static_cast<std::int64_t>(view.member_count);
  for (broker::MemberView& member : view.members) {
    GroupMember& shown = facts.members.emplace_back();
    shown.id = std::move(member.id);
    shown.instance_id = std::move(member.instance_id);
    shown.client_id = std::move(member.client_id);
    shown.host = member.client_host.starts_with('/') ? member.client_host.substr(1) : member.client_host;
    if (facts.protocol_type == "consumer") shown.assignment = assigned_partitions(member.assignment);
  }
  for (broker::OffsetView& offset : view.offsets) {
    facts.commits.push_back({std::move(offset.partition), offset.committed, std::move(offset.metadata), offset.committed_at});
  }
  return facts;
}

}  // namespace

Result<std::vector<GroupFacts>> LiveSource::groups() {
  std::vector<GroupFacts> groups;
  for (broker::GroupView& view : view_.groups()) groups.push_back(facts_of(std::move(view)));
  std::ranges::sort(groups, {}, &GroupFacts::name);
  return groups;
}

Result<GroupFacts> LiveSource::group(const std::string& name) {
  std::optional<broker::GroupView> view = view_.group(name);
  if (!view) return Error{Errc::not_found, fmt::format("there is no group '{}'", name)};
  return facts_of(std::move(*view));
}

}  // namespace cordwood::inspector
