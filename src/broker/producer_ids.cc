#include "broker/producer_ids.h"

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"

namespace cordwood::broker {
namespace {

constexpr std::int64_t kPrefetchFraction = 10;

}  // namespace

struct ProducerIdAllocator::State {
  Source source;
  Mutex mu;
  std::int64_t next GUARDED_BY(mu) = 0;
  std::int64_t end GUARDED_BY(mu) = 0;
  std::int64_t prefetch_at GUARDED_BY(mu) = 0;  // ids left at which the next block is asked for
  std::optional<Block> following GUARDED_BY(mu);
  bool asked GUARDED_BY(mu) = false;
  std::deque<Done> waiting GUARDED_BY(mu);

  std::optional<std::int64_t> take() REQUIRES(mu) {
    if (next == end && following) {
      next = following->first;
      end = following->first + following->size;
      prefetch_at = following->size / kPrefetchFraction;
      following.reset();
    }
    if (next == end) return {};
    return next++;
  }
  bool should_ask() REQUIRES(mu) {
    if (asked || following || end - next > prefetch_at) return false;
    asked = true;
    return true;
  }
};

ProducerIdAllocator::ProducerIdAllocator(Source source) : state_(std::make_shared<State>()) {
  state_->source = std::move(source);
}

ProducerIdAllocator::~ProducerIdAllocator() = default;

void ProducerIdAllocator::allocate(Done done) {
  std::optional<std::int64_t> id;
  bool wants_block = false;
  {
    MutexLock lock(state_->mu);
    id = state_->take();
    if (!id) state_->waiting.push_back(std::move(done));
    wants_block = state_->should_ask();
  }
  if (wants_block) ask(state_);
  if (id) done(*id);
}

void ProducerIdAllocator::ask(const std::shared_ptr<State>& state) {
  state->source([weak = std::weak_ptr<State>(state)](Result<Block> block) {
    if (auto alive = weak.lock()) receive(alive, std::move(block));
  });
}

void ProducerIdAllocator::receive(const std::shared_ptr<State>& state, Result<Block> block) {
  std::vector<std::pair<Done, Result<std::int64_t>>> answers;
  bool wants_block = false;
  {
    MutexLock lock(state->mu);
    state->asked = false;
    if (block) {
      CHECK(block->size > 0, "a block of {} producer ids", block->size);
      state->following = *block;
      while (!state->waiting.empty()) {
        std::optional<std::int64_t> id = state->take();
        if (!id) break;
        answers.emplace_back(std::move(state->waiting.front()), *id);
        state->waiting.pop_front();
      }
      wants_block = state->should_ask();
    } else {
      for (Done& done : state->waiting) answers.emplace_back(std::move(done), block.error());
      state->waiting.clear();
    }
  }
  if (wants_block) ask(state);
  for (auto& [done, answer] : answers) done(std::move(answer));
}

}  // namespace cordwood::broker
