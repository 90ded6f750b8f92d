#include "inspector/actions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "broker/view.h"
#include "client/groups.h"
#include "client/producer.h"
#include "client/topics.h"

namespace cordwood::inspector {
namespace {

constexpr DurationMs kRequestTimeout{5'000};
constexpr DurationMs kActionTimeout{10'000};

class QuietListener final : public client::ProducerListener {
 public:
  void cannot_connect(const client::Node&, const std::string&) override {}
  void unresolvable(const client::HostPort&) override {}
  void metadata_mistakes(std::int32_t, const std::vector<client::TopicMistake>&) override {}
  void will_retry(const TopicPartition&, const client::Failure&, std::int32_t) override {}
};

Error error_of(const client::Failure& failure) {
  using protocol::ErrorCode;
  switch (failure.code) {
    case ErrorCode::UNKNOWN_TOPIC_OR_PARTITION:
    case ErrorCode::UNKNOWN_TOPIC_ID:
    case ErrorCode::GROUP_ID_NOT_FOUND: return {Errc::not_found, failure.message};
    case ErrorCode::REQUEST_TIMED_OUT:
    case ErrorCode::NETWORK_EXCEPTION: return {Errc::closed, failure.message};
    case ErrorCode::UNKNOWN_MEMBER_ID:
    case ErrorCode::REBALANCE_IN_PROGRESS:
    case ErrorCode::NON_EMPTY_GROUP: return {Errc::locked, failure.message};
    default: return {Errc::invalid, failure.message};
  }
}

}  // namespace

void Actions::stop() {
  MutexLock lock(mu_);
  stopped_ = true;
  changed_.notify_all();
}

bool Actions::pause(DurationMs wait) {
  MutexLock lock(mu_);
  changed_.wait_for(mu_, std::chrono::milliseconds(wait.value), [&] {
    mu_.assert_held();
    return stopped_;
  });
  return !stopped_;
}

Result<client::ClusterOptions> Actions::cluster_options() {
  const auto& listeners = broker_.config().listeners;
  const auto plain = std::ranges::find(listeners, std::string("PLAINTEXT"), &broker::ListenerAddress::protocol);
  if (plain == listeners.end()) return Error{Errc::unsupported, "the broker has no plain-text listener that a client of ours could use"};
  client::ClusterOptions options;
  const bool is_any = plain->host.empty() || plain->host == "0.0.0.0" || plain->host == "::";
  options.bootstrap.push_back({is_any ? "127.0.0.1" : plain->host, plain->port});
  options.client_id = "cordwood-inspector";
  options.request_timeout = kRequestTimeout;
  options.api_timeout = kActionTimeout;
  options.pause = [this](DurationMs wait) { return pause(wait); };
  return options;
}

Result<api::Done> Actions::produce(const api::ProduceQuery& query, const api::ProduceBody& body) {
  // The broker would make a topic that is only mistyped.
  const auto topic = broker_.image()->topic(query.topic);
  if (!topic) return Error{Errc::not_found, fmt::format("there is no topic '{}'", query.topic)};
  std::optional<PartitionId> partition;
  if (body.partition) {
    partition = PartitionId{static_cast<std::int32_t>(std::clamp<std::int64_t>(*body.partition, -1, INT32_MAX))};
    if (!topic->partitions.contains(*partition)) {
      return Error{Errc::invalid, fmt::format("partition: there are {}, from 0 on", topic->partitions.size())};
    }
  }
  client::RecordToSend record;
  record.timestamp = clock_.now();
  if (body.key) record.key = as_bytes(*body.key);
  if (body.value) record.value = as_bytes(*body.value);
  std::vector<record::HeaderToWrite> headers;
  for (const api::HeaderText& header : body.headers) {
    record::HeaderToWrite& written = headers.emplace_back();
    written.key = header.key;
    if (header.value) written.value = as_bytes(*header.value);
  }
  record.headers = headers;

  client::ProducerOptions options;
  options.linger = DurationMs{0};
  options.idempotence = false;  // a producer id for one record each would be used up
  options.request_timeout = kRequestTimeout;
  options.max_block = kActionTimeout;
  options.delivery_timeout = kActionTimeout;
  QuietListener listener;
  client::Producer producer(TRY(cluster_options()), options, clock_, random_, listener);
  std::optional<client::Delivery> delivered;
  producer.send(query.topic, partition, record, [&](const client::Delivery& delivery) { delivered = delivery; });
  producer.flush();
  if (!delivered) return Error{Errc::closed, "the broker is stopping"};
  if (delivered->failure) return error_of(*delivered->failure);
  api::Done done;
  done.offset = delivered->offset.value;
  done.partition = delivered->partition.value;
  done.says = fmt::format("The record is in partition {} at offset {}.", delivered->partition, delivered->offset);
  return done;
}

Result<api::Done> Actions::add_partitions(const api::AddPartitionsQuery& query, const api::PartitionCount& body) {
  if (body.partitions < 1 || body.partitions > 100'000) return Error{Errc::invalid, "partitions: must be 1 to 100000"};
  QuietListener listener;
  client::Cluster cluster(TRY(cluster_options()), clock_, listener);
  const auto made = client::create_partitions(cluster, {{query.topic, static_cast<std::int32_t>(body.partitions), {}}});
  if (!made) return error_of(made.failure());
  api::Done done;
  done.says = fmt::format("{} has {} partitions now. Keys that hash to another one go there from now on; records that are there stay where they are.",
                          query.topic, body.partitions);
  return done;
}

Result<api::Done> Actions::reset_offsets(const api::ResetOffsetsQuery& query, const api::OffsetReset& body) {
  const broker::View view(broker_);
  const auto group = view.group(query.group);
  if (!group) return Error{Errc::not_found, fmt::format("there is no group '{}'", query.group)};
  if (group->member_count > 0) {
    return Error{Errc::locked, fmt::format("the group has {} members: its positions are theirs; stop them first", group->member_count)};
  }
  const auto topic = broker_.image()->topic(body.topic);
  if (!topic) return Error{Errc::not_found, fmt::format("there is no topic '{}'", body.topic)};
  std::optional<std::int64_t> wanted;
  if (body.to != "earliest" && body.to != "latest") {
    std::int64_t number = 0;
    const char* const end = body.to.data() + body.to.size();
    const auto [stop, error] = std::from_chars(body.to.data(), end, number);
    if (error != std::errc() || stop != end || number < 0) return Error{Errc::invalid, "to: must be 'earliest', 'latest' or an offset"};
    wanted = number;
  }
  std::map<client::GroupPartition, std::int64_t> offsets;
  std::string said;
  for (const auto& [id, state] : topic->partitions) {
    if (body.partition && *body.partition != id.value) continue;
    const auto partition = view.find({body.topic, id});
    if (partition == nullptr) return Error{Errc::closed, fmt::format("{}-{} is not served at present", body.topic, id)};
    const std::int64_t start = partition->log()->log_start_offset().value;
    const std::int64_t end = partition->log()->high_watermark().value;
    const std::int64_t offset = wanted ? std::clamp(*wanted, start, end) : body.to == "earliest" ? start : end;
    offsets[{body.topic, id.value}] = offset;
    if (offsets.size() <= 10) said += fmt::format("{}{}-{} to {}", said.empty() ? "" : ", ", body.topic, id, offset);
  }
  if (offsets.empty()) return Error{Errc::invalid, fmt::format("partition: {} has none of that number", body.topic)};
  if (offsets.size() > 10) said += fmt::format(" and {} more", offsets.size() - 10);
  QuietListener listener;
  client::Cluster cluster(TRY(cluster_options()), clock_, listener);
  client::Groups groups(cluster, [](const std::string&, std::string_view) {});
  const auto committed = groups.commit(query.group, offsets, cluster.deadline());
  if (!committed) return error_of(committed.failure());
  api::Done done;
  done.says = fmt::format("{} is set: {}.", query.group, said);
  if (offsets.size() == 1) {
    done.partition = offsets.begin()->first.partition;
    done.offset = offsets.begin()->second;
  }
  return done;
}

Result<api::Done> Actions::retain(storage::PartitionLog& log) {
  storage::LogCleaner& cleaner = broker_.logs().cleaner();
  // Segments go between two runs of the cleaner, never under one.
  cleaner.abort_and_pause(log.partition());
  const auto gone = log.apply_retention(clock_.now());
  cleaner.resume(log.partition());
  if (!gone) return gone.error();
  api::Done done;
  if (gone->empty()) {
    done.says = "Nothing goes: no segment is beyond what the settings keep.";
    return done;
  }
  std::int64_t bytes = 0;
  for (const storage::RetentionVerdict& verdict : *gone) bytes += verdict.segment.size.value;
  done.says = fmt::format("{} segments with {} bytes have gone; the log starts at {} now. {}", gone->size(), bytes,
                          log.log_start_offset(), storage::describe(gone->front()));
  return done;
}

Result<api::Done> Actions::compact(const TopicPartition& partition) {
  const auto run = TRY(broker_.logs().cleaner().clean_now(partition));
  api::Done done;
  if (!run) {
    done.says = "There is nothing to compact: the active segment is never touched, and all below it is clean.";
    return done;
  }
  const storage::PassStatistics& s = run->statistics;
  done.says = fmt::format("Offsets {} to {} are compacted: {} of {} records stay, {} bytes became {}.", run->from, run->to, s.records_kept,
                          s.records_read, s.bytes_read, s.bytes_written);
  return done;
}

Result<api::Done> Actions::maintain(const api::MaintainQuery& query, const api::Maintenance& body) {
  if (query.partition < 0 || query.partition > INT32_MAX) return Error{Errc::invalid, "partition: must be 0 or more"};
  const TopicPartition name{query.topic, PartitionId{static_cast<std::int32_t>(query.partition)}};
  const auto partition = broker_.partitions().find(name);
  if (partition == nullptr) {
    if (broker_.partitions().is_loading(name.topic, name.partition)) return Error{Errc::closed, "its log is still being recovered"};
    return Error{Errc::not_found, fmt::format("there is no partition {}", name.to_string())};
  }
  storage::PartitionLog& log = *partition->log();
  const auto work = [&]() -> Result<api::Done> {
    api::Done done;
    switch (body.kind) {
      case api::MaintenanceKind::roll: {
        const std::size_t before = log.segments().size();
        TRY(log.roll());
        const bool rolled = log.segments().size() > before;
        done.says = rolled ? fmt::format("A new active segment begins at {}.", log.log_end_offset())
                           : std::string("The active segment is empty and stays.");
        return done;
      }
      case api::MaintenanceKind::retain: return retain(log);
      case api::MaintenanceKind::compact: return compact(name);
      case api::MaintenanceKind::reindex: {
        const std::size_t segments = TRY(log.rebuild_indexes());
        done.says = fmt::format("Both indexes of {} segments are made anew from their batches.", segments);
        return done;
      }
    }
    return Error{Errc::invalid, "kind: is unknown"};
  };
  auto done = work();
  if (!done && done.error().code == Errc::io) broker_.log_failed(log, done.error());
  return done;
}

}  // namespace cordwood::inspector
