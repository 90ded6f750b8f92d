#include "inspector/handlers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "inspector/group_view.h"
#include "inspector/views/partition_checks.h"
#include "inspector/views/segment_maps.h"
#include "inspector/views/views.h"

namespace cordwood::inspector {
namespace {

// Partitions whose retention is asked for in one answer about groups.
constexpr std::size_t kMostRetentionsAsked = 500;

Error refused() { return {Errc::unsupported, "this is a directory: it is read, and never changed"}; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

struct Page {
  std::size_t from = 0;
  std::size_t limit = 100;
};

Result<Page> page_of(const std::optional<std::int64_t>& from, const std::optional<std::int64_t>& limit) {
  if (from && *from < 0) return Error{Errc::invalid, "from: must be 0 or more"};
  if (limit && (*limit < 1 || *limit > 500)) return Error{Errc::invalid, "limit: must be 1 to 500"};
  return Page{static_cast<std::size_t>(from.value_or(0)), static_cast<std::size_t>(limit.value_or(100))};
}

// Those whose name contains the search, in order, as their places.
template <class Item>
std::vector<std::size_t> matching(const std::vector<Item>& items, const std::optional<std::string>& search) {
  const std::string wanted = lower(search.value_or(""));
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (wanted.empty() || lower(items[i].name).find(wanted) != std::string::npos) found.push_back(i);
  }
  return found;
}

// The positions of groups as the list and the page of one group show them. Of a partition that several groups read, the verdicts
// of retention are made once.
class Positions {
 public:
  Positions(Source& source, TimestampMs now) : source_(source), now_(now) {}

  api::GroupOffset view(const GroupCommit& commit) {
    const PartitionBounds bounds = source_.bounds(commit.partition);
    const bool lags = bounds.log_end && commit.offset < *bounds.log_end;
    return view_offset(commit, bounds, lags ? verdicts_of(commit.partition) : unknown_, now_);
  }

 private:
  const std::vector<storage::RetentionVerdict>& verdicts_of(const TopicPartition& partition) {
    const auto known = verdicts_.find(partition);
    if (known != verdicts_.end()) return known->second;
    if (verdicts_.size() >= kMostRetentionsAsked) return unknown_;
    return verdicts_.emplace(partition, source_.retention(partition, now_)).first->second;
  }

