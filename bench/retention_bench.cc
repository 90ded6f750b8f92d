// How long does one retention check take when nothing is due?
//   retention_bench <logs> <segments> <rounds>    logs in memory, each limited by time and by size
#include "io/memory_file_system.h"
#include "measuring.h"
#include "record/builder.h"
#include "storage/log_manager.h"

namespace {
using namespace cordwood;

int run(int logs, int segments, int rounds) {
  SystemClock clock;
  io::MemFileSystem fs(&clock);
  SeededRandom random{1};
  MemoryLogger logger;
  storage::LogManagerOptions options;
  options.log_dirs = {"/bench"};
  auto manager = bench::must(storage::LogManager::open({&fs, &clock, &random, &logger}, options));
  bench::must(manager->load({}));
  storage::LogConfig config;
  config.segment_bytes = ByteCount{100};  // every batch begins a segment
  config.segment_index_bytes = ByteCount{64};
  config.retention_bytes = {1 * GiB};
  for (int i = 0; i < logs; ++i) {
    auto log = bench::must(manager->get_or_create({"bench", {i}}, {1, 1}, config));
    for (int b = 0; b < segments; ++b) {
      record::BatchBuilder builder{record::BatchOptions{}};
      builder.add(clock.now(), std::nullopt, BytesView{});
      ByteVector batch = builder.build();
      if (log->append_as_leader(batch, LeaderEpoch{0}, storage::AppendOrigin::client).fault != storage::AppendFault::none) {
        bench::must(Result<void>(Error{Errc::io, "not appended"}));
      }
    }
    log->set_high_watermark(log->log_end_offset());
    // The file system in memory keeps a list of what no sync has made durable, and walks it at each sync.
    bench::must(fs.sync_directory(log->directory()));
    if (i % 64 == 0) bench::must(fs.sync_directory("/bench"));
  }
  for (int round = 0; round < rounds; ++round) {
    auto took = bench::measure(clock, [&] { manager->check_retention(); });
    fmt::print(R"({{"side": "cordwood", "bench": "retention", "round": {}, "logs": {}, "segments": {}, "wall_s": {:.6f}, "cpu_s": {:.6f}}})" "\n",
               round, logs, segments, took.wall_s, took.cpu_s);
  }
  manager->abandon();
  return 0;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) return run(std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]));
  std::fprintf(stderr, "usage: retention_bench <logs> <segments> <rounds>\n");
  return 1;
}
