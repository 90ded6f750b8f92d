// client/consumer.h — reads records of partitions: given by hand, or by a group that shares them out.
//
// Behaves as Kafka's consumer with the classic group protocol (seen on Kafka 4.4.0) but has no thread of its own: poll() takes part
// in the group, fetches, and hands out records. While the caller keeps away from poll(), nobody sends heartbeats: a member that is
// slower than its session loses its partitions.
// Records are handed out in the order of offsets within a partition; control records and, with read_committed, records of aborted
// transactions are left out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "client/cluster.h"
#include "client/group_member.h"
#include "client/node_links.h"
#include "client/topic_lookup.h"
#include "protocol/messages/fetch.h"
#include "record/record.h"

namespace cordwood::client {

enum class OffsetReset { earliest, latest, none };
enum class Isolation : std::int8_t { read_uncommitted = 0, read_committed = 1 };

struct ConsumerOptions {
  GroupOptions group;  // without a group id: no commits
  OffsetReset reset = OffsetReset::latest;
  Isolation isolation = Isolation::read_uncommitted;
  std::int32_t fetch_min_bytes = 1;
  DurationMs fetch_max_wait{500};
  std::int32_t fetch_max_bytes = 50 * MiB;
  std::int32_t max_partition_fetch_bytes = 1 * MiB;
  bool check_crcs = true;
  bool create_topics = true;  // allow.auto.create.topics
  bool exclude_internal_topics = true;
  bool auto_commit = true;
  DurationMs auto_commit_interval{5'000};
  DurationMs metadata_max_age{300'000};
  DurationMs retry_backoff{100};
  DurationMs retry_backoff_max{1'000};
};

class ConsumerListener : public ClusterListener {
 public:
  virtual void metadata_mistakes(std::int32_t correlation_id, const std::vector<TopicMistake>& mistakes) = 0;
  // The position of a partition lay outside of its log, or was never set, and was reset.
  virtual void position_reset(const TopicPartition& partition, Offset to) = 0;
  virtual void partitions_assigned(const std::vector<TopicPartition>& partitions) = 0;
  virtual void partitions_revoked(const std::vector<TopicPartition>& partitions) = 0;
};

// Views live until the visitor returns.
struct ConsumedRecord {
  std::string_view topic;
  PartitionId partition;
  record::TimestampType timestamp_type;
  std::int32_t leader_epoch;  // -1: unknown
  const record::RecordView& record;
};

class Consumer {
 public:
  using Visitor = std::function<record::Walk(const ConsumedRecord&)>;

  // `clock` and `listener` must outlive it. Does no I/O.
  Consumer(ClusterOptions cluster, ConsumerOptions options, const Clock& clock, ConsumerListener& listener);

  // Which partitions to read, and from where. Without a position: the group's committed one, else as `reset` says.
  void assign(const std::vector<TopicPartition>& partitions);
  void seek(const TopicPartition& partition, Offset to);
  void seek_by_reset(const TopicPartition& partition, OffsetReset to);
  // Takes part in the group, which shares out these topics, or those whose names `wanted` accepts.
  void subscribe(std::vector<std::string> topics);
  void subscribe(std::function<bool(std::string_view)> wanted);

  // Hands out what has been fetched, and waits up to `patience` when that is nothing. A visitor that stops has had its
  // record; the next poll goes on behind it. Answers how many records were handed out.
  // Failures: what cannot get better by waiting.
  Outcome<std::int64_t> poll(DurationMs patience, const Visitor& visit);

  // Commits the positions reached and waits for the answer, at most `patience`.
  void commit(DurationMs patience);
  // Commits when it commits by itself, and leaves the group.
  void close(DurationMs patience);

  std::optional<Offset> position(const TopicPartition& partition) const;
  // How many milliseconds were spent joining groups, and how often that was.
  DurationMs joining_time() const { return member_ ? member_->joining_time() : DurationMs{0}; }
  bool has_assignment() const { return !states_.empty(); }

 private:
  // Fetched batches of a partition, in the frame that they came in.
  struct Fetched {
    std::shared_ptr<const ByteVector> frame;
    BytesView batches;
    std::vector<protocol::FetchResponse::AbortedTransaction> aborted;
    std::set<std::int64_t> aborting;  // producers whose transaction at hand was aborted
  };
  struct State {
    std::optional<Offset> position;  // of the next record to hand out
    std::int32_t leader_epoch = -1;  // of the record before it
    Offset fetch_position{0};        // of the next record to ask for
    std::optional<OffsetReset> reset;
    bool committed_unknown = false;  // the group's committed offset must be asked for first
    bool under_way = false;
    std::uint64_t seek_count = 0;    // answers to fetches from before are dropped
    std::deque<Fetched> fetched;
    MonotonicNs not_before{0};
  };
  struct Request {
    std::int16_t version = 0;
    MonotonicNs sent{0};
    std::map<TopicPartition, std::uint64_t> partitions;  // with their seek_count
  };

  Outcome<Nothing> update_metadata(MonotonicNs deadline);
  Outcome<Nothing> update_group(MonotonicNs deadline);
  Outcome<Nothing> take_assignment(const std::vector<TopicPartition>& partitions);
  Outcome<Nothing> update_positions(MonotonicNs deadline);
  Outcome<Nothing> reset_positions(std::int32_t node, const std::vector<TopicPartition>& partitions);
  void send_fetches();
  Outcome<Nothing> receive(std::int32_t node);
  Outcome<Nothing> take(const TopicPartition& partition, const protocol::FetchResponse::Partition& answer,
                        const std::shared_ptr<const ByteVector>& frame);
  Outcome<std::int64_t> hand_out(const Visitor& visit);
  Outcome<bool> hand_out_batches(const TopicPartition& partition, State& state, Fetched& fetched, const Visitor& visit,
                                 std::int64_t& count);
  void place(State& state, Offset at, std::int32_t leader_epoch = -1);
  void link_lost(std::int32_t node);
  PartitionCounts count_partitions(const std::vector<std::string>& topics) const;
  DurationMs until_due(MonotonicNs deadline) const;
  void look_at_topics();
  std::map<TopicPartition, Position> positions() const;

  Cluster cluster_;
  NodeLinks links_;
  ConsumerOptions options_;
  const Clock& clock_;
  ConsumerListener& listener_;
  std::optional<GroupMember> member_;
  std::vector<std::string> topics_;
  std::function<bool(std::string_view)> wanted_;
  bool subscribed_ = false;
  Lookup known_;
  MonotonicNs learnt_{0};
  bool metadata_wanted_ = true;
  MonotonicNs next_metadata_{0};
  int metadata_attempts_ = 0;
  MonotonicNs next_commit_{0};
  PartitionCounts shared_out_;  // by this member, when it led
  std::vector<TopicPartition> order_;  // of states_, as Java's consumer walks them
  std::map<TopicPartition, State> states_;
  std::map<std::int32_t, Request> requests_;
};

}  // namespace cordwood::client
