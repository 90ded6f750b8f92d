// Produce (key 0), versions 3-13: v5 log start offset, v7 zstd, v8 record errors, v9 flexible, v10 leader hints, v13 topic
// ids.
//
// Each partition is validated, written and answered on its own, on the loop where the request arrived; the payload stays
// in its frame from the socket to the write, which comes at the end of the loop's turn for all that came in it
// (produce_turn.h). acks=0 has no answer: a failure closes the connection, so that the client looks for a new leader; it is
// written at once, because nothing that comes behind a failure may be. Where flush.messages makes a flush due the answer
// waits for the disk, and the loop does not. Every code was seen on Apache Kafka 4.4.0. A transactional batch is never
// appended: there is no transaction coordinator that could vouch for it, which is what the client is told.
#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <string>
#include <vector>

#include "broker/authorizer.h"
#include "broker/broker.h"
#include "broker/handlers/api_table.h"
#include "broker/handlers/partition_lookup.h"
#include "broker/handlers/scratch.h"
#include "broker/metadata/topic_name.h"
#include "broker/partition.h"
#include "broker/storage_errors.h"
#include "record/batch.h"
#include "record/walk.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;
using protocol::ProduceRequest;
using protocol::ProduceResponse;

constexpr std::int16_t kZstdFrom = 7;
constexpr std::int16_t kLeaderHintsFrom = 10;
constexpr std::int16_t kTopicIdsFrom = 13;
// The client id with which Kafka's own tools may write to internal topics.
constexpr std::string_view kAdminClientId = "__admin_client";

bool acks_are_valid(std::int16_t acks) { return acks == 0 || acks == 1 || acks == -1; }

// The first batch's header when the bytes hold one of magic 2, whatever else is wrong with them.
std::optional<record::BatchHeader> peek_header(BytesView records) {
  if (records.size() < record::kHeaderSize) return {};
  record::BatchHeader header = *record::read_header(records);
  if (header.magic != 2) return {};
  return header;
}

// Kafka looks at a request's records twice: for their outer form, before it turns to the partition, and for their
// content, in the log. Only the second kind of refusal tells the log start offset.
bool has_one_whole_batch(BytesView records) {
  auto whole_batch_at = [&](std::size_t at) -> std::int64_t {
    if (records.size() - at < record::kMagicPrefix) return 0;
    auto prefix = record::read_prefix(records.subspan(at));
    if (!prefix || prefix->magic != 2) return 0;
    std::int64_t size = prefix->total_size().value;
    return size <= static_cast<std::int64_t>(records.size() - at) ? size : 0;
  };
  std::int64_t first = whole_batch_at(0);
  return first > 0 && whole_batch_at(static_cast<std::size_t>(first)) == 0;
}

// An answer that waits until the partitions that it names are flushed. Touched on the connection's loop alone.
class PendingProduce : public std::enable_shared_from_this<PendingProduce> {
 public:
  // A partition of the answer: where it stands in it.
  struct Flush {
    std::shared_ptr<Partition> partition;
    std::size_t topic = 0;
    std::size_t index = 0;
  };

  PendingProduce(Exchange exchange, ProduceResponse response, bool is_answered)
      : exchange_(std::move(exchange)), response_(std::move(response)), is_answered_(is_answered) {}

  void wait_for(Broker& broker, std::vector<Flush> flushes, std::optional<ErrorCode> failed) {
    failed_ = failed;
    missing_ = flushes.size();
    for (Flush& flush : flushes) {
      std::shared_ptr<Partition> partition = std::move(flush.partition);
      broker.when_flushed(std::move(partition), exchange_.loop(),
                          [self = shared_from_this(), topic = flush.topic, index = flush.index](const Result<void>& flushed) {
                            self->on_flushed(topic, index, flushed);
                          });
    }
  }

 private:
  void on_flushed(std::size_t topic, std::size_t index, const Result<void>& flushed) {
    if (!flushed) {
      ProduceResponse::Partition& partition = response_.responses[topic].partition_responses[index];
      partition.error_code = ErrorCode::KAFKA_STORAGE_ERROR;
      partition.base_offset = -1;
      partition.log_append_time_ms = -1;
      partition.log_start_offset = -1;
      failed_ = ErrorCode::KAFKA_STORAGE_ERROR;
    }
    if (--missing_ > 0) return;
    if (is_answered_) return exchange_.answer(response_);
    if (!failed_) return exchange_.answer_nothing();
    exchange_.close("a produce with acks=0 failed: " + std::string(protocol::name_of(*failed_)));
  }

