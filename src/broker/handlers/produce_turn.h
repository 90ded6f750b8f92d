// broker/handlers/produce_turn.h — the appends of one turn of a loop, gathered by partition.
//
// What several connections, or one that sends ahead, have produced to a partition is often read in one turn of the loop. The
// batches go to the log together when the turn ends, in the order in which they came, and the answers leave after that: one
// write instead of many. A turn with a single produce waits for nothing. Why: docs/decisions/0011-gathered-appends.md
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/mutex.h"
#include "broker/partition.h"
#include "protocol/exchange.h"

namespace cordwood::broker {

// A validated batch on its way into the log, and what became of it.
struct StagedAppend {
  std::shared_ptr<Partition> partition;
  MutableBytesView batch;
  Partition::Appended appended;
};

// A produce that was validated. Destroyed without finish() when its loop goes first.
class StagedProduce {
 public:
  virtual ~StagedProduce() = default;
  virtual void list(std::vector<StagedAppend*>& into) = 0;
  // Every append has its result: to be answered.
  virtual void finish() = 0;
};

// Threads: safe for all; what is staged is touched on its loop alone.
class ProduceTurns {
 public:
  // What waits for the end of a turn holds its frame, and batches that were compressed anew: beyond this it does not wait.
  static constexpr std::size_t kMostStagedBytes = std::size_t{1} << 20;

  ProduceTurns() = default;
  ProduceTurns(const ProduceTurns&) = delete;
  ProduceTurns& operator=(const ProduceTurns&) = delete;
  // The loops must have ended, or be stepped by this thread: what is still staged is dropped.
  ~ProduceTurns() {
    MutexLock lock(mu_);
    for (auto& [loop, turn] : turns_) turn->take();
  }

  // On the peer's loop. Finished when the turn ends, or sooner by run(). `held_bytes`: what it keeps in memory.
  void add(const protocol::Peer& peer, std::unique_ptr<StagedProduce> produce, std::size_t held_bytes) {
    std::shared_ptr<Turn> turn = turn_of(*peer.loop);
    turn->staged.push_back(std::move(produce));
    turn->staged_bytes += held_bytes;
    turn->last_connection = peer.connection_id;
    if (turn->staged_bytes >= kMostStagedBytes) return turn->run();
    if (std::exchange(turn->end_is_posted, true)) return;
    peer.loop->post([end = std::make_shared<EndOfTurn>(std::move(turn))] { end->come(); });
  }

  // On `loop`: writes and answers what is staged there. Who looks at a log next finds it.
  void run(Executor& loop) { turn_of(loop)->run(); }

  // On the peer's loop: whether its last request is staged, so that its next produce can be staged behind.
  bool is_last_staged(const protocol::Peer& peer) { return turn_of(*peer.loop)->last_connection == peer.connection_id; }

 private:
  struct Turn {
    std::vector<std::unique_ptr<StagedProduce>> staged;
    std::size_t staged_bytes = 0;
    std::optional<std::uint64_t> last_connection;  // that staged something
    bool end_is_posted = false;

    std::vector<std::unique_ptr<StagedProduce>> take() {
      staged_bytes = 0;
      last_connection.reset();
      return std::exchange(staged, {});
    }

    // An answer may bring the next request of its connection, and that one may run what is staged by then: nothing of this
    // object is in use while the answers leave.
    void run() {
      const std::vector<std::unique_ptr<StagedProduce>> produces = take();
      if (produces.empty()) return;
      std::vector<StagedAppend*> appends;
      for (const auto& produce : produces) produce->list(appends);
      // By name, so that the order of the writes does not hang on addresses. Within a partition it stays.
      if (produces.size() > 1) {
        std::ranges::stable_sort(appends, std::less<>(), [](const StagedAppend* append) -> const TopicPartition& {
          return append->partition->name();
        });
      }
      std::vector<MutableBytesView> batches;
      for (std::size_t first = 0; first < appends.size();) {
        Partition& partition = *appends[first]->partition;
        batches.clear();
        for (std::size_t i = first; i < appends.size() && appends[i]->partition.get() == &partition; ++i) {
          batches.push_back(appends[i]->batch);
        }
        std::vector<Partition::Appended> results = partition.append_all(batches, storage::AppendOrigin::client);
        for (std::size_t i = 0; i < results.size(); ++i) appends[first + i]->appended = std::move(results[i]);
        first += results.size();
      }
      for (const auto& produce : produces) produce->finish();
    }
  };

  // Posted to the loop. When that ends before it comes, those who wait are told so by the end of their exchanges.
  struct EndOfTurn {
    explicit EndOfTurn(std::shared_ptr<Turn> of) : turn(std::move(of)) {}
    ~EndOfTurn() {
      if (!has_come) turn->take();
    }
    EndOfTurn(const EndOfTurn&) = delete;
    EndOfTurn& operator=(const EndOfTurn&) = delete;
    void come() {
      has_come = true;
      turn->end_is_posted = false;
      turn->run();
    }
    std::shared_ptr<Turn> turn;
    bool has_come = false;
  };

  std::shared_ptr<Turn> turn_of(Executor& loop) {
    MutexLock lock(mu_);
    std::shared_ptr<Turn>& turn = turns_[&loop];
    if (!turn) turn = std::make_shared<Turn>();
    return turn;
  }

  Mutex mu_;
  std::unordered_map<const Executor*, std::shared_ptr<Turn>> turns_ GUARDED_BY(mu_);
};

}  // namespace cordwood::broker
