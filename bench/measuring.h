// bench/measuring.h — what the benchmarks share: clocks, percentiles, failing, and logs opened as a broker opens them.
#pragma once

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "io/file_system.h"
#include "record/batch.h"
#include "storage/partition_log.h"

namespace cordwood::bench {

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message().c_str());
    std::exit(1);
  }
  return std::move(result).value();
}
inline void must(Result<void> result) {
  if (result) return;
  std::fprintf(stderr, "%s\n", result.error().message().c_str());
  std::exit(1);
}

// CPU seconds of this process, all threads.
inline double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Measured {
  double wall_s = 0;
  double cpu_s = 0;
};

template <class Function>
Measured measure(const Clock& clock, Function&& function) {
  double cpu = cpu_seconds();
  MonotonicNs began = clock.monotonic();
  function();
  return {static_cast<double>((clock.monotonic() - began).value) / 1e9, cpu_seconds() - cpu};
}

inline double percentile_us(const std::vector<std::int64_t>& sorted_ns, double part) {
  auto at = static_cast<std::size_t>(part * static_cast<double>(sorted_ns.size()));
  return static_cast<double>(sorted_ns[std::min(at, sorted_ns.size() - 1)]) / 1e3;
}

inline void report_latencies(const char* bench, std::vector<std::int64_t> ns) {
  std::sort(ns.begin(), ns.end());
  fmt::print(R"({{"side": "cordwood", "bench": "{}", "count": {}, "p50_us": {:.2f}, "p90_us": {:.2f}, )"
             R"("p99_us": {:.2f}, "p999_us": {:.2f}}})" "\n",
             bench, ns.size(), percentile_us(ns, 0.5), percentile_us(ns, 0.9), percentile_us(ns, 0.99),
             percentile_us(ns, 0.999));
}

// The batches of a file made by make_batches, each in memory of its own.
inline std::vector<ByteVector> read_batches(io::FileSystem& fs, const std::string& file) {
  ByteVector all = must(io::read_file(fs, file));
  std::vector<ByteVector> batches;
  BytesView rest = all;
  while (!rest.empty()) {
    auto batch = must(record::BatchView::parse(rest));
    batches.push_back(to_vector(batch.bytes()));
    rest = rest.subspan(batch.bytes().size());
  }
  return batches;
}

// What a log needs around it.
struct Surroundings {
  io::PosixFileSystem fs;
  SystemClock clock;
  SeededRandom random{42};
  MemoryLogger logger;
  storage::LogEnvironment environment() { return {&fs, &clock, &random, &logger}; }
};

inline std::shared_ptr<storage::PartitionLog> open_log(Surroundings& around, const std::string& directory,
                                                       storage::StopKind last_stop) {
  storage::OpenOptions options;
  options.config.segment_bytes = {1 * GiB};
  options.last_stop = last_stop;
  return must(storage::PartitionLog::open(around.environment(), directory, {"bench", {0}}, options));
}

}  // namespace cordwood::bench
