#include "net/timer_heap.h"

#include <utility>

namespace cordwood::net {

TimerId TimerHeap::add(MonotonicNs deadline, std::function<void()> function) {
  std::uint32_t index;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[index];
  slot.function = std::move(function);
  slot.used = true;
  ++slot.generation;
  heap_.emplace_back();
  put(heap_.size() - 1, Node{deadline, ++last_order_, index});
  sift_up(heap_.size() - 1);
  return (static_cast<TimerId>(slot.generation) << 32) | (index + 1);
}

std::function<void()> TimerHeap::cancel(TimerId id) {
  auto low = static_cast<std::uint32_t>(id);
  if (low == 0 || low > slots_.size()) return {};
  const Slot& slot = slots_[low - 1];
  if (!slot.used || slot.generation != static_cast<std::uint32_t>(id >> 32)) return {};
  return remove(slot.at);
}

std::optional<std::function<void()>> TimerHeap::take_due(MonotonicNs now) {
  if (heap_.empty() || heap_.front().deadline > now) return std::nullopt;
  return remove(0);
}

std::optional<MonotonicNs> TimerHeap::earliest() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().deadline;
}

void TimerHeap::put(std::size_t at, Node node) {
  heap_[at] = node;
  slots_[node.slot].at = static_cast<std::uint32_t>(at);
}

void TimerHeap::sift_up(std::size_t at) {
  Node node = heap_[at];
  while (at > 0) {
    std::size_t parent = (at - 1) / 2;
    if (!node.before(heap_[parent])) break;
    put(at, heap_[parent]);
    at = parent;
  }
  put(at, node);
}

void TimerHeap::sift_down(std::size_t at) {
  Node node = heap_[at];
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].before(heap_[child])) ++child;
    if (!heap_[child].before(node)) break;
    put(at, heap_[child]);
    at = child;
  }
  put(at, node);
}

std::function<void()> TimerHeap::remove(std::size_t at) {
  std::uint32_t index = heap_[at].slot;
  Node last = heap_.back();
  heap_.pop_back();
  if (at < heap_.size()) {
    put(at, last);
    sift_up(at);
    sift_down(slots_[last.slot].at);
  }
  Slot& slot = slots_[index];
  slot.used = false;
  free_.push_back(index);
  return std::exchange(slot.function, nullptr);
}

}  // namespace cordwood::net
