// inspector/demos/demo_broker.h — a whole broker in memory, to which a demo talks as a client does: requests in, answers out.
//
// The demo's thread is the connection's loop; the broker has threads of its own, and a call waits for the answer. Its periodic work
// never becomes due: what it would do is done when the demo says so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "base/types.h"
#include "broker/broker.h"
#include "broker/local_connection.h"
#include "inspector/demos/stage.h"
#include "io/memory_file_system.h"
#include "protocol/payload.h"
#include "protocol/wire.h"

namespace cordwood::inspector::demos {

// An answer, with the bytes that its records point into.
template <class Response>
struct Answer {
  ByteVector bytes;
  Response message;
  const Response* operator->() const { return &message; }
};

class DemoBroker {
 public:
  // On the stage's disk, by the stage's clock; `stage` must outlive it.
  static Result<std::unique_ptr<DemoBroker>> start(Stage& stage);
  ~DemoBroker();

  // Errors: closed when no answer comes; corrupt when it cannot be read.
  template <class Response, class Request>
  Result<Answer<Response>> call(const Request& request, std::int16_t version) {
    protocol::Encoder body(Request::form(version));
    encode(request, body, version);
    broker::LocalOutcome outcome = TRY(exchange(Request::kApiKey, version, body.take()));
    Answer<Response> answer;
    answer.bytes = std::move(outcome.bytes);
    TRY(broker::read_answer(answer.bytes, version, answer.message));
    return answer;
  }

  // Null when there is none.
  std::shared_ptr<storage::PartitionLog> log(const TopicPartition& partition) { return broker_->logs().find(partition); }
  // What the broker does each log.retention.check.interval.ms.
  void check_retention() { broker_->logs().check_retention(); }

 private:
  explicit DemoBroker(Stage& stage);
  Result<broker::LocalOutcome> exchange(std::int16_t api_key, std::int16_t version, protocol::Payload body);

  ManualExecutor loop_;
  broker::LocalConnection connection_;
  std::unique_ptr<broker::Broker> broker_;
};

}  // namespace cordwood::inspector::demos
