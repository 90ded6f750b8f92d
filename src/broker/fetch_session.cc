#include "broker/fetch_session.h"

#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;

// A session that was not used, or has not lived, for this long may be evicted (Kafka's min.incremental.fetch.session.
// eviction.ms, which is fixed).
constexpr DurationMs kEvictionAge{120'000};

std::int32_t epoch_after(std::int32_t epoch) {
  if (epoch < 0) return kFinalFetchEpoch;
  return epoch == std::numeric_limits<std::int32_t>::max() ? 1 : epoch + 1;
}

// Up to this many partitions are compared with each other, more are hashed.
constexpr std::size_t kFewPartitions = 16;

void keep_last_of_equal(std::vector<FetchPartition>& partitions) {
  if (partitions.size() < 2) return;
  std::vector<FetchPartition> kept;
  std::unordered_map<FetchKey, std::size_t, FetchKeyHash> places;
  auto place_of = [&](const FetchKey& key) -> std::optional<std::size_t> {
    if (partitions.size() > kFewPartitions) {
      auto [at, is_new] = places.emplace(key, kept.size());
      return is_new ? std::nullopt : std::optional(at->second);
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i].key == key) return i;
    }
    return {};
  };
  kept.reserve(partitions.size());
  for (FetchPartition& partition : partitions) {
    if (std::optional<std::size_t> place = place_of(partition.key)) {
      kept[*place] = std::move(partition);
    } else {
      kept.push_back(std::move(partition));
    }
  }
  partitions = std::move(kept);
}

}  // namespace

// One client's session. The list is in reading order: a partition that gave records goes to the end, so that none
// starves.
class FetchSession {
 public:
  FetchSession(std::int32_t session_id, bool by_topic_id) : id(session_id), uses_topic_ids(by_topic_id) {}

  struct Known {
    FetchPartition asked;
    std::int64_t high_watermark = -1;  // as told last; -1 makes the next answer hold it
    std::int64_t log_start_offset = -1;
  };

  const std::int32_t id;
  const bool uses_topic_ids;
  Mutex mu;
  std::int32_t expected_epoch GUARDED_BY(mu) = 1;
  std::list<Known> partitions GUARDED_BY(mu);
  std::unordered_map<FetchKey, std::list<Known>::iterator, FetchKeyHash> index GUARDED_BY(mu);

  Known& add(FetchPartition asked) REQUIRES(mu) {
    auto at = index.find(asked.key);
    if (at != index.end()) {
      at->second->asked = std::move(asked);
      return *at->second;
    }
    partitions.push_back(Known{std::move(asked), -1, -1});
    auto place = std::prev(partitions.end());
    index.emplace(place->asked.key, place);
    return *place;
  }
  void forget(const FetchKey& key) REQUIRES(mu) {
    auto at = index.find(key);
    if (at == index.end()) return;
    partitions.erase(at->second);
    index.erase(at);
  }
};

FetchSessionCache::FetchSessionCache(std::size_t slots, Random& random, const Clock& clock)
    : slots_(slots), random_(random), clock_(clock) {}

FetchSessionCache::~FetchSessionCache() = default;

FetchPlan FetchSessionCache::begin(Request request) {
  FetchPlan plan;
  plan.uses_topic_ids = request.uses_topic_ids;
  plan.privileged = request.privileged;
  if (request.epoch == kFullFetchEpoch || request.epoch == kFinalFetchEpoch) {
    if (request.session_id != kNoFetchSession) remove(request.session_id);
    plan.kind = request.epoch == kFullFetchEpoch ? FetchPlan::Kind::new_session : FetchPlan::Kind::sessionless;
    keep_last_of_equal(request.partitions);
    plan.partitions = std::move(request.partitions);
    return plan;
  }

  std::shared_ptr<FetchSession> session = find(request.session_id);
  if (!session) {
    plan.error = ErrorCode::FETCH_SESSION_ID_NOT_FOUND;
    return plan;
  }
  std::size_t count = 0;
  {
    MutexLock lock(session->mu);
    if (session->expected_epoch != request.epoch) {
      plan.error = ErrorCode::INVALID_FETCH_SESSION_EPOCH;
      return plan;
    }
    if (session->uses_topic_ids != request.uses_topic_ids) {
      plan.error = ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR;
      return plan;
    }
    for (FetchPartition& partition : request.partitions) session->add(std::move(partition));
    for (const FetchKey& key : request.forgotten) session->forget(key);
    session->expected_epoch = epoch_after(session->expected_epoch);
    count = session->partitions.size();
    if (count > 0) {
      plan.kind = FetchPlan::Kind::incremental;
      plan.next_epoch = session->expected_epoch;
      plan.partitions.reserve(count);
      for (const FetchSession::Known& known : session->partitions) plan.partitions.push_back(known.asked);
      plan.session = session;
    }
  }
  if (count == 0) {
    // Nothing left to fetch: the session is over, and this is answered like a full fetch of nothing.
    remove(request.session_id);
  } else {
    touch(request.session_id, count);
  }
  return plan;
}

