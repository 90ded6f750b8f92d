// inspector/actions.h — the little that the inspector can change: of a running broker, as its clients do it, and only where that is
// allowed (guard.h).
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "broker/broker.h"
#include "client/cluster.h"
#include "inspector/api.h"

namespace cordwood::inspector {

// Threads: any, several at once.
class Actions {
 public:
  // All must outlive it.
  Actions(broker::Broker& broker, const Clock& clock, Random& random) : broker_(broker), clock_(clock), random_(random) {}

  // One record through a producer of ours, over the broker's own listener. Errors: not_found; invalid for what the broker refuses.
  Result<api::Done> produce(const api::ProduceQuery& query, const api::ProduceBody& body);
  // Errors: not_found; invalid for what the controller refuses.
  Result<api::Done> add_partitions(const api::AddPartitionsQuery& query, const api::PartitionCount& body);
  // Errors: not_found; locked while the group has members; invalid.
  Result<api::Done> reset_offsets(const api::ResetOffsetsQuery& query, const api::OffsetReset& body);
  // Errors: not_found; closed while the log loads; invalid for a compaction of a log that is not compacted; locked while the cleaner is
  // at it; io.
  Result<api::Done> maintain(const api::MaintainQuery& query, const api::Maintenance& body);

  // What waits for an answer of the broker gives up.
  void stop();

 private:
  Result<client::ClusterOptions> cluster_options();
  bool pause(DurationMs wait);
  Result<api::Done> retain(storage::PartitionLog& log);
  Result<api::Done> compact(const TopicPartition& partition);

  broker::Broker& broker_;
  const Clock& clock_;
  Random& random_;
  Mutex mu_;
  ConditionVariable changed_;
  bool stopped_ GUARDED_BY(mu_) = false;
};

}  // namespace cordwood::inspector
