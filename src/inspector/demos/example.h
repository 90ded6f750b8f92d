// inspector/demos/example.h — the log that several demos look at: nineteen batches of one record, one each 2 seconds.
//
// The sizes are those of a well-known teaching example times ten, because a batch of 40 bytes does not exist; offsets, segments,
// index entries and answers come out as they do there (storage's test TeachingExample holds the engine to that).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "inspector/api.h"
#include "inspector/demos/stage.h"
#include "storage/partition_log.h"

namespace cordwood::inspector::demos {

inline constexpr std::array<std::int64_t, 19> kExampleSizes{400, 500, 350, 550, 450, 450, 700, 450, 350, 600,
                                                            650, 400, 400, 600, 500, 600, 450, 500, 600};
inline const TopicPartition kExamplePartition{"orders", PartitionId{0}};

// segment.bytes 3000, index.interval.bytes 800, segment.ms 30 s, retention without limits.
storage::OpenOptions example_options();
// Of them, what a reader should know.
std::vector<api::Setting> example_settings();

// The record of that number, at its time: the first one, number 0, at second 2.
Result<void> append_example(Stage& stage, storage::PartitionLog& log, std::size_t from, std::size_t end);
// A batch of one record, so long.
BatchToAppend one_order(Offset number, std::size_t size);

}  // namespace cordwood::inspector::demos
