// How many records a second a pass of the cleaner takes: compaction_bench make <directory> <records> <keys> <bytes per value>
// writes a log of batches of about 16 KiB in segments of 64 MiB, whose keys are drawn at random; run <warm-up directory>
// <directory> cleans each once, with one offset map as a cleaner's thread has it, and reports the second.
#include <cstring>

#include "measuring.h"
#include "record/builder.h"
#include "storage/cleaner/cleaning_pass.h"

namespace {

using namespace cordwood;

storage::OpenOptions options() {
  storage::OpenOptions options;
  options.config.segment_bytes = {64 * MiB};
  options.config.cleanup_compact = true;
  options.config.cleanup_delete = false;
  options.config.min_cleanable_dirty_ratio = 0;
  options.last_stop = storage::StopKind::clean;
  return options;
}

std::shared_ptr<storage::PartitionLog> open(bench::Surroundings& around, const std::string& directory) {
  auto log = bench::must(storage::PartitionLog::open(around.environment(), directory, {"bench", {0}}, options()));
  log->set_high_watermark(log->log_end_offset());
  return log;
}

void make(const std::string& directory, std::int64_t records, std::uint64_t keys, std::size_t value_size) {
  bench::Surroundings around;
  auto log = open(around, directory);
  ByteVector value(value_size, std::byte{'v'});
  const std::int64_t per_batch = std::max<std::int64_t>(1, 16 * KiB / static_cast<std::int64_t>(value_size + 24));
  const TimestampMs time = around.clock.now();
  while (log->log_end_offset() < Offset{records}) {
    record::BatchBuilder builder{record::BatchOptions{}};
    for (std::int64_t i = 0; i < per_batch; ++i) {
      const std::string key = fmt::format("key-{:012}", around.random.below(keys));
      builder.add(time, as_bytes(key), value);
    }
    ByteVector batch = builder.build();
    if (log->append_as_leader(batch, {0}, storage::AppendOrigin::client).fault != storage::AppendFault::none) std::exit(1);
  }
  bench::must(log->close_cleanly());
}

enum class Report { no, yes };

void run(bench::Surroundings& around, storage::OffsetMap& map, const std::string& directory, Report report) {
  auto log = open(around, directory);
  auto facts = bench::must(log->cleanable_facts({}));
  const storage::CleaningVerdict verdict = storage::judge(facts, log->config(), around.clock.now());
  storage::PassSettings settings;
  settings.between = [](ByteCount) { return Result<void>(); };
  storage::PassResult result;
  const bench::Measured measured =
      bench::measure(around.clock, [&] { result = bench::must(storage::clean_log(*log, around.environment(), verdict, map, settings)); });
  if (report == Report::yes) {
    fmt::print(R"({{"side": "cordwood", "bench": "compact", "records": {}, "kept": {}, "bytes": {}, "end": {}, "wall_s": {:.6f}, "cpu_s": {:.6f}}})"
               "\n",
               result.statistics.records_read, result.statistics.records_kept, result.statistics.bytes_read, result.end,
               measured.wall_s, measured.cpu_s);
  }
  bench::must(log->close_cleanly());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::strcmp(argv[1], "make") == 0) {
    make(argv[2], std::atoll(argv[3]), static_cast<std::uint64_t>(std::atoll(argv[4])), static_cast<std::size_t>(std::atoll(argv[5])));
  } else if (argc == 4 && std::strcmp(argv[1], "run") == 0) {
    bench::Surroundings around;
    storage::OffsetMap map(ByteCount{128 * MiB}, 0.9, around.random);
    run(around, map, argv[2], Report::no);
    run(around, map, argv[3], Report::yes);
  } else {
    std::fprintf(stderr, "usage: compaction_bench make <directory> <records> <keys> <bytes per value> | run <warm-up directory> <directory>\n");
    return 1;
  }
  return 0;
}
