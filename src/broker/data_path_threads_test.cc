// Producers and long-polling consumers on loops with threads of their own: no wake-up is lost, whatever the timing. The
// clock stands still, so that a fetch which missed its records would wait for ever.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>

#include "broker/broker_testing.h"
#include "protocol/messages/fetch.h"
#include "protocol/messages/produce.h"
#include "record/builder.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;
using protocol::FetchRequest;
using protocol::FetchResponse;
using protocol::ProduceRequest;
using protocol::ProduceResponse;

constexpr int kPartitions = 3;
constexpr std::int64_t kRecords = 300;  // to each partition
constexpr std::int16_t kVersion = 12;

class VectorFrame final : public protocol::Frame {
 public:
  explicit VectorFrame(ByteVector bytes) : bytes_(std::move(bytes)) {}
  MutableBytesView bytes() override { return bytes_; }

 private:
  ByteVector bytes_;
};

// A client on a loop: sends its next request when an answer has come.
class Client : public protocol::ResponseChannel, public std::enable_shared_from_this<Client> {
 public:
  Client(Broker& broker, std::uint64_t id, Executor& loop) : broker_(broker), peer_(std::make_shared<protocol::Peer>()) {
    peer_->connection_id = id;
    peer_->loop = &loop;
  }
  void start() {
    peer_->loop->post([self = shared_from_this()] { self->next(); });
  }
  bool is_done() const { return done_; }
  void send(std::uint64_t, protocol::Payload payload) override {
    auto bytes = std::make_shared<ByteVector>(flatten(payload));
    peer_->loop->post([self = shared_from_this(), bytes] {
      self->receive(*bytes);
      self->next();
    });
  }
  void send_nothing(std::uint64_t) override { failed_ = true; }
  void close(std::uint64_t, std::string) override { failed_ = true; }
  std::atomic<bool> failed_ = false;

 protected:
  virtual void next() = 0;
  virtual void receive(BytesView answer) = 0;

  template <class Request>
  void request(const Request& message) {
    protocol::Encoder header(protocol::request_form(Request::kApiKey, kVersion));
    protocol::encode_request_header({Request::kApiKey, kVersion, 1, "c", 0}, header);
    protocol::Encoder body(Request::form(kVersion));
    encode(message, body, kVersion);
    ByteVector frame = header.take_bytes();
    ByteVector rest = body.take_bytes();
    frame.insert(frame.end(), rest.begin(), rest.end());
    protocol::Request raw;
    raw.frame = std::make_unique<VectorFrame>(std::move(frame));
    raw.peer = peer_;
    raw.responder = protocol::Responder(shared_from_this(), ++sequence_);
    broker_.handle(std::move(raw));
  }
  template <class Response>
  Response decoded(BytesView answer) {
    protocol::Decoder decoder(answer, Response::form(kVersion));
    decoder.i32();
    decoder.skip_tagged_fields();
    Response message;
    decode(message, decoder, kVersion);
    if (!decoder.ok()) failed_ = true;
    return message;
  }

  Broker& broker_;
  std::shared_ptr<protocol::Peer> peer_;
  std::uint64_t sequence_ = 0;
  std::atomic<bool> done_ = false;
};

class Producer final : public Client {
 public:
  Producer(Broker& broker, std::uint64_t id, Executor& loop, std::int32_t partition)
      : Client(broker, id, loop), partition_(partition) {}

 private:
  void next() override {
    if (sent_ == kRecords) {
      done_ = true;
      return;
    }
    record::BatchBuilder builder{record::BatchOptions{}};
    builder.add(TimestampMs{1}, {}, as_bytes("value"));
    ByteVector batch = builder.build();
    ProduceRequest message;
    message.acks = 1;
    auto& topic = message.topic_data.emplace_back();
    topic.name = "t";
    topic.partition_data.push_back({partition_, protocol::Records{batch, {}}});
    ++sent_;
    request(message);
  }
  void receive(BytesView answer) override {
    auto message = decoded<ProduceResponse>(answer);
    if (message.responses.at(0).partition_responses.at(0).base_offset != sent_ - 1) failed_ = true;
  }

  std::int32_t partition_;
  std::int64_t sent_ = 0;
};

class Consumer final : public Client {
 public:
  Consumer(Broker& broker, std::uint64_t id, Executor& loop) : Client(broker, id, loop) {}

 private:
  void next() override {
    std::int64_t all = 0;
    for (std::int64_t offset : offsets_) all += offset;
    if (all == kPartitions * kRecords) {
      done_ = true;
      return;
    }
    FetchRequest message;
    message.max_wait_ms = 1'000'000;
    message.min_bytes = 1;
    message.session_id = session_;
    message.session_epoch = epoch_;
    auto& topic = message.topics.emplace_back();
    topic.topic = "t";
    for (std::int32_t i = 0; i < kPartitions; ++i) {
      auto& partition = topic.partitions.emplace_back();
      partition.partition = i;
      partition.fetch_offset = offsets_[static_cast<std::size_t>(i)];
      partition.partition_max_bytes = 1000;
    }
    request(message);
  }
  void receive(BytesView answer) override {
    auto message = decoded<FetchResponse>(answer);
    if (message.error_code != ErrorCode::NONE) failed_ = true;
    session_ = message.session_id;
    ++epoch_;
    for (const auto& topic : message.responses) {
      for (const auto& partition : topic.partitions) {
        BytesView rest = partition.records->bytes;
        std::int64_t& offset = offsets_.at(static_cast<std::size_t>(partition.partition_index));
        while (!rest.empty()) {
          auto batch = record::BatchView::parse(rest);
          if (!batch || batch->base_offset().value != offset || !batch->crc_is_valid()) {
            failed_ = true;
            return;
          }
          offset = batch->last_offset().value + 1;
          rest = rest.subspan(batch->bytes().size());
        }
      }
    }
  }

  std::vector<std::int64_t> offsets_ = std::vector<std::int64_t>(kPartitions);
  std::int32_t session_ = 0;
  std::int32_t epoch_ = 0;
};

TEST(DataPathThreads, NoWakeUpIsLost) {
  TestBroker broker;
  broker.create_topic("t", kPartitions);
  std::vector<std::shared_ptr<Client>> clients;
  // A loop each, so that every pair of them races. Declared after the broker: they end before it.
  std::vector<std::unique_ptr<ThreadExecutor>> loops;
  auto loop = [&]() -> Executor& {
    loops.push_back(std::make_unique<ThreadExecutor>(broker.clock(), "loop"));
    return *loops.back();
  };
  for (std::int32_t i = 0; i < kPartitions; ++i) {
    clients.push_back(std::make_shared<Producer>(*broker, static_cast<std::uint64_t>(100 + i), loop(), i));
  }
  for (std::uint64_t i = 0; i < 2; ++i) clients.push_back(std::make_shared<Consumer>(*broker, 200 + i, loop()));
  for (const auto& client : clients) client->start();

  std::mutex mu;
  std::condition_variable never;
  auto all_done = [&] {
    return std::ranges::all_of(clients, [](const auto& client) { return client->is_done() || client->failed_; });
  };
  constexpr int kRounds = 30'000;
  for (int round = 0; round < kRounds && !all_done(); ++round) {
    std::unique_lock lock(mu);
    never.wait_for(lock, std::chrono::milliseconds(1));
  }
  for (const auto& client : clients) {
    EXPECT_TRUE(client->is_done());
    EXPECT_FALSE(client->failed_);
  }
  for (auto& running : loops) running->stop();
  clients.clear();
}

}  // namespace
}  // namespace cordwood::broker
