#include "client/producer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "protocol/messages/init_producer_id.h"

namespace cordwood::client {
namespace {

using protocol::ErrorCode;

// The last version that names topics by name, and the last one that a producer without topic ids needs.
constexpr std::int16_t kNewestProduceVersion = 12;

// Doubles from attempt to attempt.
DurationMs backoff_after(int attempts, DurationMs first, DurationMs longest) {
  return std::min(DurationMs{first.value << std::clamp(attempts - 1, 0, 10)}, longest);
}

bool is_about_sequences(ErrorCode code) {
  return code == ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER || code == ErrorCode::UNKNOWN_PRODUCER_ID;
}

bool asks_for_metadata(ErrorCode code) {
  switch (code) {
    case ErrorCode::NOT_LEADER_OR_FOLLOWER:
    case ErrorCode::LEADER_NOT_AVAILABLE:
    case ErrorCode::UNKNOWN_TOPIC_OR_PARTITION:
    case ErrorCode::KAFKA_STORAGE_ERROR:
    case ErrorCode::NETWORK_EXCEPTION:
    case ErrorCode::REQUEST_TIMED_OUT: return true;
    default: return false;
  }
}

Failure timed_out(std::string text) { return {ErrorCode::REQUEST_TIMED_OUT, std::move(text)}; }

}  // namespace

Producer::Producer(ClusterOptions cluster, ProducerOptions options, const Clock& clock, Random& random,
                   ProducerListener& listener)
    : cluster_(cluster, clock, listener),
      links_(std::move(cluster), clock, listener),
      options_(std::move(options)),
      clock_(clock),
      random_(random),
      listener_(listener) {}

// The topic with its partitions, waited for when it is new. Null when that was in vain: `refused` says why.
Producer::TopicState* Producer::topic_state(const std::string& topic, std::optional<PartitionId> partition, Delivery& refused) {
  auto suffices = [&](const TopicState& state) {
    return !state.known.partitions.empty() &&
           (!partition || static_cast<std::size_t>(partition->value) < state.known.partitions.size());
  };
  auto& slot = topics_[topic];
  if (slot == nullptr) slot = std::make_unique<TopicState>(random_, options_.batching.batch_size);
  TopicState& state = *slot;
  if (suffices(state)) return &state;

  const MonotonicNs deadline = clock_.monotonic() + to_ns(options_.max_block);
  std::optional<Failure> last;
  for (int attempt = 1;; ++attempt) {
    auto found = look_up(cluster_, std::vector<std::string>{topic}, true, deadline);
    if (found) {
      nodes_ = found->nodes;
      if (!found->mistakes.empty()) {
        listener_.metadata_mistakes(found->correlation_id, found->mistakes);
        last = failure_of(found->mistakes.front().code);
        if (last->code == ErrorCode::INVALID_TOPIC_EXCEPTION) {
          refused.failure = Failure{last->code, fmt::format("Invalid topics: [{}]", topic)};
          return nullptr;
        }
        if (last->code == ErrorCode::TOPIC_AUTHORIZATION_FAILED) {
          refused.failure = Failure{last->code, fmt::format("Not authorized to access topics: [{}]", topic)};
          return nullptr;
        }
      }
      if (auto known = found->topics.find(topic); known != found->topics.end()) {
        last.reset();
        state.known = known->second;
        state.learnt = clock_.monotonic();
        if (suffices(state)) return &state;
      }
    }
    DurationMs left = left_ms(deadline - clock_.monotonic());
    DurationMs wait = std::min(left, backoff_after(attempt, options_.retry_backoff, options_.retry_backoff_max));
    if (left.value > 0 && cluster_.options().pause(wait) && clock_.monotonic() < deadline) continue;
    if (state.known.partitions.empty() || !partition) {
      refused.failure = timed_out(fmt::format("Topic {} not present in metadata after {} ms.", topic, options_.max_block));
    } else {
      refused.failure = timed_out(fmt::format("Partition {} of topic {} with partition count {} is not present in metadata after {} ms.",
                                              partition->value, topic, state.known.partitions.size(), options_.max_block));
    }
    refused.cause = last;
    return nullptr;
  }
}

// Sends and waits until `bytes` more may be buffered.
bool Producer::make_room(std::int64_t bytes, Delivery& refused) {
  const MonotonicNs deadline = clock_.monotonic() + to_ns(options_.max_block);
  while (buffered_bytes_ + bytes > options_.buffer_memory) {
    MonotonicNs now = clock_.monotonic();
    if (now >= deadline || !cluster_.options().pause({0})) {
      refused.failure = timed_out(fmt::format(
          "Failed to allocate {} bytes within the configured max blocking time {} ms. Total memory: {} bytes. Available memory: {} "
          "bytes. Poolable size: {} bytes",
          bytes, options_.max_block, options_.buffer_memory, options_.buffer_memory - buffered_bytes_, options_.batching.batch_size));
      return false;
    }
    send_now_ = true;
    poll(std::min(left_ms(deadline - now), DurationMs{100}));
    send_now_ = false;
  }
  return true;
}

void Producer::send(const std::string& topic, std::optional<PartitionId> partition, const RecordToSend& record,
                    DeliveryHandler handler) {
  Delivery refused;
  auto refuse = [&] {
    if (handler) handler(refused);
  };
  TopicState* state = topic_state(topic, partition, refused);
  if (state == nullptr) return refuse();
  const std::int64_t size = largest_size_of(record);
  if (size > options_.max_request_size) {
    refused.failure = Failure{ErrorCode::MESSAGE_TOO_LARGE,
                              fmt::format("The message is {} bytes when serialized which is larger than {}, which is the value of the "
                                          "max.request.size configuration.",
                                          size, options_.max_request_size)};
    return refuse();
  }
  if (size > options_.buffer_memory) {
    refused.failure = Failure{ErrorCode::MESSAGE_TOO_LARGE,
                              fmt::format("The message is {} bytes when serialized which is larger than the total memory buffer you have "
                                          "configured with the buffer.memory configuration.",
                                          size)};
    return refuse();
  }
  const auto count = static_cast<std::int32_t>(state->known.partitions.size());
  bool sticky = !partition && (!record.key || options_.ignore_keys);
  if (!partition) {
    partition = PartitionId{sticky ? state->sticky.partition(count, state->known.available) : partition_of_key(*record.key, count)};
  }
  CompressionRatio& ratio = ratios_[options_.batching.compression.codec];
  PartitionState& of_partition = state->partitions[partition->value];
  bool needs_batch = of_partition.queue.empty() || !of_partition.queue.batches().back()->has_room_for(record, ratio);
  if (needs_batch && !make_room(std::max<std::int64_t>(size, options_.batching.batch_size), refused)) return refuse();
  auto appended = of_partition.queue.append(options_.batching, ratio, record, std::move(handler), clock_.monotonic());
  buffered_bytes_ += appended.memory;
  if (appended.memory > 0) ++waiting_batches_;
  if (sticky) state->sticky.appended(appended.bytes, appended.batches_full);
}

Producer::PartitionState& Producer::state_of(const TopicPartition& partition) {
  return topics_.at(partition.topic)->partitions[partition.partition.value];
}

void Producer::refresh_metadata() {
  const MonotonicNs now = clock_.monotonic();
  if (topics_.empty() || now < next_metadata_) return;
  bool old = std::ranges::any_of(topics_, [&](const auto& entry) {
    return !entry.second->known.partitions.empty() && now - entry.second->learnt > to_ns(options_.metadata_max_age);
  });
  if (!old && !metadata_wanted_) return;
  std::vector<std::string> names;
  for (const auto& [name, state] : topics_) names.push_back(name);
  next_metadata_ = now + to_ns(options_.retry_backoff);
  auto found = look_up(cluster_, names, true, now + to_ns(options_.request_timeout));
  if (!found) return;
  metadata_wanted_ = false;
  nodes_ = found->nodes;
  if (!found->mistakes.empty()) listener_.metadata_mistakes(found->correlation_id, found->mistakes);
  for (auto& [name, known] : found->topics) {
    TopicState& state = *topics_[name];
    state.known = std::move(known);
    state.learnt = clock_.monotonic();
  }
}

// Whether batches may be given sequences: asks for a producer id, or raises the epoch, where that is due.
bool Producer::has_identity() {
  if (!options_.idempotence) return true;
  if (bump_wanted_ && identity_.id >= 0) {
    if (identity_.epoch < std::numeric_limits<std::int16_t>::max()) {
      ++identity_.epoch;
    } else {
      identity_ = {};
    }
  }
  bump_wanted_ = false;
  if (identity_.id >= 0) return true;
  const MonotonicNs now = clock_.monotonic();
  auto link = cluster_.any("initProducerId", now + to_ns(options_.request_timeout));
  if (!link) return false;
  protocol::InitProducerIdRequest request;
  request.transaction_timeout_ms = INT32_MAX;
  auto answer = (*link)->ask<protocol::InitProducerIdResponse>(request);
  if (!answer || (*answer)->error_code != ErrorCode::NONE) {
    (void)cluster_.options().pause(options_.retry_backoff);
    return false;
  }
  identity_ = {(*answer)->producer_id, (*answer)->producer_epoch};
  return true;
}

bool Producer::may_leave(const PartitionState& state, MonotonicNs now) const {
  const GatheredBatch& first = state.queue.front();
  auto ratio = ratios_.find(options_.batching.compression.codec);
  if (first.attempts > 0) {
    if (first.not_before > now) return false;
  } else if (!send_now_ && (ratio == ratios_.end() || state.queue.due(ratio->second, options_.linger) > now)) {
    return false;
  }
  // What is sent again goes alone, and so does the first batch of a new epoch: order is kept.
  bool again = state.begin_anew || first.attempts > 0;
  return !options_.idempotence || !again || state.in_flight == 0;
}

void Producer::give_sequence(PartitionState& state, GatheredBatch& batch) {
  if (!options_.idempotence) return;
  bool fresh = batch.base_sequence() < 0;
  if (state.in_flight == 0 && state.identity != identity_ && (fresh || state.begin_anew)) {
    state.identity = identity_;
    state.next_sequence = 0;
    state.begin_anew = false;
  }
  if (!fresh && batch.identity() == state.identity) return;
  batch.set_identity(state.identity, state.next_sequence, false);
  state.next_sequence = record::add_sequence(state.next_sequence, batch.record_count());
}

// One round: at most one batch of each partition, one request to each broker. Whether something was sent.
bool Producer::send_due() {
  const MonotonicNs now = clock_.monotonic();
  struct Gathered {
    std::vector<UnderWay> batches;
    std::int64_t size = 0;
  };
  std::map<std::int32_t, Gathered> by_node;
  CompressionRatio& ratio = ratios_[options_.batching.compression.codec];
  for (auto& [name, topic] : topics_) {
    for (auto& [index, state] : topic->partitions) {
      if (state.queue.empty() || !may_leave(state, now)) continue;
      auto place = static_cast<std::size_t>(index);
      std::int32_t leader = place < topic->known.partitions.size() ? topic->known.partitions[place].leader : -1;
      if (!nodes_.contains(leader)) {
        metadata_wanted_ = true;
        continue;
      }
      if (static_cast<std::int32_t>(requests_[leader].size()) >= options_.max_in_flight || !has_identity()) continue;
      Gathered& gathered = by_node[leader];
      std::int64_t size = static_cast<std::int64_t>(state.queue.front().close(ratio).size());
      if (!gathered.batches.empty() && gathered.size + size > options_.max_request_size) continue;
      gathered.size += size;
      UnderWay under_way{{name, {index}}, state.queue.take_front(), -1};
      give_sequence(state, *under_way.batch);
      under_way.sent_sequence = under_way.batch->base_sequence();
      --waiting_batches_;
      ++in_flight_batches_;
      ++state.in_flight;
      gathered.batches.push_back(std::move(under_way));
    }
  }
  for (auto& [node, gathered] : by_node) {
    if (!gathered.batches.empty()) send_request(node, std::move(gathered.batches));
  }
  return !by_node.empty();
}

void Producer::send_request(std::int32_t node, std::vector<UnderWay> batches) {
  Request under_way{0, clock_.monotonic(), std::move(batches)};
  protocol::ProduceRequest request;
  request.acks = options_.acks;
  request.timeout_ms = static_cast<std::int32_t>(options_.request_timeout.value);
  for (UnderWay& each : under_way.batches) {
    ++each.batch->attempts;
    if (request.topic_data.empty() || request.topic_data.back().name != each.partition.topic) {
      request.topic_data.emplace_back().name = each.partition.topic;
    }
    request.topic_data.back().partition_data.push_back({each.partition.partition.value, protocol::Records{each.batch->bytes(), {}}});
  }
  auto& queue = requests_[node];
  auto link = links_.to(nodes_.at(node));
  std::optional<std::int16_t> version;
  if (link) {
    version = (*link)->common_version(protocol::ProduceRequest::kApiKey, protocol::ProduceRequest::kMinVersion, kNewestProduceVersion);
  }
  under_way.version = version.value_or(0);
  Failure failure = link ? failure_of(ErrorCode::UNSUPPORTED_VERSION) : link.failure();
  if (version) {
    auto sent = (*link)->connection().send(request, *version);
    if (sent && options_.acks != 0) {
      queue.push_back(std::move(under_way));
      return;
    }
    if (sent) {
      for (UnderWay& each : under_way.batches) {
        release(*each.batch);
        --state_of(each.partition).in_flight;
        each.batch->complete({.partition = each.partition.partition});
      }
      return;
    }
    failure = {ErrorCode::NETWORK_EXCEPTION, sent.error().message()};
  }
  queue.push_back(std::move(under_way));
  link_lost(node, failure);
}

// A batch leaves the buffer for good.
void Producer::release(const GatheredBatch& batch) {
  buffered_bytes_ -= batch.memory();
  --in_flight_batches_;
}

void Producer::receive(std::int32_t node) {
  Link* link = links_.find(node);
  auto& queue = requests_[node];
  if (link == nullptr || queue.empty()) return;
  auto answer = link->connection().receive<protocol::ProduceResponse>(queue.front().version);
  if (!answer) return link_lost(node, {ErrorCode::NETWORK_EXCEPTION, answer.error().message()});
  Request request = std::move(queue.front());
  queue.pop_front();
  std::map<TopicPartition, const protocol::ProduceResponse::Partition*> answers;
  for (const auto& topic : (*answer)->responses) {
    for (const auto& partition : topic.partition_responses) answers[{topic.name, {partition.index}}] = &partition;
  }
  for (UnderWay& each : request.batches) {
    auto found = answers.find(each.partition);
    protocol::ProduceResponse::Partition missing;
    missing.error_code = ErrorCode::UNKNOWN_SERVER_ERROR;
    settle(std::move(each), found == answers.end() ? missing : *found->second);
  }
}

// One batch was answered.
void Producer::settle(UnderWay under_way, const protocol::ProduceResponse::Partition& answer) {
  GatheredBatch& batch = *under_way.batch;
  const ErrorCode code = answer.error_code;
  if (code == ErrorCode::NONE || code == ErrorCode::DUPLICATE_SEQUENCE_NUMBER) {
    --state_of(under_way.partition).in_flight;
    release(batch);
    batch.complete({.partition = under_way.partition.partition, .offset = {answer.base_offset}});
    return;
  }
  Failure failure = failure_of(code, answer.error_message);
  if (asks_for_metadata(code)) metadata_wanted_ = true;
  if (code == ErrorCode::MESSAGE_TOO_LARGE && batch.record_count() > 1) return split(std::move(under_way));
  if (may_retry(under_way)) {
    if (options_.idempotence && is_about_sequences(code)) {
      if (refused_for_its_sequence(under_way, code)) wish_new_epoch(under_way.partition);
      return retry(std::move(under_way), failure);
    }
    if (protocol::is_retriable(code)) return retry(std::move(under_way), failure);
  }
  --state_of(under_way.partition).in_flight;
  release(batch);
  if (batch.base_sequence() >= 0) {
    // A refusal that another attempt would not change: the batch is not in the log, those behind it close the gap. When
    // the attempts are over nobody knows, so what follows begins a new epoch.
    if (may_retry(under_way)) {
      close_gap(under_way.partition, batch);
    } else {
      wish_new_epoch(under_way.partition);
    }
  }
  Delivery delivery{.failure = failure, .partition = under_way.partition.partition};
  if (answer.record_errors.empty()) return batch.complete(delivery);
  batch.complete([&](std::int32_t index) {
    auto own = std::ranges::find(answer.record_errors, index, &protocol::ProduceResponse::RecordError::batch_index);
    Delivery told = delivery;
    if (own == answer.record_errors.end()) {
      told.failure->message = "Failed to append record because it was part of a batch which had one more more invalid records";
      told.java_class = "org.apache.kafka.common.KafkaException";
    } else {
      if (own->batch_index_error_message) told.failure->message = *own->batch_index_error_message;
      if (answer.record_errors.size() > 1) told.failure->code = ErrorCode::INVALID_RECORD;
    }
    return told;
  });
}

// Whether the batch itself is at fault, and not only one before it that is to be sent again.
bool Producer::refused_for_its_sequence(const UnderWay& under_way, ErrorCode code) {
  if (code == ErrorCode::UNKNOWN_PRODUCER_ID) return true;
  const std::int32_t own = under_way.batch->base_sequence();
  if (own != under_way.sent_sequence) return false;
  auto is_earlier = [&](const GatheredBatch& other) {
    return other.base_sequence() >= 0 && other.base_sequence() != own &&
           record::subtract_sequence(own, other.base_sequence()) < INT32_MAX / 2;
  };
  for (const auto& waiting : state_of(under_way.partition).queue.batches()) {
    if (is_earlier(*waiting)) return false;
  }
  for (const auto& [node, queue] : requests_) {
    for (const Request& request : queue) {
      for (const UnderWay& other : request.batches) {
        if (other.batch != nullptr && other.partition == under_way.partition && is_earlier(*other.batch)) return false;
      }
    }
  }
  return true;
}

bool Producer::may_retry(const UnderWay& under_way) const {
  return under_way.batch->attempts <= options_.retries &&
         clock_.monotonic() - under_way.batch->created() < to_ns(options_.delivery_timeout);
}

void Producer::retry(UnderWay under_way, const Failure& failure) {
  listener_.will_retry(under_way.partition, failure, options_.retries - under_way.batch->attempts);
  PartitionState& state = state_of(under_way.partition);
  under_way.batch->not_before =
      clock_.monotonic() + to_ns(backoff_after(under_way.batch->attempts, options_.retry_backoff, options_.retry_backoff_max));
  --state.in_flight;
  --in_flight_batches_;
  ++waiting_batches_;
  state.queue.put_back_in_order(std::move(under_way.batch));
}

// Two halves take the place of a batch that the broker finds too large, with the sequences that it had.
void Producer::split(UnderWay under_way) {
  PartitionState& state = state_of(under_way.partition);
  release(*under_way.batch);
  --state.in_flight;
  auto halves = under_way.batch->split(options_.batching);
  for (auto half = halves.rbegin(); half != halves.rend(); ++half) {
    buffered_bytes_ += (*half)->memory();
    ++waiting_batches_;
    (*half)->not_before = {0};
    state.queue.put_front(std::move(*half));
  }
}

// `missing` will never be sent again: the sequences behind it move up.
void Producer::close_gap(const TopicPartition& partition, const GatheredBatch& missing) {
  PartitionState& state = state_of(partition);
  if (missing.identity() != state.identity) return;
  const std::int32_t count = missing.record_count();
  auto move_up = [&](GatheredBatch& batch) {
    if (batch.base_sequence() < 0 || batch.identity() != missing.identity()) return;
    if (record::subtract_sequence(batch.base_sequence(), missing.base_sequence()) >= INT32_MAX / 2) return;
    batch.set_identity(batch.identity(), record::subtract_sequence(batch.base_sequence(), count), false);
  };
  for (auto& waiting : state.queue.batches()) move_up(*waiting);
  for (auto& [node, queue] : requests_) {
    for (Request& request : queue) {
      for (UnderWay& other : request.batches) {
        if (other.batch != nullptr && other.partition == partition) move_up(*other.batch);
      }
    }
  }
  state.next_sequence = record::subtract_sequence(state.next_sequence, count);
}

void Producer::wish_new_epoch(const TopicPartition& partition) {
  PartitionState& state = state_of(partition);
  if (state.begin_anew) return;
  state.begin_anew = true;
  // An epoch that was raised for another partition will do as well.
  if (state.identity == identity_) bump_wanted_ = true;
}

void Producer::link_lost(std::int32_t node, const Failure& failure) {
  links_.drop(node);
  metadata_wanted_ = true;
  std::deque<Request> lost = std::move(requests_[node]);
  requests_[node].clear();
  for (Request& request : lost) {
    for (UnderWay& each : request.batches) {
      if (may_retry(each)) {
        retry(std::move(each), failure);
        continue;
      }
      --state_of(each.partition).in_flight;
      release(*each.batch);
      if (each.batch->base_sequence() >= 0) wish_new_epoch(each.partition);
      each.batch->complete({.failure = failure_of(failure.code), .partition = each.partition.partition});
    }
  }
}

// Batches that waited for longer than delivery.timeout.ms, and requests for longer than request.timeout.ms.
void Producer::give_up_overdue() {
  const MonotonicNs now = clock_.monotonic();
  for (auto& [name, topic] : topics_) {
    for (auto& [index, state] : topic->partitions) {
      while (!state.queue.empty() && now - state.queue.front().created() >= to_ns(options_.delivery_timeout)) {
        auto batch = state.queue.take_front();
        --waiting_batches_;
        buffered_bytes_ -= batch->memory();
        TopicPartition partition{name, {index}};
        if (batch->base_sequence() >= 0) wish_new_epoch(partition);
        batch->complete({.failure = timed_out(fmt::format(
                             "Expiring {} record(s) for {}:{} ms has passed since batch creation. The request has not been sent, or no "
                             "server response has been received yet.",
                             batch->record_count(), partition.to_string(), left_ms(now - batch->created()))),
                         .partition = partition.partition});
      }
    }
  }
  std::vector<std::int32_t> silent;
  for (const auto& [node, queue] : requests_) {
    if (!queue.empty() && now - queue.front().sent >= to_ns(options_.request_timeout)) silent.push_back(node);
  }
  for (std::int32_t node : silent) link_lost(node, failure_of(ErrorCode::REQUEST_TIMED_OUT));
}

DurationMs Producer::until_due() const {
  constexpr DurationMs kLongest{1'000};
  const MonotonicNs now = clock_.monotonic();
  DurationMs wait = kLongest;
  auto ratio = ratios_.find(options_.batching.compression.codec);
  for (const auto& [name, topic] : topics_) {
    for (const auto& [index, state] : topic->partitions) {
      if (state.queue.empty() || ratio == ratios_.end()) continue;
      MonotonicNs due = send_now_ && state.queue.front().attempts == 0 ? now : state.queue.due(ratio->second, options_.linger);
      // One more, as the rest of a millisecond is cut off. What waits for an answer has its wake-up from there.
      DurationMs left = due <= now ? DurationMs{in_flight_batches_ > 0 ? 10 : 1} : DurationMs{left_ms(due - now).value + 1};
      wait = std::min(wait, left);
    }
  }
  return wait;
}

std::vector<int> Producer::descriptors() const {
  std::vector<int> descriptors;
  for (const auto& [node, queue] : requests_) {
    if (Link* link = const_cast<NodeLinks&>(links_).find(node); link != nullptr && !queue.empty()) {
      descriptors.push_back(link->connection().fd());
    }
  }
  return descriptors;
}

void Producer::poll(DurationMs patience) {
  refresh_metadata();
  while (send_due()) {
  }
  std::vector<std::int32_t> nodes;
  std::vector<int> descriptors;
  for (const auto& [node, queue] : requests_) {
    if (Link* link = links_.find(node); link != nullptr && !queue.empty()) {
      nodes.push_back(node);
      descriptors.push_back(link->connection().fd());
    }
  }
  if (descriptors.empty() && patience.value == 0) return give_up_overdue();
  std::vector<bool> readable = wait_readable(descriptors, std::min(patience, until_due()));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (readable[i]) receive(nodes[i]);
  }
  give_up_overdue();
  while (send_due()) {
  }
}

void Producer::flush() {
  send_now_ = true;
  while (!idle() && cluster_.options().pause({0})) poll({1'000});
  send_now_ = false;
}

}  // namespace cordwood::client
