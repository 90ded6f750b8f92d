#include "inspector/demos/demo_broker.h"

#include <utility>

#include "broker/config.h"
#include "storage/partition_log.h"

namespace cordwood::inspector::demos {

DemoBroker::DemoBroker(Stage& stage) : loop_(stage.clock), connection_(1, loop_) { connection_.client_id = "demo"; }

DemoBroker::~DemoBroker() {
  // What still waits is answered or dropped before its loop goes.
  if (broker_) static_cast<void>(broker_->shut_down());
  loop_.run_ready();
  broker_.reset();
  loop_.run_ready();
}

Result<std::unique_ptr<DemoBroker>> DemoBroker::start(Stage& stage) {
  broker::Config config;
  config.log_dirs = {kLogDirectory};
  config.offsets_topic_num_partitions = 1;
  constexpr DurationMs kNever{std::int64_t{1} << 40};
  config.log_initial_task_delay_ms = kNever;
  // Its offset map would be the largest thing of the demo, and nothing here is compacted.
  config.given["log.cleaner.enable"] = "false";
  std::unique_ptr<DemoBroker> made(new DemoBroker(stage));
  made->broker_ = TRY(broker::Broker::start(stage.environment(), std::move(config)));
  return made;
}

Result<broker::LocalOutcome> DemoBroker::exchange(std::int16_t api_key, std::int16_t version, protocol::Payload body) {
  const std::uint64_t sequence = TRY(connection_.send(*broker_, api_key, version, body));
  broker::LocalOutcome outcome = TRY(connection_.wait(sequence));
  if (outcome.kind != broker::LocalOutcome::Kind::answered) return Error{Errc::closed, std::move(outcome.why)};
  return outcome;
}

}  // namespace cordwood::inspector::demos