  Exchange exchange_;
  ProduceResponse response_;
  bool is_answered_;  // acks=0 is not
  std::optional<ErrorCode> failed_;
  std::size_t missing_ = 0;
};

class ProduceCall final : public StagedProduce {
 public:
  ProduceCall(Broker& broker, Exchange exchange, ScratchPool<ProduceScratch>::Lease scratch)
      : broker_(broker), exchange_(std::move(exchange)), lease_(std::move(scratch)), request_(lease_->request),
        response_(lease_->response), scratch_(*lease_) {}

  bool decode() { return exchange_.decode(request_); }

  // Everything that comes before the log. False when there is nothing to be written.
  bool stage() {
    bool as_sent = choose_entries();
    now_ = broker_.clock().now();
    whole_request_error_ = check_transactions();
    response_.throttle_time_ms = 0;
    response_.node_endpoints.clear();

    std::size_t topics = 0;
    std::optional<std::uint32_t> topic;
    std::size_t partitions = 0;
    for (const ProduceScratch::Entry& entry : scratch_.entries) {
      // Sorted, two entries of one topic stand together though the request named the topic twice.
      bool continues = topic && (as_sent ? *topic == entry.topic : same_topic(*topic, entry.topic));
      if (!continues) {
        if (topics > 0) response_.responses[topics - 1].partition_responses.resize(partitions);
        if (topics == response_.responses.size()) response_.responses.emplace_back();
        response_.responses[topics].name = request_.topic_data[entry.topic].name;
        response_.responses[topics].topic_id = request_.topic_data[entry.topic].topic_id;
        topic = entry.topic;
        partitions = 0;
        ++topics;
      }
      auto& answers = response_.responses[topics - 1].partition_responses;
      if (partitions == answers.size()) answers.emplace_back();
      topic_here_ = topics - 1;
      index_here_ = partitions;
      produce(request_.topic_data[entry.topic], request_.topic_data[entry.topic].partition_data[entry.partition],
              answers[partitions++]);
    }
    if (topics > 0) response_.responses[topics - 1].partition_responses.resize(partitions);
    response_.responses.resize(topics);
    return !staged_.empty();
  }

  bool is_answered() const { return request_.acks != 0; }
  std::shared_ptr<const protocol::Peer> peer() const { return exchange_.peer_ptr(); }
  // What it keeps in memory until it is written.
  std::size_t held_bytes() { return exchange_.body().size() + rebuilt_bytes_; }

  void list(std::vector<StagedAppend*>& into) override {
    for (std::size_t i = written_; i < staged_.size(); ++i) into.push_back(&staged_[i]);
  }

  void finish() override {
    for (Staged& staged : staged_) {
      ProduceResponse::Partition& into = response_.responses[staged.topic].partition_responses[staged.index];
      into.error_code = take(staged, into);
      if (into.error_code != ErrorCode::NONE) failed_ = into.error_code;
    }
    answer();
  }

 private:
  // With its place in the answer.
  struct Staged : StagedAppend {
    record::ValidatedBatch validated;
    std::size_t topic = 0;
    std::size_t index = 0;
    bool gets_append_time = false;
  };
  // Moved when there are more of them, never copied: `batch` may lie in `validated`.
  static_assert(std::is_nothrow_move_constructible_v<Staged>);

  bool by_id() const { return exchange_.version() >= kTopicIdsFrom; }

  int compare_topics(std::uint32_t a, std::uint32_t b) const {
    const auto& left = request_.topic_data[a];
    const auto& right = request_.topic_data[b];
    if (!by_id()) return left.name.compare(right.name);
    return left.topic_id == right.topic_id ? 0 : left.topic_id < right.topic_id ? -1 : 1;
  }
  bool same_topic(std::uint32_t a, std::uint32_t b) const { return compare_topics(a, b) == 0; }
  std::int32_t index_of(const ProduceScratch::Entry& entry) const {
    return request_.topic_data[entry.topic].partition_data[entry.partition].index;
  }

