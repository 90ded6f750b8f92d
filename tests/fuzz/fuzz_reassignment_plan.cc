// Fuzz entry point: the JSON that kafka-reassign-partitions takes (plans, topics to move) and its list of brokers; a plan that can be
// executed comes back from its text.
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "cli/reassignment_plan.h"

using namespace cordwood;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(std::as_bytes(std::span(data, size)));
  (void)cli::parse_topics_to_move(text);
  (void)cli::parse_broker_list(text);
  const auto plan = cli::parse_reassignment_plan(text);
  if (!plan || !cli::check_reassignment_plan(*plan)) return 0;
  const auto again = cli::parse_reassignment_plan(cli::reassignment_json(plan->assignment(), plan->directories));
  CHECK(again && again->assignment() == plan->assignment(), "does not come back");
  return 0;
}
