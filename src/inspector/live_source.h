// inspector/live_source.h — a running broker as a Source: its image, its logs' atomics, copies of what its groups are.
#pragma once

#include <array>
#include <deque>
#include <unordered_map>

#include "base/clock.h"
#include "base/mutex.h"
#include "broker/view.h"
#include "inspector/source.h"

namespace cordwood::inspector {

// Rates out of counters that were looked at now and then: those of the last two seconds or so. Nothing is kept of partitions
// while nobody looks.
class RateMeter {
 public:
  struct Counts {
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
  };
  struct Rate {
    double records_per_second = 0;
    double bytes_per_second = 0;
  };
  using Sample = std::unordered_map<const void*, Counts>;

  void add(MonotonicNs now, Sample sample);
  // Nothing before there are two samples not too far apart.
  std::optional<Rate> rate_of(const void* what, const Counts& counts, MonotonicNs now) const;

 private:
  struct Taken {
    MonotonicNs at;
    Sample sample;
  };
  const Taken* base(MonotonicNs now) const;
  std::deque<Taken> taken_;  // the oldest first
};

class LiveSource final : public Source {
 public:
  // All must outlive it. `started`: when the broker did.
  LiveSource(const broker::View& view, const Clock& clock, TimestampMs started);

  api::Mode mode() const override { return api::Mode::broker; }
  api::About about() override;
  std::shared_ptr<const TopicTable> topics() override;
  std::string cleanup_policy(const std::string& topic) override;
  Result<api::Topic> topic(const std::string& name) override;
  Result<PartitionAt> partition(const TopicPartition& partition) override;
  std::shared_ptr<const storage::PartitionLog> log(const TopicPartition& partition) override;
  PartitionBounds bounds(const TopicPartition& partition) override;
  std::vector<storage::RetentionVerdict> retention(const TopicPartition& partition, TimestampMs now) override;
  Result<std::vector<GroupFacts>> groups() override;
  Result<GroupFacts> group(const std::string& name) override;
  std::optional<api::PartitionTick> partition_tick(const TopicPartition& partition) override;

 private:
  std::optional<RateMeter::Rate> rate_of(const broker::Partition& partition) EXCLUDES(mu_);
  // The log of the metadata as a topic of one partition.
  api::Topic metadata_topic() const;
  PartitionAt metadata_partition() const;
  api::PartitionState state_of(const TopicPartition& name, const broker::Partition* partition) const;

  const broker::View& view_;
  const Clock& clock_;
  const TimestampMs started_;
  Mutex mu_;
  RateMeter meter_ GUARDED_BY(mu_);
  std::shared_ptr<const TopicTable> table_ GUARDED_BY(mu_);
  Mutex taking_mu_;  // before mu_: one takes a table, the others wait for it
};

// What the consumer protocol's assignment holds. Empty for other bytes.
std::vector<TopicPartition> assigned_partitions(BytesView assignment);

}  // namespace cordwood::inspector
