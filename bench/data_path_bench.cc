// What do a produce and a fetch cost in the broker alone, without sockets: time and allocations, once warm; and how long
// does a broker take to start on an empty directory?
//
//   data_path_bench DIRECTORY      (made, used and left behind)
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/log.h"
#include "broker/broker.h"
#include "protocol/header.h"
#include "protocol/messages/create_topics.h"
#include "protocol/messages/fetch.h"
#include "protocol/messages/produce.h"
#include "record/builder.h"

namespace {
thread_local std::uint64_t allocations = 0;  // of this thread: the loop's
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace cordwood {
namespace {

class BenchFrame final : public protocol::Frame {
 public:
  explicit BenchFrame(MutableBytesView bytes) : bytes_(bytes) {}
  MutableBytesView bytes() override { return bytes_; }

 private:
  MutableBytesView bytes_;
};

class BenchChannel final : public protocol::ResponseChannel {
 public:
  void send(std::uint64_t, protocol::Payload payload) override {
    bytes += payload.size();
    answered = true;
  }
  void send_nothing(std::uint64_t) override { answered = true; }
  void close(std::uint64_t, std::string why) override {
    fmt::print(stderr, "closed: {}\n", why);
    std::abort();
  }
  std::int64_t bytes = 0;
  std::atomic<bool> answered = false;
};

template <class Request>
ByteVector frame_of(const Request& request, std::int16_t version) {
  protocol::Encoder header(protocol::request_form(Request::kApiKey, version));
  protocol::encode_request_header({Request::kApiKey, version, 7, "bench", 0}, header);
  protocol::Encoder body(Request::form(version));
  encode(request, body, version);
  ByteVector frame = header.take_bytes();
  ByteVector rest = body.take_bytes();
  frame.insert(frame.end(), rest.begin(), rest.end());
  return frame;
}

class Bench {
 public:
  explicit Bench(const std::string& directory) : loop_(clock_) {
    MonotonicNs before = clock_.monotonic();
    broker::Config config;
    config.log_dirs = {directory};
    auto started = broker::Broker::start({&files_, &clock_, &random_, &logger_}, config);
    if (!started) {
      fmt::print(stderr, "{}\n", started.error().message());
      std::abort();
    }
    broker_ = std::move(*started);
    fmt::print("start on an empty directory     {:8.2f} ms\n", milliseconds_since(before));
    peer_->listener_name = "PLAINTEXT";
    peer_->local_host = "127.0.0.1";
    peer_->loop = &loop_;
  }
  ~Bench() {
    MonotonicNs before = clock_.monotonic();
    static_cast<void>(broker_->shut_down());
    fmt::print("clean stop                      {:8.2f} ms\n", milliseconds_since(before));
  }

  void handle(ByteVector& frame) {
    protocol::Request request;
    request.frame = std::make_unique<BenchFrame>(frame);
    request.peer = peer_;
    channel_->answered = false;
    request.responder = protocol::Responder(channel_, 1);
    broker_->handle(std::move(request));
    while (!channel_->answered) loop_.run_ready();
  }

  void create_topic(const std::string& name) {
    protocol::CreateTopicsRequest request;
    auto& topic = request.topics.emplace_back();
    topic.name = name;
    topic.num_partitions = 1;
    topic.replication_factor = 1;
    ByteVector frame = frame_of(request, 5);
    handle(frame);
  }

  void produce(std::size_t batch_bytes, int rounds) {
    record::BatchBuilder builder{record::BatchOptions{}};
    std::string value(100, 'v');
    while (builder.plain_size() + 120 < batch_bytes) builder.add(clock_.now(), {}, as_bytes(value));
    if (builder.empty()) builder.add(clock_.now(), {}, as_bytes(value));
    ByteVector batch = builder.build();
    protocol::ProduceRequest request;
    request.acks = 1;
    auto& topic = request.topic_data.emplace_back();
    topic.name = "bench";
    topic.partition_data.push_back({0, protocol::Records{batch, {}}});
    ByteVector frame = frame_of(request, 11);
    measure(fmt::format("produce, batches of {:7} B", batch.size()), frame, rounds, batch.size());
  }

  void fetch(std::int32_t limit, int rounds) {
    protocol::FetchRequest request;
    request.max_wait_ms = 500;
    request.min_bytes = 1;
    auto& topic = request.topics.emplace_back();
    topic.topic = "bench";
    auto& partition = topic.partitions.emplace_back();
    partition.partition_max_bytes = limit;
    ByteVector frame = frame_of(request, 12);
    measure(fmt::format("fetch of at most    {:7} B", limit), frame, rounds, static_cast<std::size_t>(limit));
  }

 private:
  double milliseconds_since(MonotonicNs before) const {
    return static_cast<double>((clock_.monotonic() - before).value) / 1e6;
  }
  void measure(const std::string& what, const ByteVector& frame, int rounds, std::size_t bytes) {
    // A produce rewrites its frame; each round gets it as the client sent it.
    ByteVector fresh = frame;
    auto one = [&] {
      std::copy(frame.begin(), frame.end(), fresh.begin());
      handle(fresh);
    };
    for (int i = 0; i < rounds / 10 + 10; ++i) one();
    std::uint64_t allocated = allocations;
    MonotonicNs before = clock_.monotonic();
    for (int i = 0; i < rounds; ++i) one();
    double seconds = milliseconds_since(before) / 1e3;
    fmt::print("{}  {:8.2f} us  {:8.1f} MB/s  {:6.1f} allocations\n", what, seconds / rounds * 1e6,
               static_cast<double>(bytes) * rounds / seconds / 1e6,
               static_cast<double>(allocations - allocated) / rounds);
  }

  io::PosixFileSystem files_;
  SystemClock clock_;
  SystemRandom random_;
  MemoryLogger logger_;
  ManualExecutor loop_;
  std::unique_ptr<broker::Broker> broker_;
  std::shared_ptr<protocol::Peer> peer_ = std::make_shared<protocol::Peer>();
  std::shared_ptr<BenchChannel> channel_ = std::make_shared<BenchChannel>();
};

}  // namespace
}  // namespace cordwood

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: data_path_bench DIRECTORY\n");
    return 2;
  }
  cordwood::Bench bench(argv[1]);
  bench.create_topic("bench");
  bench.produce(200, 100'000);
  bench.produce(1'000, 100'000);
  bench.produce(16'000, 50'000);
  bench.produce(1'000'000, 1'000);
  bench.fetch(1'000, 100'000);
  bench.fetch(1'000'000, 100'000);
  return 0;
}
