#include "client/consumer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "client/java_order.h"
#include "protocol/messages/list_offsets.h"
#include "record/batch.h"
#include "record/control_record.h"
#include "record/record_walk.h"

namespace cordwood::client {
namespace {

using protocol::ErrorCode;

// The last versions that name topics by name.
constexpr std::int16_t kNewestFetch = 12;
constexpr std::int64_t kLatest = -1;
constexpr std::int64_t kEarliest = -2;

std::int32_t hash_of(const TopicPartition& partition) { return java_hash_code(partition.topic, partition.partition.value); }

// In the order in which Java's HashMap of that many entries holds them: the order of requests and of what is handed out when several
// partitions have records.
std::vector<TopicPartition> in_consumers_order(const std::vector<TopicPartition>& partitions) {
  return in_java_order(partitions, hash_of, partitions.size());
}

Failure damaged(const TopicPartition& partition, Offset at, std::string_view cause) {
  return {ErrorCode::CORRUPT_MESSAGE,
          fmt::format("Record batch for partition {} at offset {} is invalid, cause: {}", partition.to_string(), at, cause)};
}

}  // namespace

Consumer::Consumer(ClusterOptions cluster, ConsumerOptions options, const Clock& clock, ConsumerListener& listener)
    : cluster_(cluster, clock, listener),
      links_(cluster, clock, listener),
      options_(std::move(options)),
      clock_(clock),
      listener_(listener) {
  if (!options_.group.group_id.empty()) member_.emplace(std::move(cluster), options_.group, clock, listener);
}

void Consumer::assign(const std::vector<TopicPartition>& partitions) {
  subscribed_ = false;
  std::set<std::string> topics;
  for (const TopicPartition& partition : partitions) topics.insert(partition.topic);
  topics_.assign(topics.begin(), topics.end());
  std::erase_if(states_, [&](const auto& entry) { return std::ranges::find(partitions, entry.first) == partitions.end(); });
  for (const TopicPartition& partition : partitions) {
    auto [state, fresh] = states_.try_emplace(partition);
    if (fresh) state->second.committed_unknown = member_.has_value();
    if (fresh && !member_) state->second.reset = options_.reset;
  }
  order_ = in_consumers_order(partitions);
  metadata_wanted_ = true;
}

void Consumer::place(State& state, Offset at, std::int32_t leader_epoch) {
  state.position = at;
  state.leader_epoch = leader_epoch;
  state.fetch_position = at;
  state.reset.reset();
  state.committed_unknown = false;
  state.fetched.clear();
  ++state.seek_count;
}

void Consumer::seek(const TopicPartition& partition, Offset to) {
  if (auto state = states_.find(partition); state != states_.end()) place(state->second, to);
}

void Consumer::seek_by_reset(const TopicPartition& partition, OffsetReset to) {
  auto found = states_.find(partition);
  if (found == states_.end()) return;
  place(found->second, {0});
  found->second.position.reset();
  found->second.reset = to;
}

void Consumer::subscribe(std::vector<std::string> topics) {
  CHECK(member_.has_value(), "a subscription needs a group");
  subscribed_ = true;
  wanted_ = nullptr;
  topics_ = std::move(topics);
  metadata_wanted_ = true;
}

void Consumer::subscribe(std::function<bool(std::string_view)> wanted) {
  CHECK(member_.has_value(), "a subscription needs a group");
  subscribed_ = true;
  wanted_ = std::move(wanted);
  topics_.clear();
  metadata_wanted_ = true;
}

std::optional<Offset> Consumer::position(const TopicPartition& partition) const {
  auto state = states_.find(partition);
  if (state == states_.end()) return {};
  return state->second.position;
}

// After new metadata: which topics a pattern means now, and whether a leader must share out anew.
void Consumer::look_at_topics() {
  if (!subscribed_) return;
  if (wanted_) {
    topics_.clear();
    for (const auto& [name, topic] : known_.topics) {
      if ((!topic.is_internal || !options_.exclude_internal_topics) && wanted_(name)) topics_.push_back(name);
    }
  }
  member_->want(topics_);
  if (member_->leads() && member_->is_stable()) {
    std::vector<std::string> names;
    for (const auto& [name, count] : shared_out_) names.push_back(name);
    for (const std::string& name : topics_) names.push_back(name);
    if (count_partitions(names) != shared_out_) member_->rejoin();
  }
}

PartitionCounts Consumer::count_partitions(const std::vector<std::string>& topics) const {
  PartitionCounts counts;
  for (const std::string& name : topics) {
    if (auto topic = known_.topics.find(name); topic != known_.topics.end()) {
      counts[name] = static_cast<std::int32_t>(topic->second.partitions.size());
    }
  }
  return counts;
}

Outcome<Nothing> Consumer::update_metadata(MonotonicNs deadline) {
  const MonotonicNs now = clock_.monotonic();
  if (!metadata_wanted_ && now - learnt_ < to_ns(options_.metadata_max_age)) return Nothing{};
  if (now < next_metadata_) return Nothing{};
  std::optional<std::vector<std::string>> topics = topics_;
  if (wanted_) topics.reset();
  auto found = look_up(cluster_, topics, options_.create_topics, deadline);
  ++metadata_attempts_;
  DurationMs wait{options_.retry_backoff.value << std::min(metadata_attempts_ - 1, 10)};
  next_metadata_ = clock_.monotonic() + to_ns(std::min(wait, options_.retry_backoff_max));
  if (!found) return Nothing{};
  known_ = *std::move(found);
  learnt_ = clock_.monotonic();
  metadata_wanted_ = !known_.mistakes.empty();
  if (!metadata_wanted_) metadata_attempts_ = 0;
  if (metadata_wanted_) listener_.metadata_mistakes(known_.correlation_id, known_.mistakes);
  for (const TopicMistake& mistake : known_.mistakes) {
    if (mistake.code == ErrorCode::INVALID_TOPIC_EXCEPTION) {
      return Failure{mistake.code, fmt::format("Invalid topics: [{}]", mistake.topic)};
    }
    if (mistake.code == ErrorCode::TOPIC_AUTHORIZATION_FAILED) {
      return Failure{mistake.code, fmt::format("Not authorized to access topics: [{}]", mistake.topic)};
    }
  }
  look_at_topics();
  return Nothing{};
}

Outcome<Nothing> Consumer::update_group(MonotonicNs deadline) {
  // Before the first metadata nobody knows whether the topics are there.
  if (learnt_.value == 0) return Nothing{};
  auto count = [&](const std::vector<std::string>& topics) { return shared_out_ = count_partitions(topics); };
  for (;;) {
    switch (ATTEMPT(member_->step(deadline, count))) {
      case GroupMember::Step::nothing: return Nothing{};
      case GroupMember::Step::must_revoke:
        if (options_.auto_commit) commit(left_ms(deadline - clock_.monotonic()));
        if (!member_->cooperative()) {
          listener_.partitions_revoked(order_);
          states_.clear();
          order_.clear();
        }
        break;
      case GroupMember::Step::assigned: ATTEMPT(take_assignment(member_->partitions())); break;
    }
  }
}

Outcome<Nothing> Consumer::take_assignment(const std::vector<TopicPartition>& partitions) {
  std::vector<TopicPartition> gone;
  std::vector<TopicPartition> fresh;
  for (const TopicPartition& partition : order_) {
    if (std::ranges::find(partitions, partition) == partitions.end()) gone.push_back(partition);
  }
  if (!gone.empty()) {
    if (options_.auto_commit) commit({1'000});
    listener_.partitions_revoked(gone);
    for (const TopicPartition& partition : gone) states_.erase(partition);
  }
  for (const TopicPartition& partition : partitions) {
    auto [state, is_new] = states_.try_emplace(partition);
    if (!is_new) continue;
    state->second.committed_unknown = true;
    fresh.push_back(partition);
    if (!known_.topics.contains(partition.topic)) metadata_wanted_ = true;
  }
  order_ = in_consumers_order(partitions);
  next_commit_ = clock_.monotonic() + to_ns(options_.auto_commit_interval);
  listener_.partitions_assigned(fresh);
  return Nothing{};
}

Outcome<Nothing> Consumer::update_positions(MonotonicNs deadline) {
  const MonotonicNs now = clock_.monotonic();
  std::vector<TopicPartition> unknown;
  for (const auto& [partition, state] : states_) {
    if (!state.position && state.committed_unknown && state.not_before <= now) unknown.push_back(partition);
  }
  if (!unknown.empty()) {
    auto committed = member_->committed(unknown, deadline);
    if (!committed && !protocol::is_retriable(committed.failure().code) &&
        committed.failure().code != ErrorCode::REBALANCE_IN_PROGRESS) {
      return committed.failure();
    }
    for (const TopicPartition& partition : unknown) {
      State& state = states_.at(partition);
      if (!committed) {
        state.not_before = clock_.monotonic() + to_ns(options_.retry_backoff);
        continue;
      }
      state.committed_unknown = false;
      if (auto offset = committed->find(partition); offset != committed->end()) {
        place(state, offset->second.offset, offset->second.leader_epoch);
      } else {
        state.reset = options_.reset;
      }
    }
  }
  std::map<std::int32_t, std::vector<TopicPartition>> by_leader;
  for (auto& [partition, state] : states_) {
    if (state.position || state.committed_unknown || state.not_before > now) continue;
    if (state.reset.value_or(options_.reset) == OffsetReset::none) {
      return Failure{ErrorCode::OFFSET_OUT_OF_RANGE,
                     fmt::format("Undefined offset with no reset policy for partitions: [{}]", partition.to_string())};
    }
    const Node* leader = known_.leader_of(partition);
    if (leader == nullptr) {
      metadata_wanted_ = metadata_wanted_ || known_.topics.contains(partition.topic);
      continue;
    }
    // Its link is free once the fetch on it was answered.
    if (!requests_.contains(leader->id)) by_leader[leader->id].push_back(partition);
  }
  for (const auto& [node, partitions] : by_leader) ATTEMPT(reset_positions(node, partitions));
  return Nothing{};
}

Outcome<Nothing> Consumer::reset_positions(std::int32_t node, const std::vector<TopicPartition>& partitions) {
  auto put_off = [&] {
    for (const TopicPartition& partition : partitions) {
      states_.at(partition).not_before = clock_.monotonic() + to_ns(options_.retry_backoff);
    }
    metadata_wanted_ = true;
    return Nothing{};
  };
  auto link = links_.to(known_.nodes.at(node));
  if (!link) return put_off();
  protocol::ListOffsetsRequest request;
  request.replica_id = -1;
  request.isolation_level = static_cast<std::int8_t>(options_.isolation);
  for (const TopicPartition& partition : partitions) {
    if (request.topics.empty() || request.topics.back().name != partition.topic) request.topics.emplace_back().name = partition.topic;
    auto& entry = request.topics.back().partitions.emplace_back();
    entry.partition_index = partition.partition.value;
    entry.timestamp = states_.at(partition).reset.value_or(options_.reset) == OffsetReset::earliest ? kEarliest : kLatest;
  }
  auto answer = (*link)->ask<protocol::ListOffsetsResponse>(request);
  if (!answer) {
    if (!protocol::is_retriable(answer.failure().code)) return answer.failure();
    links_.drop(node);
    return put_off();
  }
  for (const auto& topic : (*answer)->topics) {
    for (const auto& got : topic.partitions) {
      TopicPartition partition{topic.name, {got.partition_index}};
      auto state = states_.find(partition);
      if (state == states_.end()) continue;
      if (got.error_code == ErrorCode::NONE && got.offset >= 0) {
        place(state->second, {got.offset}, got.leader_epoch);
        listener_.position_reset(partition, {got.offset});
        continue;
      }
      if (got.error_code != ErrorCode::NONE && !protocol::is_retriable(got.error_code)) return failure_of(got.error_code);
      state->second.not_before = clock_.monotonic() + to_ns(options_.retry_backoff);
      metadata_wanted_ = true;
    }
  }
  return Nothing{};
}

// Each broker gets one request at a time, for the partitions of which nothing lies here unread.
void Consumer::send_fetches() {
  const MonotonicNs now = clock_.monotonic();
  std::map<std::int32_t, protocol::FetchRequest> requests;
  std::map<std::int32_t, Request> under_way;
  for (const TopicPartition& partition : order_) {
    State& state = states_.at(partition);
    // One answer may lie here while the next one is on its way.
    if (!state.position || state.under_way || state.fetched.size() > 1 || state.not_before > now) continue;
    const Node* leader = known_.leader_of(partition);
    if (leader == nullptr) {
      if (known_.topics.contains(partition.topic)) metadata_wanted_ = true;
      continue;
    }
    if (requests_.contains(leader->id)) continue;
    auto& request = requests[leader->id];
    if (request.topics.empty() || request.topics.back().topic != partition.topic) request.topics.emplace_back().topic = partition.topic;
    auto& entry = request.topics.back().partitions.emplace_back();
    entry.partition = partition.partition.value;
    entry.fetch_offset = state.fetch_position.value;
    entry.partition_max_bytes = options_.max_partition_fetch_bytes;
    under_way[leader->id].partitions[partition] = state.seek_count;
  }
  for (auto& [node, request] : requests) {
    request.max_wait_ms = static_cast<std::int32_t>(options_.fetch_max_wait.value);
    request.min_bytes = options_.fetch_min_bytes;
    request.max_bytes = options_.fetch_max_bytes;
    request.isolation_level = static_cast<std::int8_t>(options_.isolation);
    auto link = links_.to(known_.nodes.at(node));
    std::optional<std::int16_t> version;
    if (link) version = (*link)->common_version(protocol::FetchRequest::kApiKey, protocol::FetchRequest::kMinVersion, kNewestFetch);
    if (!version || !(*link)->connection().send(request, *version)) {
      for (const auto& [partition, seek_count] : under_way[node].partitions) {
        states_.at(partition).not_before = now + to_ns(options_.retry_backoff);
      }
      links_.drop(node);
      metadata_wanted_ = true;
      continue;
    }
    for (const auto& [partition, seek_count] : under_way[node].partitions) states_.at(partition).under_way = true;
    under_way[node].version = *version;
    under_way[node].sent = now;
    requests_[node] = std::move(under_way[node]);
  }
}

void Consumer::link_lost(std::int32_t node) {
  auto request = requests_.find(node);
  if (request != requests_.end()) {
    for (const auto& [partition, seek_count] : request->second.partitions) {
      auto state = states_.find(partition);
      if (state == states_.end()) continue;
      state->second.under_way = false;
      state->second.not_before = clock_.monotonic() + to_ns(options_.retry_backoff);
    }
    requests_.erase(request);
  }
  links_.drop(node);
  metadata_wanted_ = true;
}

Outcome<Nothing> Consumer::receive(std::int32_t node) {
  Link* link = links_.find(node);
  auto found = requests_.find(node);
  if (link == nullptr || found == requests_.end()) return Nothing{};
  auto answer = link->connection().receive<protocol::FetchResponse>(found->second.version);
  if (!answer) {
    link_lost(node);
    return Nothing{};
  }
  Request request = std::move(found->second);
  requests_.erase(found);
  for (const auto& [partition, seek_count] : request.partitions) {
    if (auto state = states_.find(partition); state != states_.end()) state->second.under_way = false;
  }
  auto frame = std::make_shared<const ByteVector>(std::move(answer->frame));
  for (const auto& topic : (*answer)->responses) {
    for (const auto& got : topic.partitions) {
      TopicPartition partition{topic.topic, {got.partition_index}};
      auto asked = request.partitions.find(partition);
      auto state = states_.find(partition);
      if (asked == request.partitions.end() || state == states_.end() || state->second.seek_count != asked->second) continue;
      ATTEMPT(take(partition, got, frame));
    }
  }
  return Nothing{};
}

Outcome<Nothing> Consumer::take(const TopicPartition& partition, const protocol::FetchResponse::Partition& answer,
                                const std::shared_ptr<const ByteVector>& frame) {
  State& state = states_.at(partition);
  switch (answer.error_code) {
    case ErrorCode::NONE: break;
    case ErrorCode::OFFSET_OUT_OF_RANGE:
      if (options_.reset == OffsetReset::none) {
        return Failure{answer.error_code, fmt::format("Fetch position {} is out of range for partition {}", state.fetch_position,
                                                      partition.to_string())};
      }
      if (state.fetched.empty()) {
        place(state, {0});
        state.position.reset();
        state.reset = options_.reset;
      }
      return Nothing{};
    case ErrorCode::TOPIC_AUTHORIZATION_FAILED:
      return Failure{answer.error_code, fmt::format("Not authorized to access topics: [{}]", partition.topic)};
    default:
      if (!protocol::is_retriable(answer.error_code) && answer.error_code != ErrorCode::UNKNOWN_SERVER_ERROR) {
        return failure_of(answer.error_code);
      }
      state.not_before = clock_.monotonic() + to_ns(options_.retry_backoff);
      metadata_wanted_ = true;
      return Nothing{};
  }
  if (!answer.records || answer.records->bytes.empty()) return Nothing{};
  Fetched fetched{frame, answer.records->bytes, answer.aborted_transactions.value_or(std::vector<protocol::FetchResponse::AbortedTransaction>()), {}};
  std::ranges::sort(fetched.aborted, {}, &protocol::FetchResponse::AbortedTransaction::first_offset);
  // The last batch may be cut off: it is asked for again.
  std::size_t whole = 0;
  while (fetched.batches.size() - whole >= record::kHeaderSize) {
    BytesView rest = fetched.batches.subspan(whole);
    std::int64_t size = static_cast<std::int64_t>(load_be<std::int32_t>(rest, record::kBatchLength)) +
                        static_cast<std::int64_t>(record::kLogOverhead);
    if (size < static_cast<std::int64_t>(record::kHeaderSize) || size > static_cast<std::int64_t>(rest.size())) break;
    auto header = record::read_header(rest);
    if (!header || header->magic != 2) break;
    whole += static_cast<std::size_t>(size);
    state.fetch_position = std::max(state.fetch_position, header->next_offset());
  }
  if (whole == 0) {
    std::int8_t magic = fetched.batches.size() > record::kMagic ? static_cast<std::int8_t>(fetched.batches[record::kMagic]) : std::int8_t{2};
    return damaged(partition, state.fetch_position, magic == 2 ? "it is cut off" : fmt::format("magic {} is not read here", magic));
  }
  fetched.batches = fetched.batches.first(whole);
  state.fetched.push_back(std::move(fetched));
  return Nothing{};
}

// Whether the visitor wants more.
Outcome<bool> Consumer::hand_out_batches(const TopicPartition& partition, State& state, Fetched& fetched, const Visitor& visit,
                                         std::int64_t& count) {
  while (!fetched.batches.empty()) {
    auto parsed = record::BatchView::parse(fetched.batches);
    if (!parsed) return damaged(partition, *state.position, parsed.error().message());
    const record::BatchView batch = *parsed;
    const record::BatchHeader header = batch.header();
    if (options_.check_crcs && !batch.crc_is_valid()) {
      return damaged(partition, header.base_offset,
                     fmt::format("Record is corrupt (stored crc = {}, computed crc = {})", batch.stored_crc(), batch.computed_crc()));
    }
    bool skip = header.is_control();
    if (options_.isolation == Isolation::read_committed && header.has_producer_id()) {
      while (!fetched.aborted.empty() && fetched.aborted.front().first_offset <= header.last_offset().value) {
        fetched.aborting.insert(fetched.aborted.front().producer_id);
        fetched.aborted.erase(fetched.aborted.begin());
      }
      if (header.is_control()) {
        auto marker = record::read_marker(batch);
        if (!marker) return damaged(partition, header.base_offset, marker.error().message());
        if (*marker && (*marker)->type == record::ControlType::abort) fetched.aborting.erase(header.producer_id);
      } else if (header.is_transactional() && fetched.aborting.contains(header.producer_id)) {
        skip = true;
      }
    }
    bool stopped = false;
    if (!skip) {
      auto walked = record::walk_records(batch, [&](const record::RecordView& record) {
        if (record.offset < *state.position) return record::Walk::go_on;
        // The visitor's record is behind it, whatever it answers.
        state.position = next(record.offset);
        state.leader_epoch = header.partition_leader_epoch;
        ++count;
        stopped = visit({partition.topic, partition.partition, header.timestamp_type(), header.partition_leader_epoch, record}) ==
                  record::Walk::stop;
        return stopped ? record::Walk::stop : record::Walk::go_on;
      });
      if (!walked) return damaged(partition, *state.position, walked.error().message());
    }
    if (stopped) return false;
    state.position = std::max(*state.position, header.next_offset());
    fetched.batches = fetched.batches.subspan(batch.bytes().size());
  }
  return true;
}

Outcome<std::int64_t> Consumer::hand_out(const Visitor& visit) {
  std::vector<TopicPartition> present;
  for (const TopicPartition& partition : order_) {
    if (!states_.at(partition).fetched.empty()) present.push_back(partition);
  }
  std::int64_t count = 0;
  for (const TopicPartition& partition : in_java_order(std::move(present), hash_of)) {
    State& state = states_.at(partition);
    while (!state.fetched.empty()) {
      bool more = ATTEMPT(hand_out_batches(partition, state, state.fetched.front(), visit, count));
      if (!more) return count;
      state.fetched.pop_front();
    }
  }
  return count;
}

DurationMs Consumer::until_due(MonotonicNs deadline) const {
  MonotonicNs due = deadline;
  if (metadata_wanted_) due = std::min(due, next_metadata_);
  if (subscribed_) due = std::min(due, member_->due());
  if (options_.auto_commit && subscribed_) due = std::min(due, next_commit_);
  for (const auto& [partition, state] : states_) {
    if (!state.under_way && state.not_before.value > 0) due = std::min(due, std::max(state.not_before, clock_.monotonic() + to_ns({1})));
  }
  constexpr DurationMs kLongest{1'000};  // time-outs of requests are looked at in between
  return std::min(kLongest, DurationMs{left_ms(due - clock_.monotonic()).value + 1});
}

Outcome<std::int64_t> Consumer::poll(DurationMs patience, const Visitor& visit) {
  const MonotonicNs deadline = clock_.monotonic() + to_ns(patience);
  for (;;) {
    ATTEMPT(update_metadata(deadline));
    if (subscribed_) ATTEMPT(update_group(deadline));
    if (options_.auto_commit && member_ && !states_.empty() && clock_.monotonic() >= next_commit_) {
      next_commit_ = clock_.monotonic() + to_ns(options_.auto_commit_interval);
      commit(left_ms(deadline - clock_.monotonic()));
    }
    ATTEMPT(update_positions(deadline));
    send_fetches();
    std::int64_t count = ATTEMPT(hand_out(visit));
    if (count > 0) return count;
    if (clock_.monotonic() >= deadline || !cluster_.options().pause({0})) return 0;
    std::vector<std::int32_t> nodes;
    std::vector<int> descriptors;
    for (const auto& [node, request] : requests_) {
      Link* link = links_.find(node);
      nodes.push_back(node);
      descriptors.push_back(link == nullptr ? -1 : link->connection().fd());
    }
    if (subscribed_) descriptors.push_back(member_->descriptor());
    std::vector<bool> readable = wait_readable(descriptors, until_due(deadline));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (readable[i]) ATTEMPT(receive(nodes[i]));
    }
    const DurationNs patience_for_one = to_ns(cluster_.options().request_timeout + options_.fetch_max_wait);
    for (std::int32_t node : nodes) {
      auto request = requests_.find(node);
      if (request != requests_.end() && clock_.monotonic() - request->second.sent > patience_for_one) link_lost(node);
    }
  }
}

std::map<TopicPartition, Position> Consumer::positions() const {
  std::map<TopicPartition, Position> positions;
  for (const auto& [partition, state] : states_) {
    if (state.position) positions[partition] = {*state.position, state.leader_epoch};
  }
  return positions;
}

void Consumer::commit(DurationMs patience) {
  if (!member_) return;
  // What could not be committed is committed next time, or read again by whoever comes then.
  (void)member_->commit(positions(), clock_.monotonic() + to_ns(patience));
}

void Consumer::close(DurationMs patience) {
  if (!member_) return;
  if (options_.auto_commit) commit(patience);
  if (subscribed_) member_->leave(clock_.monotonic() + to_ns(patience));
}

}  // namespace cordwood::client
