// broker/producer_ids.h — hands out producer ids, each once, from blocks that the controller wrote down before.
//
// The rest of a block is lost at a stop, as in Kafka. The next block is asked for when a tenth of the present one is
// left, so that usually nobody waits.   Threads: safe for all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"

namespace cordwood::broker {

class ProducerIdAllocator {
 public:
  struct Block {
    std::int64_t first = 0;
    std::int32_t size = 0;
  };
  using Done = std::function<void(Result<std::int64_t>)>;
  // Asks for a block; the answer may come on any thread, also before the call returns.
  using Source = std::function<void(std::function<void(Result<Block>)>)>;

  explicit ProducerIdAllocator(Source source);
  ~ProducerIdAllocator();

  // `done` runs at once when an id is at hand, else on the thread that brings the next block. Destroyed uncalled when
  // the allocator goes first.
  void allocate(Done done);

 private:
  struct State;
  static void ask(const std::shared_ptr<State>& state);
  static void receive(const std::shared_ptr<State>& state, Result<Block> block);
  std::shared_ptr<State> state_;
};

}  // namespace cordwood::broker
