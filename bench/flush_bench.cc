// How many produces a second does a broker acknowledge where each must be on the disk first (flush.messages=1)? Blocking
// connections, one thread each, one record of 100 bytes a request, each connection to a partition of its own or all to one.
//   flush_bench <port> <connections> <partitions> <seconds to warm up> <seconds>
// Prints acknowledgements per second and the median and worst time of one.
#include <unistd.h>

#include <atomic>
#include <thread>

#include "client/connection.h"
#include "client/records.h"
#include "measuring.h"
#include "protocol/messages/create_topics.h"
#include "record/builder.h"

namespace {
using namespace cordwood;
using protocol::ErrorCode;

enum class Phase { warm_up, measure, end };

void create_topic(client::Connection& connection, const std::string& name, std::int32_t partitions) {
  protocol::CreateTopicsRequest request;
  request.timeout_ms = 30'000;
  auto& topic = request.topics.emplace_back();
  topic.name = name;
  topic.num_partitions = partitions;
  topic.replication_factor = 1;
  topic.configs.push_back({"flush.messages", "1"});
  const auto answer = bench::must(connection.call<protocol::CreateTopicsResponse>(request, 5));
  const ErrorCode code = answer->topics.at(0).error_code;
  if (code != ErrorCode::NONE) bench::must(Result<void>(Error{Errc::io, std::string(protocol::name_of(code))}));
}

void produce_until_the_end(std::uint16_t port, const TopicPartition& to, const std::atomic<Phase>& phase,
                           std::vector<double>& milliseconds) {
  SystemClock clock;
  auto connection = bench::must(client::Connection::open("127.0.0.1", port, {60'000}));
  record::BatchBuilder builder{record::BatchOptions{}};
  const std::string value(100, 'v');
  builder.add(clock.now(), std::nullopt, as_bytes(value));
  const ByteVector batch = builder.build();
  while (phase.load() != Phase::end) {
    const MonotonicNs began = clock.monotonic();
    const client::Produced produced = bench::must(client::produce(connection, to, batch));
    if (produced.error != ErrorCode::NONE) {
      // Kafka's leader may be a moment late for a new topic.
      if (phase.load() == Phase::warm_up && protocol::is_retriable(produced.error)) continue;
      bench::must(Result<void>(Error{Errc::io, std::string(protocol::name_of(produced.error))}));
    }
    if (phase.load() == Phase::measure) {
      milliseconds.push_back(static_cast<double>((clock.monotonic() - began).value) / 1e6);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: flush_bench <port> <connections> <partitions> <seconds to warm up> <seconds>\n");
    return 1;
  }
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  const int connections = std::atoi(argv[2]);
  const int partitions = std::atoi(argv[3]);
  const std::string topic = fmt::format("flushed-{}-{}", connections, partitions);
  {
    auto connection = bench::must(client::Connection::open("127.0.0.1", port, {60'000}));
    create_topic(connection, topic, partitions);
  }
  std::atomic<Phase> phase{Phase::warm_up};
  std::vector<std::vector<double>> milliseconds(static_cast<std::size_t>(connections));
  std::vector<std::thread> threads;
  for (int i = 0; i < connections; ++i) {
    threads.emplace_back([&, i] {
      produce_until_the_end(port, {topic, PartitionId{i % partitions}}, phase, milliseconds[static_cast<std::size_t>(i)]);
    });
  }
  ::sleep(static_cast<unsigned>(std::atoi(argv[4])));
  SystemClock clock;
  phase.store(Phase::measure);
  const MonotonicNs began = clock.monotonic();
  ::sleep(static_cast<unsigned>(std::atoi(argv[5])));
  phase.store(Phase::end);
  const double wall_s = static_cast<double>((clock.monotonic() - began).value) / 1e9;
  for (std::thread& thread : threads) thread.join();
  std::vector<double> all;
  for (const auto& some : milliseconds) all.insert(all.end(), some.begin(), some.end());
  std::ranges::sort(all);
  if (all.empty()) bench::must(Result<void>(Error{Errc::io, "nothing was acknowledged"}));
  fmt::print("{{\"acknowledged\": {}, \"per_s\": {:.1f}, \"p50_ms\": {:.3f}, \"max_ms\": {:.3f}}}\n", all.size(),
             static_cast<double>(all.size()) / wall_s, all[all.size() / 2], all.back());
  return 0;
}
