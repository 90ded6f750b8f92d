#include "inspector/directory_groups.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "broker/groups/group.h"
#include "broker/groups/record_codec.h"
#include "inspector/live_source.h"
#include "offline/record_walk.h"

namespace cordwood::inspector {
namespace {

namespace groups = broker::groups;

struct GroupReplayed {
  std::optional<groups::GroupMetadataValue> metadata;
  std::map<TopicPartition, groups::OffsetCommitValue> offsets;
};
using GroupsReplayed = std::map<std::string, GroupReplayed>;

// In the order of the log: the last record of a key counts.
void replay_one(GroupsReplayed& all, groups::GroupRecord record) {
  if (auto* offset = std::get_if<groups::OffsetRecord>(&record)) {
    if (offset->value) {
      all[offset->group].offsets.insert_or_assign(std::move(offset->partition), std::move(*offset->value));
    } else if (const auto at = all.find(offset->group); at != all.end()) {
      at->second.offsets.erase(offset->partition);
    }
  } else if (auto* group = std::get_if<groups::GroupRecordOf>(&record)) {
    all[group->group].metadata = std::move(group->value);
  }
}

GroupFacts facts_of_replayed(const std::string& name, const GroupReplayed& replayed) {
  GroupFacts facts;
  facts.name = name;
  facts.state = "Empty";
  if (replayed.metadata) {
    const groups::GroupMetadataValue& metadata = *replayed.metadata;
    if (!metadata.members.empty()) facts.state = "Stable";
    facts.protocol_type = metadata.protocol_type;
    facts.assignor = metadata.protocol;
    facts.generation = metadata.generation;
    facts.leader = metadata.leader;
    facts.member_count = static_cast<std::int64_t>(metadata.members.size());
    for (const auto& member : metadata.members) {
      GroupMember& shown = facts.members.emplace_back();
      shown.id = member.member_id;
      shown.instance_id = member.group_instance_id;
      shown.client_id = member.client_id;
      shown.host = member.client_host.starts_with('/') ? member.client_host.substr(1) : member.client_host;
      if (metadata.protocol_type == "consumer") shown.assignment = assigned_partitions(member.assignment);
    }
  }
  for (const auto& [partition, value] : replayed.offsets) {
    facts.commits.push_back({partition, Offset{value.offset}, value.metadata, TimestampMs{value.commit_timestamp}});
  }
  return facts;
}

}  // namespace

DirectoryGroups read_groups(io::FileSystem& fs, const offline::DataDirectory& data) {
  DirectoryGroups found;
  std::vector<const offline::PartitionOnDisk*> partitions;
  ByteCount total{0};
  for (const offline::PartitionOnDisk& partition : data.partitions) {
    if (partition.partition.topic != "__consumer_offsets") continue;
    if (partition.kind != storage::PartitionDirectoryName::Kind::current) continue;
    ByteCount size{0};
    for (const offline::SegmentOnDisk& segment : partition.segments) size += segment.size;
    if (total + size > kMostGroupBytes) {
      found.warnings.push_back(fmt::format("groups in {} are not shown: their records take too much room to be read", partition.directory));
      continue;
    }
    total += size;
    partitions.push_back(&partition);
  }
  GroupsReplayed replayed;
  std::int64_t unreadable = 0;
  offline::PiecePlan plan(fs, partitions);
  while (std::optional<offline::Piece> piece = plan.next()) {
    const auto damage = offline::walk_entries(
        *piece->file, piece->from, piece->end, piece->on_disk().base_offset,
        [&](BytesView entry, const record::EntryInfo& info, FilePosition) {
          // Transactional offsets count from their marker on, which this reader does not follow.
          if (info.header && (info.header->is_control() || info.header->is_transactional())) return record::Walk::go_on;
          const auto walked = offline::walk_records_of(entry, info, [&](const record::RecordView& record) {
            if (!record.key) return record::Walk::go_on;
            auto decoded = groups::decode(*record.key, record.value);
            if (decoded) {
              replay_one(replayed, *std::move(decoded));
            } else {
              ++unreadable;
            }
            return record::Walk::go_on;
          });
          if (!walked) ++unreadable;
          return record::Walk::go_on;
        });
    if (!damage) {
      found.warnings.push_back(fmt::format("{}: {}", piece->partition->directory, damage.error().message()));
    } else if (!damage->empty()) {
      found.warnings.push_back(fmt::format("{}: {} places are damaged and passed over", piece->partition->directory, damage->size()));
    }
  }
  for (const std::string& warning : plan.warnings()) found.warnings.push_back(warning);
  if (unreadable > 0) found.warnings.push_back(fmt::format("{} records of __consumer_offsets cannot be read and are passed over", unreadable));
  for (const auto& [name, group] : replayed) {
    if (!group.metadata && group.offsets.empty()) continue;
    found.groups.push_back(facts_of_replayed(name, group));
  }
  return found;
}

}  // namespace cordwood::inspector
