// How fast is a log checked after an unclean stop, and how fast is an index made anew that is missing?
//   recovery_bench recover <log directory> <rounds>   everything is behind the recovery point
//   recovery_bench index <log directory> <rounds>     a clean stop, and no .index beside the .log
// The directory is one that lookup_bench made, and lies in the page cache after the first round.
#include "measuring.h"

namespace {
using namespace cordwood;

void report(const char* bench, int round, const storage::PartitionLog& log, const bench::Measured& took) {
  fmt::print(R"({{"side": "cordwood", "bench": "{}", "round": {}, "bytes": {}, "end": {}, "wall_s": {:.6f}, "cpu_s": {:.6f}}})"
             "\n",
             bench, round, log.size(), log.log_end_offset(), took.wall_s, took.cpu_s);
}

int recover(const std::string& directory, int rounds) {
  bench::Surroundings around;
  for (int round = 0; round < rounds; ++round) {
    std::shared_ptr<storage::PartitionLog> log;
    const auto took =
        bench::measure(around.clock, [&] { log = bench::open_log(around, directory, storage::StopKind::unclean); });
    report("recover", round, *log, took);
    log->close_abruptly();
  }
  return 0;
}

int rebuild_index(const std::string& directory, int rounds) {
  bench::Surroundings around;
  bench::must(bench::open_log(around, directory, storage::StopKind::unclean)->close_cleanly());
  for (int round = 0; round < rounds; ++round) {
    for (const io::DirectoryEntry& entry : bench::must(around.fs.list(directory))) {
      if (entry.name.ends_with(".index")) bench::must(around.fs.remove_file(io::join(directory, entry.name)));
    }
    std::shared_ptr<storage::PartitionLog> log;
    const auto took =
        bench::measure(around.clock, [&] { log = bench::open_log(around, directory, storage::StopKind::clean); });
    report("index", round, *log, took);
    log->close_abruptly();
  }
  return 0;
}
}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "recover" && argc == 4) return recover(argv[2], std::atoi(argv[3]));
  if (mode == "index" && argc == 4) return rebuild_index(argv[2], std::atoi(argv[3]));
  std::fprintf(stderr, "usage: recovery_bench recover|index <log directory> <rounds>\n");
  return 1;
}
