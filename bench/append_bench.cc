// How fast does one partition take a leader's appends: validated as a produce request is, written to the page cache?
//   append_bench <work folder> <batch file> <warm-up appends> <appends>
#include "measuring.h"
#include "record/validation.h"

namespace {
using namespace cordwood;

std::int64_t append(storage::PartitionLog& log, std::vector<ByteVector>& batches, std::int64_t count,
                    const SystemClock& clock) {
  record::ValidationRules rules;
  rules.topic_partition = "bench-0";
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    ByteVector& batch = batches[static_cast<std::size_t>(i) % batches.size()];
    store_be<std::int64_t>(MutableBytesView(batch), record::kBaseOffset, 0);  // the append before has put its offset here
    rules.now = clock.now();
    auto valid = record::validate_produce(batch, rules);
    if (valid.fault != record::ProduceFault::none) bench::must(Result<void>(Error{Errc::invalid, "refused"}));
    auto appended = log.append_as_leader(valid.batch, LeaderEpoch{0}, storage::AppendOrigin::client);
    if (appended.fault != storage::AppendFault::none) bench::must(Result<void>(Error{Errc::io, "not appended"}));
    bytes += static_cast<std::int64_t>(batch.size());
  }
  return bytes;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: append_bench <work folder> <batch file> <warm-up appends> <appends>\n");
    return 1;
  }
  bench::Surroundings around;
  auto batches = bench::read_batches(around.fs, argv[2]);
  std::string folder = io::join(argv[1], "measured-0");
  bench::must(around.fs.remove_directory_tree(folder));
  {
    auto log = bench::open_log(around, folder, storage::StopKind::clean);
    append(*log, batches, std::atoll(argv[3]), around.clock);
    log->close_abruptly();
  }
  bench::must(around.fs.remove_directory_tree(folder));
  auto log = bench::open_log(around, folder, storage::StopKind::clean);
  std::int64_t count = std::atoll(argv[4]);
  std::int64_t bytes = 0;
  auto took = bench::measure(around.clock, [&] { bytes = append(*log, batches, count, around.clock); });
  if (log->log_end_offset() < Offset{count}) bench::must(Result<void>(Error{Errc::corrupt, "records are missing"}));
  log->close_abruptly();
  bench::must(around.fs.remove_directory_tree(folder));
  fmt::print(R"({{"side": "cordwood", "bench": "append", "appends": {}, "bytes": {}, "wall_s": {:.6f}, "cpu_s": {:.6f}}})"
             "\n", count, bytes, took.wall_s, took.cpu_s);
  return 0;
}
