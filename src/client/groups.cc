#include "client/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "protocol/messages/consumer_group_describe.h"
#include "protocol/messages/delete_groups.h"
#include "protocol/messages/describe_groups.h"
#include "protocol/messages/list_groups.h"
#include "protocol/messages/list_offsets.h"
#include "protocol/messages/offset_commit.h"
#include "protocol/messages/offset_delete.h"
#include "protocol/messages/offset_fetch.h"
#include "protocol/wire.h"

namespace cordwood::client {
namespace {

using protocol::ErrorCode;

constexpr std::int16_t kLastWithTopicNames = 9;  // of OffsetFetch and OffsetCommit: later ones carry topic ids

bool has_moved(ErrorCode code) {
  return code == ErrorCode::NOT_COORDINATOR || code == ErrorCode::COORDINATOR_NOT_AVAILABLE;
}

bool may_pass(ErrorCode code) {
  return has_moved(code) || code == ErrorCode::COORDINATOR_LOAD_IN_PROGRESS || code == ErrorCode::NETWORK_EXCEPTION;
}

// Partitions as a message lists them: by topic.
template <class Topic, class Partitions>
std::vector<Topic> by_topic(const Partitions& partitions, const auto& add) {
  std::vector<Topic> topics;
  for (const auto& partition : partitions) {
    const GroupPartition& key = [&]() -> const GroupPartition& {
      if constexpr (requires { partition.first; }) {
        return partition.first;
      } else {
        return partition;
      }
    }();
    if (topics.empty() || topics.back().name != key.topic) {
      topics.emplace_back();
      topics.back().name = key.topic;
    }
    add(topics.back(), partition);
  }
  return topics;
}

}  // namespace

std::string GroupPartition::to_string() const {
  return fmt::format("{}-{}", topic, partition);
}

std::vector<GroupPartition> parse_consumer_assignment(BytesView bytes) {
  protocol::Decoder decoder(bytes, protocol::Form::classic);
  (void)decoder.i16();  // version: later ones only add behind
  std::vector<GroupPartition> partitions;
  for (std::int64_t topics = decoder.array_count(); topics > 0; --topics) {
    std::string topic;
    decoder.string(topic);
    for (std::int64_t count = decoder.array_count(); count > 0; --count) partitions.push_back({topic, decoder.i32()});
  }
  if (!decoder.ok()) return {};
  std::ranges::sort(partitions);
  return partitions;
}

template <class T, class Ask>
Outcome<T> Groups::at_coordinator(const std::string& group, std::string_view call, MonotonicNs deadline, Ask ask) {
  std::string finding = fmt::format("{}(api=FIND_COORDINATOR)", call);
  for (int attempt = 0;; ++attempt) {
    Link* link = ATTEMPT(cluster_.coordinator(CoordinatorType::group, group, finding, deadline));
    Outcome<T> answer = ask(*link);
    if (answer || !may_pass(answer.failure().code)) return answer;
    if (has_moved(answer.failure().code) || link->broken()) cluster_.forget_coordinator(CoordinatorType::group, group);
    ATTEMPT(cluster_.back_off(attempt, call, deadline));
  }
}

void Groups::log_unexpected(std::string_view request, const std::string& group, ErrorCode code,
                            std::string_view logger) {
  log_(fmt::format("`{}` request for group id {} failed due to unexpected error {}.", request, group,
                   protocol::name_of(code)),
       fmt::format("org.apache.kafka.clients.admin.internals.{}", logger));
}

Outcome<std::vector<GroupListing>> Groups::list(const std::vector<std::string>& states,
                                                const std::vector<std::string>& types, MonotonicNs deadline) {
  ATTEMPT(cluster_.metadata(std::vector<std::string>(), "findAllBrokers", deadline));
  std::vector<GroupListing> listings;
  std::set<std::string> seen;
  std::map<std::int32_t, Node> nodes = cluster_.nodes();
  for (const auto& [id, node] : nodes) {
    for (int attempt = 0;; ++attempt) {
      Link* link = ATTEMPT(cluster_.broker(id, "listGroups", deadline));
      protocol::ListGroupsRequest request;
      request.states_filter = states;
      request.types_filter = types;
      auto answer = link->ask<protocol::ListGroupsResponse>(request);
      Failure failure = answer ? failure_of((*answer)->error_code) : answer.failure();
      if (failure.code == ErrorCode::NONE) {
        for (const auto& group : (*answer)->groups) {
          if (!seen.insert(group.group_id).second) continue;
          listings.push_back({group.group_id, group.protocol_type, group.group_state, group.group_type});
        }
        break;
      }
      if (!may_pass(failure.code)) return failure;
      ATTEMPT(cluster_.back_off(attempt, "listGroups", deadline));
    }
  }
  return listings;
}

namespace {

template <class Assignment>
std::vector<GroupPartition> partitions_of_assignment(const Assignment& assignment) {
  std::vector<GroupPartition> partitions;
  for (const auto& topic : assignment.topic_partitions) {
    for (std::int32_t partition : topic.partitions) partitions.push_back({topic.topic_name, partition});
  }
  std::ranges::sort(partitions);
  return partitions;
}

GroupDescription description_of(const protocol::ConsumerGroupDescribeResponse::Group& group, const Node& coordinator) {
  GroupDescription description{.group_id = group.group_id,
                               .state = group.group_state,
                               .assignor = group.assignor_name,
                               .classic = false,
                               .coordinator = coordinator,
                               .group_epoch = group.group_epoch,
                               .target_assignment_epoch = group.assignment_epoch};
  for (const auto& member : group.members) {
    DescribedMember described{member.member_id, member.instance_id, member.client_id, member.client_host};
    described.assignment = partitions_of_assignment(member.assignment);
    described.target_assignment = partitions_of_assignment(member.target_assignment);
    described.epoch = member.member_epoch;
    if (member.member_type >= 0) described.upgraded = member.member_type == 1;
    description.members.push_back(std::move(described));
  }
  return description;
}

GroupDescription description_of(const protocol::DescribeGroupsResponse::Group& group, const Node& coordinator) {
  GroupDescription description{.group_id = group.group_id,
                               .state = group.group_state,
                               .assignor = group.protocol_data,
                               .coordinator = coordinator};
  for (const auto& member : group.members) {
    DescribedMember described{member.member_id, member.group_instance_id, member.client_id, member.client_host};
    described.assignment = parse_consumer_assignment(member.member_assignment);
    description.members.push_back(std::move(described));
  }
  return description;
}

}  // namespace

Outcome<GroupDescription> Groups::describe(const std::string& group, MonotonicNs deadline) {
  constexpr std::string_view kLogger = "DescribeConsumerGroupsHandler";
  return at_coordinator<GroupDescription>(
      group, "describeConsumerGroups", deadline, [&](Link& link) -> Outcome<GroupDescription> {
        if (link.version_for<protocol::ConsumerGroupDescribeRequest>()) {
          protocol::ConsumerGroupDescribeRequest request;
          request.group_ids = {group};
          auto answer = ATTEMPT(link.ask<protocol::ConsumerGroupDescribeResponse>(request));
          if (answer->groups.size() != 1) return failure_of(ErrorCode::UNKNOWN_SERVER_ERROR);
          const auto& found = answer->groups.front();
          if (found.error_code == ErrorCode::NONE) return description_of(found, link.node());
          bool is_classic =
              found.error_code == ErrorCode::GROUP_ID_NOT_FOUND || found.error_code == ErrorCode::UNSUPPORTED_VERSION;
          if (!is_classic) {
            if (!may_pass(found.error_code)) log_unexpected("ConsumerGroupDescribe", group, found.error_code, kLogger);
            return failure_of(found.error_code, found.error_message);
          }
        }
        protocol::DescribeGroupsRequest request;
        request.groups = {group};
        auto answer = ATTEMPT(link.ask<protocol::DescribeGroupsResponse>(request));
        if (answer->groups.size() != 1) return failure_of(ErrorCode::UNKNOWN_SERVER_ERROR);
        const auto& found = answer->groups.front();
        if (found.error_code == ErrorCode::NONE) return description_of(found, link.node());
        if (!may_pass(found.error_code) && found.error_code != ErrorCode::GROUP_ID_NOT_FOUND) {
          log_unexpected("DescribeGroups", group, found.error_code, kLogger);
        }
        return failure_of(found.error_code, found.error_message);
      });
}

Outcome<Nothing> Groups::remove(const std::string& group, MonotonicNs deadline) {
  return at_coordinator<Nothing>(group, "deleteConsumerGroups", deadline, [&](Link& link) -> Outcome<Nothing> {
    protocol::DeleteGroupsRequest request;
    request.groups_names = {group};
    auto answer = ATTEMPT(link.ask<protocol::DeleteGroupsResponse>(request));
    if (answer->results.size() != 1) return failure_of(ErrorCode::UNKNOWN_SERVER_ERROR);
    ErrorCode code = answer->results.front().error_code;
    if (code == ErrorCode::NONE) return Nothing{};
    return failure_of(code);
  });
}

Outcome<std::map<GroupPartition, CommittedOffset>> Groups::committed(const std::string& group, MonotonicNs deadline) {
  using Offsets = std::map<GroupPartition, CommittedOffset>;
  return at_coordinator<Offsets>(group, "listConsumerGroupOffsets", deadline, [&](Link& link) -> Outcome<Offsets> {
    protocol::OffsetFetchRequest request;
    request.group_id = group;
    request.topics.reset();
    request.groups.emplace_back();
    request.groups.back().group_id = group;
    request.groups.back().topics.reset();
    auto answer = ATTEMPT(link.ask<protocol::OffsetFetchResponse>(request, kLastWithTopicNames));
    Offsets offsets;
    auto add = [&](const auto& topics) {
      for (const auto& topic : topics) {
        for (const auto& partition : topic.partitions) {
          if (partition.error_code != ErrorCode::NONE || partition.committed_offset < 0) continue;
          CommittedOffset committed{partition.committed_offset, {}};
          if (partition.committed_leader_epoch >= 0) committed.leader_epoch = partition.committed_leader_epoch;
          offsets[{topic.name, partition.partition_index}] = committed;
        }
      }
    };
    ErrorCode code = answer->groups.empty() ? answer->error_code : answer->groups.front().error_code;
    if (code != ErrorCode::NONE) return failure_of(code);
    add(answer->topics);
    if (!answer->groups.empty()) add(answer->groups.front().topics);
    return offsets;
  });
}

Outcome<Nothing> Groups::commit(const std::string& group, const std::map<GroupPartition, std::int64_t>& offsets,
                                MonotonicNs deadline) {
  return at_coordinator<Nothing>(group, "alterConsumerGroupOffsets", deadline, [&](Link& link) -> Outcome<Nothing> {
    protocol::OffsetCommitRequest request;
    request.group_id = group;
    using Topic = protocol::OffsetCommitRequest::Topic;
    request.topics = by_topic<Topic>(offsets, [](Topic& topic, const auto& offset) {
      topic.partitions.emplace_back();
      topic.partitions.back().partition_index = offset.first.partition;
      topic.partitions.back().committed_offset = offset.second;
      topic.partitions.back().committed_metadata = "";
    });
    auto answer = ATTEMPT(link.ask<protocol::OffsetCommitResponse>(request, kLastWithTopicNames));
    for (const auto& topic : answer->topics) {
      for (const auto& partition : topic.partitions) {
        if (partition.error_code != ErrorCode::NONE) return failure_of(partition.error_code);
      }
    }
    return Nothing{};
  });
}

Outcome<std::map<GroupPartition, ErrorCode>> Groups::remove_offsets(const std::string& group,
                                                                  const std::set<GroupPartition>& which,
                                                                  MonotonicNs deadline) {
  using Codes = std::map<GroupPartition, ErrorCode>;
  return at_coordinator<Codes>(group, "deleteConsumerGroupOffsets", deadline, [&](Link& link) -> Outcome<Codes> {
    protocol::OffsetDeleteRequest request;
    request.group_id = group;
    using Topic = protocol::OffsetDeleteRequest::Topic;
    request.topics = by_topic<Topic>(which, [](Topic& topic, const GroupPartition& key) {
      topic.partitions.emplace_back();
      topic.partitions.back().partition_index = key.partition;
    });
    auto answer = ATTEMPT(link.ask<protocol::OffsetDeleteResponse>(request));
    if (answer->error_code != ErrorCode::NONE) return failure_of(answer->error_code);
    Codes codes;
    for (const auto& topic : answer->topics) {
      for (const auto& partition : topic.partitions)
        codes[{topic.name, partition.partition_index}] = partition.error_code;
    }
    return codes;
  });
}

Outcome<std::vector<std::int32_t>> Groups::partitions_of(const std::string& topic, std::string_view call,
                                                         MonotonicNs deadline) {
  for (int attempt = 0;; ++attempt) {
    protocol::MetadataResponse metadata = ATTEMPT(cluster_.metadata(std::vector<std::string>{topic}, call, deadline));
    if (metadata.topics.size() != 1) return failure_of(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    const auto& found = metadata.topics.front();
    if (found.error_code == ErrorCode::NONE) {
      std::vector<std::int32_t> partitions;
      for (const auto& partition : found.partitions) partitions.push_back(partition.partition_index);
      std::ranges::sort(partitions);
      return partitions;
    }
    if (found.error_code != ErrorCode::LEADER_NOT_AVAILABLE) return failure_of(found.error_code);
    ATTEMPT(cluster_.back_off(attempt, call, deadline));
  }
}

Outcome<std::map<GroupPartition, FoundOffset>> Groups::offsets_at(const std::map<GroupPartition, std::int64_t>& timestamps,
                                                                MonotonicNs deadline) {
  constexpr std::string_view kCall = "listOffsets(api=METADATA)";
  std::map<GroupPartition, FoundOffset> found;
  std::map<GroupPartition, std::int64_t> left = timestamps;
  for (int attempt = 0; !left.empty(); ++attempt) {
    if (attempt > 0) ATTEMPT(cluster_.back_off(attempt - 1, kCall, deadline));
    std::set<std::string> topics;
    for (const auto& [key, time] : left) topics.insert(key.topic);
    protocol::MetadataResponse metadata =
        ATTEMPT(cluster_.metadata(std::vector<std::string>(topics.begin(), topics.end()), kCall, deadline));
    std::map<std::int32_t, std::map<GroupPartition, std::int64_t>> by_leader;
    for (const auto& topic : metadata.topics) {
      for (const auto& partition : topic.partitions) {
        auto wanted = left.find({topic.name.value_or(""), partition.partition_index});
        if (wanted != left.end() && partition.leader_id >= 0) by_leader[partition.leader_id].insert(*wanted);
      }
    }
    for (const auto& [leader, wanted] : by_leader) {
      Link* link = ATTEMPT(cluster_.broker(leader, "listOffsets(api=LIST_OFFSETS)", deadline));
      protocol::ListOffsetsRequest request;
      request.replica_id = -1;
      using Topic = protocol::ListOffsetsRequest::Topic;
      request.topics = by_topic<Topic>(wanted, [](Topic& topic, const auto& at) {
        topic.partitions.emplace_back();
        topic.partitions.back().partition_index = at.first.partition;
        topic.partitions.back().timestamp = at.second;
      });
      auto answer = link->ask<protocol::ListOffsetsResponse>(request);
      if (!answer) {
        if (!protocol::is_retriable(answer.failure().code)) return answer.failure();
        continue;
      }
      for (const auto& topic : (*answer)->topics) {
        for (const auto& partition : topic.partitions) {
          GroupPartition key{topic.name, partition.partition_index};
          if (partition.error_code == ErrorCode::NONE) {
            found[key] = partition.offset < 0 ? FoundOffset() : FoundOffset(partition.offset);
            left.erase(key);
          } else if (!protocol::is_retriable(partition.error_code)) {
            return failure_of(partition.error_code);
          }
        }
      }
    }
  }
  return found;
}

}  // namespace cordwood::client
