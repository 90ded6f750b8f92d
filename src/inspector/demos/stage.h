// inspector/demos/stage.h — what the demos are made of: a disk in memory with a clock, records of a wanted size, and snapshots of
// what the engine has made of them.
//
// Every number of a snapshot is read: the offsets from the log, the verdicts from its retention, batches, records and index
// entries from the bytes of the files.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "base/types.h"
#include "inspector/api.h"
#include "io/memory_file_system.h"
#include "record/compression.h"
#include "storage/partition_log.h"

namespace cordwood::inspector::demos {

inline constexpr const char* kLogDirectory = "/kafka-logs";

// t = 0 of every demo: 2026-01-01 00:00:00 UTC, so that the seconds of the texts are those of the clock, too.
inline constexpr TimestampMs kStart{1'767'225'600'000};
constexpr TimestampMs at_second(std::int64_t second) { return {kStart.value + second * 1000}; }
// Whole seconds since kStart.
constexpr std::int64_t seconds_of(TimestampMs time) { return (time.value - kStart.value) / 1000; }

struct RecordToAppend {
  std::optional<std::string> key;
  std::optional<std::string> value;
};

struct BatchToAppend {
  std::vector<RecordToAppend> records;
  // The batch is exactly so long, by a header "filler" of its last record; that must be possible (checked).
  std::optional<std::size_t> size;
  std::optional<std::int64_t> producer_id;
  std::int32_t sequence = 0;
  bool transactional = false;
  record::Codec codec = record::Codec::none;
};

ByteVector make_batch(const BatchToAppend& wanted, TimestampMs timestamp);

// One partition's log, as it is now. `fs` is what the log works on.
Result<api::DemoLog> look_at(io::FileSystem& fs, const storage::PartitionLog& log, TimestampMs now);
// The directory of a log that nobody has open: whole batches as far as they can be read, and what is torn behind them. The high
// watermark, the log start and the last stable offset are `checkpoint` or the log end, whichever is lower.
Result<api::DemoLog> look_at_files(io::FileSystem& fs, const io::Path& directory, const TopicPartition& partition, Offset checkpoint);

api::Fact fact(std::string name, std::string value, std::string from);
template <class Value>
api::Fact fact(std::string name, const Value& value, std::string from) {
  return fact(std::move(name), fmt::format("{}", value), std::move(from));
}
api::Setting setting(std::string name, std::int64_t value, std::string says);
api::Setting setting(std::string name, std::string value, std::string says);

// "1 record", "3 records"
std::string count_of(std::int64_t count, std::string_view what);
// "offset 7", "offsets 6 to 10"; `next` is exclusive.
std::string offsets_text(Offset first, Offset next);

// A demo under way.
class Stage {
 public:
  Stage(std::string name, std::string title, std::string question);

  storage::LogEnvironment environment();
  io::FileSystem& fs() { return *disk; }
  io::Path directory_of(const TopicPartition& partition) const;

  // The log of a new partition, or of one whose files are there. It is shown in every step from now on.
  Result<std::shared_ptr<storage::PartitionLog>> open(const TopicPartition& partition, const storage::OpenOptions& options,
                                                      storage::RecoveryReport* report = nullptr);
  // Not shown any more.
  void forget_logs() { logs_.clear(); }

  void at(TimestampMs time) { clock.set(time); }
  void wait(DurationMs time) { clock.advance(time); }
  // As a leader without followers does it: the records are committed at once. Errors: invalid when the log refuses them.
  Result<storage::AppendResult> append(storage::PartitionLog& log, const BatchToAppend& batch);
  // The same of a batch that is made already.
  Result<storage::AppendResult> append_bytes(storage::PartitionLog& log, ByteVector batch, storage::AppendOrigin origin);

  // A step that shows the clock and all logs as they are.
  Result<void> show(std::string title, std::string does, std::string says, std::vector<api::Fact> facts = {});
  // The last step, to add to it.
  api::DemoStep& step() { return demo_.steps.back(); }
  api::Demo& demo() { return demo_; }

  ManualClock clock{kStart};
  std::unique_ptr<io::MemFileSystem> disk = std::make_unique<io::MemFileSystem>(&clock);
  SeededRandom random{1};
  MemoryLogger logger;

 private:
  api::Demo demo_;
  std::vector<std::shared_ptr<storage::PartitionLog>> logs_;
};

}  // namespace cordwood::inspector::demos
