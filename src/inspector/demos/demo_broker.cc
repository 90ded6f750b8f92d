#include "inspector/demos/demo_broker.h"

#include <chrono>
#include <optional>
#include <variant>

#include "base/mutex.h"
#include "broker/config.h"
#include "storage/partition_log.h"

namespace cordwood::inspector::demos {
namespace {

// How long a call waits for other threads of the broker: far longer than anything takes in memory.
constexpr auto kPatienceRound = std::chrono::microseconds(500);
constexpr int kPatienceRounds = 20'000;

class RequestBytes final : public protocol::Frame {
 public:
  explicit RequestBytes(ByteVector bytes) : bytes_(std::move(bytes)) {}
  MutableBytesView bytes() override { return bytes_; }

 private:
  ByteVector bytes_;
};

Result<ByteVector> flatten_payload(const protocol::Payload& payload) {
  ByteVector out;
  for (const auto& piece : payload.pieces) {
    if (const auto* bytes = std::get_if<ByteVector>(&piece)) {
      out.insert(out.end(), bytes->begin(), bytes->end());
      continue;
    }
    const auto& range = std::get<FileRange>(piece);
    const std::size_t at = out.size();
    out.resize(at + static_cast<std::size_t>(range.size.value));
    const std::size_t got = TRY(range.source->read_at(range.position, MutableBytesView(out).subspan(at)));
    out.resize(at + got);
  }
  return out;
}

}  // namespace

// Answers come from any thread; one is waited for at a time.
class DemoBroker::Connection final : public protocol::ResponseChannel {
 public:
  void send(std::uint64_t sequence, protocol::Payload payload) override { put(sequence, flatten_payload(payload)); }
  void send_nothing(std::uint64_t sequence) override { put(sequence, ByteVector()); }
  void close(std::uint64_t sequence, std::string why) override { put(sequence, Error{Errc::closed, std::move(why)}); }

  std::optional<Result<ByteVector>> wait_a_round(std::uint64_t sequence) {
    MutexLock lock(mu_);
    if (auto answer = take_locked(sequence)) return answer;
    arrived_.wait_for(mu_, kPatienceRound);
    return take_locked(sequence);
  }

 private:
  void put(std::uint64_t sequence, Result<ByteVector> answer) {
    MutexLock lock(mu_);
    sequence_ = sequence;
    answer_ = std::move(answer);
    arrived_.notify_all();
  }
  std::optional<Result<ByteVector>> take_locked(std::uint64_t sequence) REQUIRES(mu_) {
    if (!answer_ || sequence_ != sequence) return std::nullopt;
    return std::exchange(answer_, std::nullopt);
  }

  Mutex mu_;
  ConditionVariable arrived_;
  std::uint64_t sequence_ GUARDED_BY(mu_) = 0;
  std::optional<Result<ByteVector>> answer_ GUARDED_BY(mu_);
};

DemoBroker::DemoBroker(Stage& stage)
    : loop_(stage.clock), peer_(std::make_shared<protocol::Peer>()), connection_(std::make_shared<Connection>()) {
  peer_->connection_id = 1;
  peer_->listener_name = "PLAINTEXT";
  peer_->local_host = "127.0.0.1";
  peer_->local_port = 9092;
  peer_->remote_host = "127.0.0.1";
  peer_->remote_port = 40'000;
  peer_->loop = &loop_;
}

DemoBroker::~DemoBroker() {
  // What still waits is answered or dropped before its loop goes.
  if (broker_) static_cast<void>(broker_->shut_down());
  loop_.run_ready();
  broker_.reset();
  loop_.run_ready();
}

Result<std::unique_ptr<DemoBroker>> DemoBroker::start(Stage& stage) {
  broker::Config config;
  config.log_dirs = {kLogDirectory};
  config.offsets_topic_num_partitions = 1;
  constexpr DurationMs kNever{std::int64_t{1} << 40};
  config.log_initial_task_delay_ms = kNever;
  // Its offset map would be the largest thing of the demo, and nothing here is compacted.
  config.given["log.cleaner.enable"] = "false";
  std::unique_ptr<DemoBroker> made(new DemoBroker(stage));
  made->broker_ = TRY(broker::Broker::start(stage.environment(), std::move(config)));
  return made;
}

Result<ByteVector> DemoBroker::exchange(std::int16_t api_key, std::int16_t version, protocol::Payload body) {
  protocol::RequestHeader header;
  header.api_key = api_key;
  header.version = version;
  header.correlation_id = static_cast<std::int32_t>(++last_sequence_);
  header.client_id = "demo";
  protocol::Encoder encoder(protocol::request_form(api_key, version));
  protocol::encode_request_header(header, encoder);
  ByteVector frame = encoder.take_bytes();
  const ByteVector rest = TRY(flatten_payload(body));
  frame.insert(frame.end(), rest.begin(), rest.end());
  protocol::Request request;
  request.frame = std::make_unique<RequestBytes>(std::move(frame));
  request.peer = peer_;
  request.responder = protocol::Responder(connection_, last_sequence_);
  request.received = broker_->clock().monotonic();
  broker_->handle(std::move(request));
  for (int round = 0; round < kPatienceRounds; ++round) {
    loop_.run_ready();
    if (auto answer = connection_->wait_a_round(last_sequence_)) return std::move(*answer);
  }
  return Error{Errc::closed, "the demo's broker does not answer"};
}

}  // namespace cordwood::inspector::demos
