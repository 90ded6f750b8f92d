#include "inspector/demos/example.h"

#include <fmt/format.h>

namespace cordwood::inspector::demos {

storage::OpenOptions example_options() {
  storage::OpenOptions options;
  options.last_stop = storage::StopKind::clean;
  options.config.segment_bytes = {3000};
  options.config.segment_index_bytes = {1200};
  options.config.index_interval_bytes = {800};
  options.config.segment_ms = {30'000};
  options.config.retention_ms = {-1};
  return options;
}

std::vector<api::Setting> example_settings() {
  const storage::LogConfig config = example_options().config;
  return {
      setting("segment.bytes", config.segment_bytes.value, "A batch that would make the active segment longer starts a new one."),
      setting("segment.ms", config.segment_ms.value, "So old may the active segment's first record be when another one comes."),
      setting("index.interval.bytes", config.index_interval_bytes.value,
              "Once more bytes than that were written, the next batch gets an entry in both indexes."),
  };
}

BatchToAppend one_order(Offset number, std::size_t size) {
  BatchToAppend batch;
  batch.records = {{fmt::format("customer {}", number.value % 4), fmt::format("order {}", number.value)}};
  batch.size = size;
  return batch;
}

Result<void> append_example(Stage& stage, storage::PartitionLog& log, std::size_t from, std::size_t end) {
  for (std::size_t i = from; i < end; ++i) {
    stage.at(at_second(2 * (static_cast<std::int64_t>(i) + 1)));
    TRY(stage.append(log, one_order(log.log_end_offset(), static_cast<std::size_t>(kExampleSizes.at(i)))));
  }
  return {};
}

}  // namespace cordwood::inspector::demos
