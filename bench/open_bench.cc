// How long does a clean start take to open many partitions?
//   open_bench make <folder> <logs>    writes them, ten batches each, and closes them
//   open_bench run <folder> <rounds>   opens all of them, one after the other
#include "measuring.h"
#include "record/builder.h"

namespace {
using namespace cordwood;

int make(const std::string& folder, int logs) {
  bench::Surroundings around;
  bench::must(around.fs.remove_directory_tree(folder));
  ByteVector value(1000);
  for (int i = 0; i < logs; ++i) {
    auto log = bench::open_log(around, io::join(folder, fmt::format("bench-{}", i)), storage::StopKind::clean);
    for (int b = 0; b < 10; ++b) {
      record::BatchBuilder builder{record::BatchOptions{}};
      for (int r = 0; r < 16; ++r) builder.add(around.clock.now(), std::nullopt, value);
      ByteVector batch = builder.build();
      auto appended = log->append_as_leader(batch, LeaderEpoch{0}, storage::AppendOrigin::client);
      if (appended.fault != storage::AppendFault::none) bench::must(Result<void>(Error{Errc::io, "not appended"}));
    }
    log->set_high_watermark(log->log_end_offset());
    bench::must(log->close_cleanly());
  }
  return 0;
}

int run(const std::string& folder, int rounds) {
  bench::Surroundings around;
  auto entries = bench::must(around.fs.list(folder));
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::shared_ptr<storage::PartitionLog>> logs;
    auto took = bench::measure(around.clock, [&] {
      for (const auto& entry : entries) {
        logs.push_back(bench::open_log(around, io::join(folder, entry.name), storage::StopKind::clean));
      }
    });
    for (auto& log : logs) log->close_abruptly();
    fmt::print(R"({{"side": "cordwood", "bench": "open", "round": {}, "logs": {}, "wall_s": {:.6f}, "cpu_s": {:.6f}}})" "\n",
               round, logs.size(), took.wall_s, took.cpu_s);
  }
  return 0;
}
}  // namespace

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "make" && argc == 4) return make(argv[2], std::atoi(argv[3]));
  if (mode == "run" && argc == 4) return run(argv[2], std::atoi(argv[3]));
  std::fprintf(stderr, "usage: open_bench make <folder> <logs> | run <folder> <rounds>\n");
  return 1;
}
