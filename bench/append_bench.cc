// How fast does one partition take a leader's appends: validated as a produce request is, written to the page cache?
//   append_bench <work folder> <batch file> <warm-up appends> <appends> <batches together>
#include "measuring.h"
#include "record/validation.h"

namespace {
using namespace cordwood;

// `together`: so many batches go to the log in one call, as those do that come for a partition in one turn of a loop.
std::int64_t append(storage::PartitionLog& log, std::vector<ByteVector>& batches, std::int64_t count, std::size_t together,
                    const SystemClock& clock) {
  record::ValidationRules rules;
  rules.topic_partition = "bench-0";
  std::int64_t bytes = 0;
  std::vector<MutableBytesView> gathered;
  std::vector<storage::AppendResult> results;
  for (std::int64_t i = 0; i < count; ++i) {
    ByteVector& batch = batches[static_cast<std::size_t>(i) % batches.size()];
    store_be<std::int64_t>(MutableBytesView(batch), record::kBaseOffset, 0);  // the append before has put its offset here
    rules.now = clock.now();
    auto valid = record::validate_produce(batch, rules);
    if (valid.fault != record::ProduceFault::none) bench::must(Result<void>(Error{Errc::invalid, "refused"}));
    bytes += static_cast<std::int64_t>(batch.size());
    gathered.push_back(valid.batch);
    if (gathered.size() < together && i + 1 < count) continue;
    if (together == 1) {
      results.assign(1, log.append_as_leader(gathered.front(), LeaderEpoch{0}, storage::AppendOrigin::client));
    } else {
      log.append_all_as_leader(gathered, LeaderEpoch{0}, storage::AppendOrigin::client, results);
    }
    for (const auto& appended : results) {
      if (appended.fault != storage::AppendFault::none) bench::must(Result<void>(Error{Errc::io, "not appended"}));
    }
    gathered.clear();
  }
  return bytes;
}
}  // namespace

int main(int argc, char** argv) {
  const std::int64_t together = argc == 6 ? std::atoll(argv[5]) : 0;
  if (together < 1 || together > 64) {
    std::fprintf(stderr, "usage: append_bench <work folder> <batch file> <warm-up appends> <appends> <batches together>\n");
    return 1;
  }
  const auto at_once = static_cast<std::size_t>(together);
  bench::Surroundings around;
  auto batches = bench::read_batches(around.fs, argv[2]);
  std::string folder = io::join(argv[1], "measured-0");
  bench::must(around.fs.remove_directory_tree(folder));
  {
    auto log = bench::open_log(around, folder, storage::StopKind::clean);
    append(*log, batches, std::atoll(argv[3]), at_once, around.clock);
    log->close_abruptly();
  }
  bench::must(around.fs.remove_directory_tree(folder));
  auto log = bench::open_log(around, folder, storage::StopKind::clean);
  std::int64_t count = std::atoll(argv[4]);
  std::int64_t bytes = 0;
  auto took = bench::measure(around.clock, [&] { bytes = append(*log, batches, count, at_once, around.clock); });
  if (log->log_end_offset() < Offset{count}) bench::must(Result<void>(Error{Errc::corrupt, "records are missing"}));
  log->close_abruptly();
  bench::must(around.fs.remove_directory_tree(folder));
  fmt::print(R"({{"side": "cordwood", "bench": "append", "appends": {}, "bytes": {}, "wall_s": {:.6f}, "cpu_s": {:.6f}}})"
             "\n", count, bytes, took.wall_s, took.cpu_s);
  return 0;
}
