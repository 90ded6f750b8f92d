// broker/handlers/scratch.h — what the busiest handlers keep from one request to the next: decoded messages and answers,
// for the capacity of their vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "broker/handlers/produce_turn.h"
#include "broker/scratch_pool.h"
#include "protocol/messages/fetch.h"
#include "protocol/messages/produce.h"
#include "record/validation.h"

namespace cordwood::broker {

struct ProduceScratch {
  struct Entry {
    std::uint32_t topic = 0;      // index into request.topic_data
    std::uint32_t partition = 0;  // index into its partition_data
  };
  protocol::ProduceRequest request;
  protocol::ProduceResponse response;
  std::vector<Entry> entries;
  record::ValidationRules rules;
};

struct HandlerScratch {
  ScratchPool<ProduceScratch> produce;
  ScratchPool<protocol::FetchRequest> fetch;
  ProduceTurns produce_turns;  // goes before the pool, to which what is staged gives back
};

}  // namespace cordwood::broker
