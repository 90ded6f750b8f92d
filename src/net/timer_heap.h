// net/timer_heap.h — functions ordered by their deadline; adding, cancelling and taking cost O(log n).
//
// A cancelled timer leaves at once: long polls are mostly answered before their deadline, and a heap that kept their
// corpses until then would hold half a second of a busy broker's requests.
// Threads: externally locked.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/executor.h"
#include "base/types.h"

namespace cordwood::net {

class TimerHeap {
 public:
  // Timers of the same deadline come out in the order in which they were added. Ids are never 0.
  TimerId add(MonotonicNs deadline, std::function<void()> function);

  // The cancelled function, for the caller to destroy where no lock is held; empty when the id is unknown or expired.
  std::function<void()> cancel(TimerId id);

  // Takes out the earliest function when its deadline is at or before `now`.
  std::optional<std::function<void()>> take_due(MonotonicNs now);

  std::optional<MonotonicNs> earliest() const;
  std::size_t size() const { return heap_.size(); }

 private:
  struct Node {
    MonotonicNs deadline;
    std::uint64_t order = 0;
    std::uint32_t slot = 0;
    bool before(const Node& other) const {
      return deadline != other.deadline ? deadline < other.deadline : order < other.order;
    }
  };
  struct Slot {
    std::function<void()> function;
    std::uint32_t generation = 0;  // counts the uses of the slot, so that an old id does not hit its next user
    std::uint32_t at = 0;          // where in heap_
    bool used = false;
  };

  void put(std::size_t at, Node node);
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);
  std::function<void()> remove(std::size_t at);

  std::vector<Node> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t last_order_ = 0;
};

}  // namespace cordwood::net