FetchSessionCache::Conclusion FetchSessionCache::finish(const FetchPlan& plan, std::span<const FetchVerdict> verdicts) {
  CHECK(verdicts.size() == plan.partitions.size(), "{} verdicts for {} partitions", verdicts.size(),
        plan.partitions.size());
  Conclusion conclusion;
  if (plan.kind != FetchPlan::Kind::incremental) {
    conclusion.include.assign(plan.partitions.size(), true);
    if (plan.kind == FetchPlan::Kind::new_session) conclusion.session_id = create(plan, verdicts);
    return conclusion;
  }

  FetchSession& session = *plan.session;
  MutexLock lock(session.mu);
  if (session.expected_epoch != plan.next_epoch) {
    // Another request of the same session overtook this one while it waited.
    conclusion.error = ErrorCode::INVALID_FETCH_SESSION_EPOCH;
    return conclusion;
  }
  conclusion.session_id = session.id;
  conclusion.include.assign(plan.partitions.size(), false);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    auto at = session.index.find(plan.partitions[i].key);
    if (at == session.index.end()) continue;
    FetchSession::Known& known = *at->second;
    const FetchVerdict& verdict = verdicts[i];
    bool say = verdict.has_records || verdict.has_diverging_epoch;
    if (std::exchange(known.high_watermark, verdict.high_watermark) != verdict.high_watermark) say = true;
    if (std::exchange(known.log_start_offset, verdict.log_start_offset) != verdict.log_start_offset) say = true;
    if (verdict.error != ErrorCode::NONE) {
      // Told again each time until it is over; and then told that it is.
      known.high_watermark = -1;
      say = true;
    }
    conclusion.include[i] = say;
    if (verdict.has_records) session.partitions.splice(session.partitions.end(), session.partitions, at->second);
  }
  return conclusion;
}

std::size_t FetchSessionCache::size() const {
  MutexLock lock(mu_);
  return sessions_.size();
}

std::shared_ptr<FetchSession> FetchSessionCache::find(std::int32_t id) const {
  MutexLock lock(mu_);
  auto at = sessions_.find(id);
  return at == sessions_.end() ? nullptr : at->second.session;
}

void FetchSessionCache::remove(std::int32_t id) {
  MutexLock lock(mu_);
  remove_slot(id);
}

void FetchSessionCache::remove_slot(std::int32_t id) {
  auto at = sessions_.find(id);
  if (at == sessions_.end()) return;
  by_use_.erase(at->second.place);
  sessions_.erase(at);
}

void FetchSessionCache::touch(std::int32_t id, std::size_t partitions) {
  MutexLock lock(mu_);
  auto at = sessions_.find(id);
  if (at == sessions_.end()) return;
  at->second.last_used = clock_.monotonic();
  at->second.partitions = partitions;
  by_use_.splice(by_use_.end(), by_use_, at->second.place);
}

std::int32_t FetchSessionCache::create(const FetchPlan& plan, std::span<const FetchVerdict> verdicts) {
  MonotonicNs now = clock_.monotonic();
  MutexLock lock(mu_);
  if (sessions_.size() >= slots_ && !make_room(plan.privileged, plan.partitions.size(), now)) return kNoFetchSession;
  std::int32_t id = kNoFetchSession;
  do {
    id = static_cast<std::int32_t>(random_.next() & 0x7fffffff);
  } while (id == kNoFetchSession || sessions_.contains(id));

  auto session = std::make_shared<FetchSession>(id, plan.uses_topic_ids);
  {
    MutexLock fill(session->mu);
    for (std::size_t i = 0; i < plan.partitions.size(); ++i) {
      FetchSession::Known& known = session->add(plan.partitions[i]);
      bool failed = verdicts[i].error != ErrorCode::NONE;
      known.high_watermark = failed ? -1 : verdicts[i].high_watermark;
      known.log_start_offset = verdicts[i].log_start_offset;
    }
  }
  by_use_.push_back(id);
  sessions_.emplace(id, Slot{std::move(session), now, now, plan.partitions.size(), plan.privileged,
                             std::prev(by_use_.end())});
  return id;
}

// In this order: the least recently used one when it has been idle for long; for a follower the smallest of the
// consumers' sessions; the smallest of those that have lived for long, when the new one is larger.
bool FetchSessionCache::make_room(bool privileged, std::size_t partitions, MonotonicNs now) {
  if (by_use_.empty()) return false;
  if (now - sessions_.at(by_use_.front()).last_used > to_ns(kEvictionAge)) {
    remove_slot(std::int32_t{by_use_.front()});
    return true;
  }
  std::optional<std::int32_t> smallest;
  for (const auto& [id, slot] : sessions_) {
    if (slot.privileged) continue;
    if (!privileged && (now - slot.created <= to_ns(kEvictionAge) || slot.partitions >= partitions)) continue;
    if (!smallest || slot.partitions < sessions_.at(*smallest).partitions) smallest = id;
  }
  if (!smallest) return false;
  remove_slot(*smallest);
  return true;
}

}  // namespace cordwood::broker
