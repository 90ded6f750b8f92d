// How long does it take to find and read a record by offset, and to find one by time, in a segment of nearly 1 GiB that
// lies in the page cache?
//   lookup_bench make <log directory>            writes the segment, one record of 1 KiB a millisecond, and closes it
//   lookup_bench run <log directory> <warm-up look-ups> <look-ups>
#include "measuring.h"
#include "record/builder.h"

namespace {
using namespace cordwood;

constexpr std::int64_t kFirstTimestamp = 1'700'000'000'000;  // of offset 0; offset n is n milliseconds later
constexpr std::int64_t kRead = 16 * KiB;

int make(const std::string& directory) {
  bench::Surroundings around;
  bench::must(around.fs.remove_directory_tree(directory));
  auto log = bench::open_log(around, directory, storage::StopKind::clean);
  ByteVector value(1000);
  std::int64_t offset = 0;
  while (log->size() < ByteCount{1 * GiB - 32 * KiB}) {
    record::BatchBuilder builder{record::BatchOptions{}};
    for (int i = 0; i < 16; ++i, ++offset) {
      for (std::size_t at = 0; at < value.size(); at += 8) {
        store_be<std::uint64_t>(MutableBytesView(value), at, around.random.next());
      }
      builder.add({kFirstTimestamp + offset}, std::nullopt, value);
    }
    ByteVector batch = builder.build();
    auto appended = log->append_as_leader(batch, LeaderEpoch{0}, storage::AppendOrigin::client);
    if (appended.fault != storage::AppendFault::none) bench::must(Result<void>(Error{Errc::io, "not appended"}));
  }
  log->set_high_watermark(log->log_end_offset());
  bench::must(log->close_cleanly());
  return 0;
}

// A read finds the batch of a random offset and reads up to 16 KiB from there, as a consumer that seeks.
std::vector<std::int64_t> read_by_offset(const storage::PartitionLog& log, bench::Surroundings& around, int count) {
  ByteVector into(kRead);
  std::vector<std::int64_t> ns;
  ns.reserve(static_cast<std::size_t>(count));
  auto end = static_cast<std::uint64_t>(log.log_end_offset().value);
  for (int i = 0; i < count; ++i) {
    Offset offset{static_cast<std::int64_t>(around.random.below(end))};
    MonotonicNs began = around.clock.monotonic();
    auto read = bench::must(log.read({offset, {kRead}, true, storage::ReadLimit::log_end}));
    auto size = static_cast<std::size_t>(std::min(read.range.size.value, kRead));
    std::size_t got = bench::must(read.range.source->read_at(read.range.position, MutableBytesView(into).first(size)));
    ns.push_back((around.clock.monotonic() - began).value);
    if (got == 0) bench::must(Result<void>(Error{Errc::corrupt, "nothing was read"}));
  }
  return ns;
}

std::vector<std::int64_t> find_by_time(const storage::PartitionLog& log, bench::Surroundings& around, int count) {
  std::vector<std::int64_t> ns;
  ns.reserve(static_cast<std::size_t>(count));
  auto end = static_cast<std::uint64_t>(log.log_end_offset().value);
  for (int i = 0; i < count; ++i) {
    Offset offset{static_cast<std::int64_t>(around.random.below(end))};
    MonotonicNs began = around.clock.monotonic();
    auto found = bench::must(log.find_by_timestamp({kFirstTimestamp + offset.value}));
    ns.push_back((around.clock.monotonic() - began).value);
    if (!found || found->offset != offset) bench::must(Result<void>(Error{Errc::corrupt, "the wrong record was found"}));
  }
  return ns;
}

int run(const std::string& directory, int warm_up, int count) {
  bench::Surroundings around;
  auto log = bench::open_log(around, directory, storage::StopKind::clean);
  read_by_offset(*log, around, warm_up);
  find_by_time(*log, around, warm_up);
  bench::report_latencies("read_by_offset", read_by_offset(*log, around, count));
  bench::report_latencies("find_by_time", find_by_time(*log, around, count));
  log->close_abruptly();
  return 0;
}
}  // namespace

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "make" && argc == 3) return make(argv[2]);
  if (mode == "run" && argc == 5) return run(argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
  std::fprintf(stderr, "usage: lookup_bench make <log directory> | run <log directory> <warm-up look-ups> <look-ups>\n");
  return 1;
}