  // Lists what to do. Of a partition that is named twice the last one counts. True: in the order of the request; false:
  // sorted, because something was named twice.
  bool choose_entries() {
    auto& entries = scratch_.entries;
    auto list = [&] {
      entries.clear();
      for (std::uint32_t t = 0; t < request_.topic_data.size(); ++t) {
        for (std::uint32_t p = 0; p < request_.topic_data[t].partition_data.size(); ++p) entries.push_back({t, p});
      }
    };
    list();
    if (entries.size() < 2) return true;
    std::ranges::stable_sort(entries, [&](const auto& a, const auto& b) {
      if (int order = compare_topics(a.topic, b.topic); order != 0) return order < 0;
      return index_of(a) < index_of(b);
    });
    bool repeated = false;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      bool same_as_next = i + 1 < entries.size() && same_topic(entries[i].topic, entries[i + 1].topic);
      if (same_as_next && entries[i].topic != entries[i + 1].topic) repeated = true;
      if (same_as_next && index_of(entries[i]) == index_of(entries[i + 1])) {
        repeated = true;
        continue;
      }
      entries[kept++] = entries[i];
    }
    if (repeated) {
      entries.resize(kept);
      return false;
    }
    list();
    return true;
  }

  // An error of every partition, because of what the transactional batches among them are.
  ErrorCode check_transactions() {
    std::optional<std::int64_t> producer_id;
    std::optional<std::int16_t> producer_epoch;
    bool several = false;
    for (const ProduceScratch::Entry& entry : scratch_.entries) {
      const auto& records = request_.topic_data[entry.topic].partition_data[entry.partition].records;
      std::optional<record::BatchHeader> header = records ? peek_header(records->bytes) : std::nullopt;
      if (!header || !header->is_transactional()) continue;
      if (producer_id && (*producer_id != header->producer_id || *producer_epoch != header->producer_epoch)) several = true;
      producer_id = header->producer_id;
      producer_epoch = header->producer_epoch;
    }
    if (!producer_id) return ErrorCode::NONE;
    if (!request_.transactional_id ||
        authorise(exchange_, Operation::write, Resource::transactional_id, *request_.transactional_id) == Verdict::denied) {
      return ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    }
    return several ? ErrorCode::INVALID_PRODUCER_ID_MAPPING : ErrorCode::NONE;
  }

  void produce(const ProduceRequest::Topic& topic, const ProduceRequest::Partition& asked,
               ProduceResponse::Partition& into) {
    into.index = asked.index;
    into.error_code = ErrorCode::NONE;
    into.base_offset = -1;
    into.log_append_time_ms = -1;
    into.log_start_offset = -1;
    into.record_errors.clear();
    into.error_message.reset();
    into.current_leader = {};
    into.error_code = stage(topic, asked, into);
    if (into.error_code != ErrorCode::NONE) failed_ = into.error_code;
  }

  // Everything in the order in which Kafka looks at it: which error is told when several hold is part of the answer.
  ErrorCode stage(const ProduceRequest::Topic& topic, const ProduceRequest::Partition& asked,
                   ProduceResponse::Partition& into) {
    if (whole_request_error_ == ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED) return whole_request_error_;
    PartitionId id{asked.index};
    Located located = by_id() ? locate(broker_, topic.topic_id, id) : locate(broker_, topic.name, id);
    std::string_view name = located.partition ? std::string_view(located.partition->name().topic) : topic.name;
    if (authorise(exchange_, Operation::write, Resource::topic, name) == Verdict::denied) {
      return ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    }
    if (!located.partition) {
      if (located.error == ErrorCode::NOT_LEADER_OR_FOLLOWER) {
        hint(by_id() ? leader_hint(broker_, topic.topic_id, id) : leader_hint(broker_, {topic.name, id}), into);
      }
      return located.error;
    }
    Partition& partition = *located.partition;
    if (!asked.records) return ErrorCode::INVALID_RECORD;
    if (whole_request_error_ == ErrorCode::INVALID_PRODUCER_ID_MAPPING) {
      into.error_message = "Transactional records contained more than one producer ID";
      return whole_request_error_;
    }
    if (!acks_are_valid(request_.acks)) return ErrorCode::INVALID_REQUIRED_ACKS;
    if (metadata::is_internal_topic(name) && exchange_.client_id() != kAdminClientId) return ErrorCode::INVALID_TOPIC_EXCEPTION;
    if (auto header = peek_header(asked.records->bytes); header && header->is_transactional()) {
      into.error_message =
          "Unable to verify the partition has been added to the transaction. Underlying error: COORDINATOR_NOT_AVAILABLE";
      return ErrorCode::NOT_ENOUGH_REPLICAS;
    }
    if (ErrorCode error = partition.check_leader(-1); error != ErrorCode::NONE) {
      if (error == ErrorCode::NOT_LEADER_OR_FOLLOWER) hint(leader_hint(broker_, partition.name()), into);
      return error;
    }
    storage::LogConfig config = partition.log()->config();
    if (request_.acks == -1) {
      Partition::Leadership leadership = partition.leadership();
      auto wanted = static_cast<std::size_t>(std::max(config.min_insync_replicas, 0));
      if (leadership.isr_size < std::min(wanted, leadership.replica_count)) return ErrorCode::NOT_ENOUGH_REPLICAS;
    }

    set_rules(partition, config);
    BytesView records = asked.records->bytes;
    record::ValidatedBatch validated = record::validate_produce(in_frame(records), scratch_.rules);
    if (validated.fault != record::ProduceFault::none) return refuse(partition, records, validated, into);

    Staged& staged = staged_.emplace_back();
    staged.partition = std::move(located.partition);
    staged.validated = std::move(validated);
    staged.batch = staged.validated.batch;
    staged.topic = topic_here_;
    staged.index = index_here_;
    staged.gets_append_time = config.message_timestamp_type == record::TimestampType::log_append_time;
    rebuilt_bytes_ += staged.validated.rebuilt.size();
    if (rebuilt_bytes_ >= ProduceTurns::kMostStagedBytes) write_staged();
    return ErrorCode::NONE;
  }

  // What was inflated and is larger than its frame does not gather: behind all that is staged on this loop it is written at once.
  void write_staged() {
    broker_.scratch().produce_turns.run(exchange_.loop());
    for (; written_ < staged_.size(); ++written_) {
      Staged& staged = staged_[written_];
      staged.appended = staged.partition->append(staged.batch, storage::AppendOrigin::client, storage::DueFlush::by_caller);
      staged.batch = {};
      staged.validated.rebuilt = ByteVector();
    }
    rebuilt_bytes_ = 0;
  }

  // What became of it in the log.
  ErrorCode take(const Staged& staged, ProduceResponse::Partition& into) {
    const Partition::Appended& appended = staged.appended;
    if (appended.flush_to) flushes_.push_back({staged.partition, staged.topic, staged.index});
    if (appended.code != ErrorCode::NONE) return explain(*staged.partition, appended, into);
    into.base_offset = appended.base_offset.value;
    into.log_start_offset = appended.log_start_offset.value;
    if (appended.duplicate) {
      into.log_append_time_ms = appended.duplicate_timestamp.value;
    } else if (staged.gets_append_time) {
      into.log_append_time_ms = staged.validated.header.max_timestamp.value;
    }
    return ErrorCode::NONE;
  }

  void set_rules(const Partition& partition, const storage::LogConfig& config) {
    record::ValidationRules& rules = scratch_.rules;
    rules.topic_partition.clear();
    fmt::format_to(std::back_inserter(rules.topic_partition), "{}-{}", partition.name().topic,
                   partition.name().partition);
    rules.compacted = config.cleanup_compact;
    rules.timestamp_type = config.message_timestamp_type;
    rules.timestamp_before_max = config.message_timestamp_before_max_ms;
    rules.timestamp_after_max = config.message_timestamp_after_max_ms;
    rules.max_message_bytes = config.max_message_bytes;
    rules.target_compression = config.compression;
    rules.gzip_level = config.gzip_level;
    // A loop inflates one batch at a time, so this bounds what bombs can make the process hold.
    rules.limits = {.largest_batch = {256 * MiB}, .largest_record = config.max_decompressed_message_bytes};
    rules.zstd_allowed = exchange_.version() >= kZstdFrom;
    rules.now = now_;
  }

  // The decoder only hands out bytes to read; these are the same ones, to be rewritten where they lie.
  MutableBytesView in_frame(BytesView records) {
    MutableBytesView body = exchange_.body();
    if (records.empty()) return body.first(0);
    return body.subspan(static_cast<std::size_t>(records.data() - body.data()), records.size());
  }

  ErrorCode refuse(const Partition& partition, BytesView records, record::ValidatedBatch& validated,
                   ProduceResponse::Partition& into) {
    for (record::RecordFault& fault : validated.record_faults) {
      auto& error = into.record_errors.emplace_back();
      error.batch_index = fault.batch_index;
      error.batch_index_error_message = std::move(fault.message);
    }
    into.error_message = std::move(validated.message);
    switch (validated.fault) {
      case record::ProduceFault::none:
      case record::ProduceFault::corrupt_message:
      case record::ProduceFault::message_too_large:
      case record::ProduceFault::unsupported_compression:
        break;
      case record::ProduceFault::invalid_record:
        if (has_one_whole_batch(records)) into.log_start_offset = partition.log()->log_start_offset().value;
        break;
      case record::ProduceFault::invalid_timestamp:
      case record::ProduceFault::unknown_server_error:
        into.log_start_offset = partition.log()->log_start_offset().value;
        break;
    }
    return error_code_of(validated.fault);
  }

  ErrorCode explain(const Partition& partition, const Partition::Appended& appended,
                    ProduceResponse::Partition& into) {
    switch (appended.fault) {
      case storage::AppendFault::none:
      case storage::AppendFault::record_list_too_large:
        break;
      case storage::AppendFault::out_of_order_sequence:
      case storage::AppendFault::invalid_producer_epoch:
      case storage::AppendFault::invalid_txn_state:
      case storage::AppendFault::transaction_coordinator_fenced:
      case storage::AppendFault::offsets_out_of_order:
        into.log_start_offset = partition.log()->log_start_offset().value;
        break;
      case storage::AppendFault::storage_error:
        if (appended.code == ErrorCode::NOT_LEADER_OR_FOLLOWER) {
          hint(leader_hint(broker_, partition.name()), into);
        } else if (appended.error && appended.error->code == Errc::no_space) {
          into.error_message = appended.error->message();
        } else if (appended.error) {
          broker_.log_failed(*partition.log(), *appended.error);
        }
        break;
    }
    return appended.code;
  }

  void hint(const LeaderHint& leader, ProduceResponse::Partition& into) {
    if (exchange_.version() < kLeaderHintsFrom) return;
    into.current_leader.leader_id = leader.leader_id;
    into.current_leader.leader_epoch = leader.leader_epoch;
    add_node_endpoint(broker_, exchange_.peer(), leader.leader_id, response_.node_endpoints);
  }

  void answer() {
    if (!flushes_.empty()) {
      std::make_shared<PendingProduce>(std::move(exchange_), std::move(response_), request_.acks != 0)
          ->wait_for(broker_, std::move(flushes_), failed_);
      return;
    }
    if (request_.acks != 0) return exchange_.answer(response_);
    if (!failed_) return exchange_.answer_nothing();
    exchange_.close("a produce with acks=0 failed: " + std::string(protocol::name_of(*failed_)));
  }

  Broker& broker_;
  Exchange exchange_;
  ScratchPool<ProduceScratch>::Lease lease_;
  ProduceRequest& request_;
  ProduceResponse& response_;
  ProduceScratch& scratch_;
  TimestampMs now_;
  ErrorCode whole_request_error_ = ErrorCode::NONE;
  std::optional<ErrorCode> failed_;
  std::size_t topic_here_ = 0;  // of the entry that is worked on, in the answer
  std::size_t index_here_ = 0;
  std::vector<Staged> staged_;
  std::size_t written_ = 0;        // so many of them are in the log already
  std::size_t rebuilt_bytes_ = 0;  // of those that are not
  std::vector<PendingProduce::Flush> flushes_;
};

}  // namespace

void handle_produce(Broker& broker, Exchange exchange) {
  Executor& loop = exchange.loop();
  auto call = std::make_unique<ProduceCall>(broker, std::move(exchange), broker.scratch().produce.take(&loop));
  if (!call->decode()) return;
  if (!call->stage()) return call->finish();
  const bool is_answered = call->is_answered();
  const std::shared_ptr<const protocol::Peer> peer = call->peer();
  const std::size_t held_bytes = call->held_bytes();
  ProduceTurns& turns = broker.scratch().produce_turns;
  turns.add(*peer, std::move(call), held_bytes);
  if (!is_answered) turns.run(loop);
}

}  // namespace cordwood::broker