  Source& source_;
  const TimestampMs now_;
  std::map<TopicPartition, std::vector<storage::RetentionVerdict>> verdicts_;
  const std::vector<storage::RetentionVerdict> unknown_;
};

}  // namespace

SourceHandlers::SourceHandlers(Source& source, Actions* actions, const Clock& clock, std::string version)
    : source_(source), actions_(actions), clock_(clock), version_(std::move(version)), maps_(std::make_unique<SegmentMaps>(clock)),
      checks_(std::make_unique<PartitionChecks>()) {}

SourceHandlers::~SourceHandlers() = default;

Result<PartitionAt> SourceHandlers::find(const std::string& topic, std::int64_t partition) {
  if (partition < 0 || partition > INT32_MAX) return Error{Errc::invalid, "partition: must be 0 or more"};
  return source_.partition({topic, PartitionId{static_cast<std::int32_t>(partition)}});
}

Result<api::About> SourceHandlers::about(const api::AboutQuery&) {
  api::About about = source_.about();
  about.version = version_;
  about.actions = actions_ != nullptr;
  about.now_ms = clock_.now().value;
  return about;
}

Result<api::TopicPage> SourceHandlers::topics(const api::TopicsQuery& query) {
  const Page page = TRY(page_of(query.from, query.limit));
  const auto table = source_.topics();
  std::vector<std::size_t> found = matching(table->topics, query.search);
  const auto largest_first = [&](auto key) {
    std::ranges::stable_sort(found, [&](std::size_t a, std::size_t b) { return key(table->topics[a]) > key(table->topics[b]); });
  };
  switch (query.order.value_or(api::TopicOrder::name)) {
    case api::TopicOrder::name: break;
    case api::TopicOrder::size: largest_first([](const TopicFacts& facts) { return facts.size_bytes; }); break;
    case api::TopicOrder::records: largest_first([](const TopicFacts& facts) { return facts.records; }); break;
    case api::TopicOrder::rate: largest_first([](const TopicFacts& facts) { return facts.bytes_per_second.value_or(0); }); break;
  }
  api::TopicPage answer;
  answer.total = static_cast<std::int64_t>(table->topics.size());
  answer.matching = static_cast<std::int64_t>(found.size());
  for (std::size_t i = page.from; i < found.size() && answer.rows.size() < page.limit; ++i) {
    const TopicFacts& facts = table->topics[found[i]];
    api::TopicRow& row = answer.rows.emplace_back();
    row.name = facts.name;
    if (facts.topic_id) row.topic_id = facts.topic_id->to_string();
    row.internal = facts.internal;
    row.partitions = facts.partitions;
    row.records = facts.records;
    row.size_bytes = facts.size_bytes;
    row.cleanup_policy = source_.cleanup_policy(facts.name);
    row.records_per_second = facts.records_per_second;
    row.bytes_per_second = facts.bytes_per_second;
    row.problems = facts.problems;
  }
  const std::size_t next = page.from + answer.rows.size();
  if (!answer.rows.empty() && next < found.size()) answer.next = static_cast<std::int64_t>(next);
  return answer;
}

Result<api::Topic> SourceHandlers::topic(const api::TopicQuery& query) { return source_.topic(query.topic); }

Result<api::Partition> SourceHandlers::partition(const api::PartitionQuery& query) {
  const PartitionAt at = TRY(find(query.topic, query.partition));
  return view_partition(at, query, {*maps_, *checks_}, clock_.now());
}

Result<api::SegmentMap> SourceHandlers::segment_map(const api::SegmentMapQuery& query) {
  const PartitionAt at = TRY(find(query.topic, query.partition));
  return view_segment_map(at, query, *maps_);
}

Result<api::Batch> SourceHandlers::batch(const api::BatchQuery& query) {
  const PartitionAt at = TRY(find(query.topic, query.partition));
  return view_batch(at, query);
}

Result<api::IndexPage> SourceHandlers::index(const api::IndexQuery& query) {
  const PartitionAt at = TRY(find(query.topic, query.partition));
  return view_index(at, query);
}

Result<api::RecordPage> SourceHandlers::records(const api::RecordsQuery& query) {
  const PartitionAt at = TRY(find(query.topic, query.partition));
  return view_records(at, query);
}

Result<api::Lookup> SourceHandlers::lookup(const api::LookupQuery& query) {
  const PartitionAt at = TRY(find(query.topic, query.partition));
  return view_lookup(at, query, clock_);
}

Result<api::Retention> SourceHandlers::retention(const api::RetentionQuery& query) {
  const PartitionAt at = TRY(find(query.topic, query.partition));
  return view_retention(at, query, clock_.now());
}

Result<api::Compaction> SourceHandlers::compaction(const api::CompactionQuery& query) {
  const PartitionAt at = TRY(find(query.topic, query.partition));
  return view_compaction(at, query, clock_.now());
}

Result<api::CompactionPreview> SourceHandlers::compaction_keys(const api::CompactionKeysQuery& query) {
  const PartitionAt at = TRY(find(query.topic, query.partition));
  return view_compaction_keys(at, query, clock_.now());
}

Result<api::Life> SourceHandlers::life(const api::LifeQuery& query) {
  const PartitionAt at = TRY(find(query.topic, query.partition));
  return view_life(at, query, clock_.now());
}

Result<api::GroupPage> SourceHandlers::groups(const api::GroupsQuery& query) {
  const Page page = TRY(page_of(query.from, query.limit));
  const std::vector<GroupFacts> all = TRY(source_.groups());
  const std::vector<std::size_t> found = matching(all, query.search);
  const TimestampMs now = clock_.now();
  api::GroupPage answer;
  answer.total = static_cast<std::int64_t>(found.size());
  Positions positions(source_, now);
  for (std::size_t i = page.from; i < found.size() && answer.rows.size() < page.limit; ++i) {
    const GroupFacts& facts = all[found[i]];
    api::GroupRow& row = answer.rows.emplace_back();
    row.name = facts.name;
    row.state = facts.state;
    row.protocol = facts.protocol_type;
    row.assignor = facts.assignor;
    row.members = facts.member_count;
    row.partitions = static_cast<std::int64_t>(facts.commits.size());
    std::optional<std::int64_t> lag;
    for (const GroupCommit& commit : facts.commits) {
      const api::GroupOffset offset = positions.view(commit);
      if (offset.lag) lag = lag.value_or(0) + *offset.lag;
      if (offset.warned) ++row.warnings;
    }
    row.lag = lag;
  }
  const std::size_t next = page.from + answer.rows.size();
  if (!answer.rows.empty() && next < found.size()) answer.next = static_cast<std::int64_t>(next);
  return answer;
}

Result<api::Group> SourceHandlers::group(const api::GroupQuery& query) {
  const GroupFacts facts = TRY(source_.group(query.group));
  const TimestampMs now = clock_.now();
  api::Group group;
  group.name = facts.name;
  group.state = facts.state;
  group.protocol = facts.protocol_type;
  group.assignor = facts.assignor;
  group.generation = facts.generation;
  group.leader = facts.leader;
  std::map<TopicPartition, std::string> readers;
  for (const GroupMember& member : facts.members) {
    api::Member& shown = group.members.emplace_back();
    shown.id = member.id;
    shown.instance = member.instance_id;
    shown.client_id = member.client_id;
    shown.host = member.host;
    for (const TopicPartition& partition : member.assignment) {
      readers[partition] = member.id;
      if (shown.assignment.empty() || shown.assignment.back().topic != partition.topic) {
        shown.assignment.emplace_back().topic = partition.topic;
      }
      shown.assignment.back().partitions.push_back(partition.partition.value);
    }
  }
  Positions positions(source_, now);
  for (const GroupCommit& commit : facts.commits) {
    api::GroupOffset& shown = group.offsets.emplace_back(positions.view(commit));
    const auto reader = readers.find(commit.partition);
    if (reader != readers.end()) shown.member = reader->second;
  }
  return group;
}

Result<api::Done> SourceHandlers::produce(const api::ProduceQuery& query, const api::ProduceBody& body) {
  if (actions_ == nullptr) return refused();
  return actions_->produce(query, body);
}

Result<api::Done> SourceHandlers::add_partitions(const api::AddPartitionsQuery& query, const api::PartitionCount& body) {
  if (actions_ == nullptr) return refused();
  return actions_->add_partitions(query, body);
}

Result<api::Done> SourceHandlers::reset_offsets(const api::ResetOffsetsQuery& query, const api::OffsetReset& body) {
  if (actions_ == nullptr) return refused();
  return actions_->reset_offsets(query, body);
}

Result<api::Done> SourceHandlers::maintain(const api::MaintainQuery& query, const api::Maintenance& body) {
  if (actions_ == nullptr) return refused();
  return actions_->maintain(query, body);
}

Result<api::DemoList> SourceHandlers::demos(const api::DemosQuery&) { return demos_.list(); }

Result<api::Demo> SourceHandlers::demo(const api::DemoQuery& query) { return demos_.run(query.name); }

}  // namespace cordwood::inspector
