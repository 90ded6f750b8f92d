// broker/fetch_session.h — incremental fetch sessions (KIP-227): a client names its partitions once, then only changes.
//
// A session remembers what was asked of each partition and what was last told of it (high watermark, log start offset);
// an incremental answer holds only partitions with something to say. Each request carries the session's id and the epoch
// that the session expects next, 1, 2, ... 2^31-1, 1.
//
//   (id, epoch)    what it is
//   (0, -1)        a full fetch without a session
//   (0, 0)         a full fetch that asks for a new session
//   (id, -1)       closes the session; a full fetch without one
//   (id, 0)        closes the session; a full fetch that asks for a new one
//   (id, n > 0)    incremental
//
// Answers to the odd ones were seen on Apache Kafka 4.4.0.   Threads: safe for all.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/types.h"
#include "base/uuid.h"
#include "protocol/error_code.h"

namespace cordwood::broker {

inline constexpr std::int32_t kNoFetchSession = 0;
inline constexpr std::int32_t kFullFetchEpoch = 0;
inline constexpr std::int32_t kFinalFetchEpoch = -1;

// A partition as a fetch names it: by topic id (v13 and later) or by topic name; the other one is zero or empty.
struct FetchKey {
  Uuid topic_id;
  std::string topic;
  PartitionId partition;
  friend bool operator==(const FetchKey&, const FetchKey&) = default;
  bool same_topic(const FetchKey& other) const { return topic_id == other.topic_id && topic == other.topic; }
};

struct FetchKeyHash {
  std::size_t operator()(const FetchKey& key) const noexcept {
    return (std::hash<Uuid>{}(key.topic_id) ^ std::hash<std::string>{}(key.topic)) * 31 +
           static_cast<std::size_t>(key.partition.value);
  }
};

// What is asked of one partition; raw wire values, since odd ones have answers of their own.
struct FetchPartition {
  FetchKey key;
  std::int64_t fetch_offset = 0;
  std::int32_t max_bytes = 0;
  std::int32_t current_leader_epoch = -1;
  std::int32_t last_fetched_epoch = -1;
};

// What a session must know of an answer to decide whether the partition is in it.
struct FetchVerdict {
  protocol::ErrorCode error = protocol::ErrorCode::NONE;
  std::int64_t high_watermark = -1;
  std::int64_t log_start_offset = -1;
  bool has_records = false;
  bool has_diverging_epoch = false;
};

class FetchSession;

// What a request turned out to be.
struct FetchPlan {
  enum class Kind { sessionless, new_session, incremental };
  Kind kind = Kind::sessionless;
  // Not NONE: the whole answer is this code, session id 0 and no topics.
  protocol::ErrorCode error = protocol::ErrorCode::NONE;
  std::vector<FetchPartition> partitions;  // to read, in this order; each once
  std::shared_ptr<FetchSession> session;   // incremental only
  std::int32_t next_epoch = kFinalFetchEpoch;
  bool uses_topic_ids = false;
  bool privileged = false;                 // a follower's
};

class FetchSessionCache {
 public:
  // At most `slots` sessions (max.incremental.fetch.session.cache.slots). Both references must outlive the cache.
  FetchSessionCache(std::size_t slots, Random& random, const Clock& clock);
  ~FetchSessionCache();

  struct Request {
    std::int32_t session_id = kNoFetchSession;
    std::int32_t epoch = kFinalFetchEpoch;
    bool uses_topic_ids = false;
    bool privileged = false;
    // A partition named twice counts as named the last time, at the place of the first.
    std::vector<FetchPartition> partitions;
    std::vector<FetchKey> forgotten;
  };
  FetchPlan begin(Request request);

  struct Conclusion {
    protocol::ErrorCode error = protocol::ErrorCode::NONE;  // not NONE: answered like FetchPlan::error
    std::int32_t session_id = kNoFetchSession;
    std::vector<bool> include;  // parallel to the plan's partitions
  };
  // Once per plan without an error, with a verdict for each of its partitions, when the answer goes out.
  Conclusion finish(const FetchPlan& plan, std::span<const FetchVerdict> verdicts);

  std::size_t size() const;

 private:
  struct Slot {
    std::shared_ptr<FetchSession> session;
    MonotonicNs created;
    MonotonicNs last_used;
    std::size_t partitions = 0;
    bool privileged = false;
    std::list<std::int32_t>::iterator place;  // in by_use_
  };

  std::shared_ptr<FetchSession> find(std::int32_t id) const;
  void remove(std::int32_t id);
  void touch(std::int32_t id, std::size_t partitions);
  std::int32_t create(const FetchPlan& plan, std::span<const FetchVerdict> verdicts);
  bool make_room(bool privileged, std::size_t partitions, MonotonicNs now) REQUIRES(mu_);
  void remove_slot(std::int32_t id) REQUIRES(mu_);

  const std::size_t slots_;
  Random& random_;
  const Clock& clock_;
  mutable Mutex mu_;
  std::unordered_map<std::int32_t, Slot> sessions_ GUARDED_BY(mu_);
  std::list<std::int32_t> by_use_ GUARDED_BY(mu_);  // least recently used first
};

}  // namespace cordwood::broker
