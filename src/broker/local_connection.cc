#include "broker/local_connection.h"

#include <chrono>
#include <map>
#include <variant>

#include "base/check.h"
#include "base/mutex.h"

namespace cordwood::broker {
namespace {

constexpr auto kRound = std::chrono::microseconds(200);
constexpr int kRounds = 50'000;

class LocalFrame final : public protocol::Frame {
 public:
  explicit LocalFrame(ByteVector bytes) : bytes_(std::move(bytes)) {}
  MutableBytesView bytes() override { return bytes_; }

 private:
  ByteVector bytes_;
};

}  // namespace

Result<ByteVector> flatten_payload(const protocol::Payload& payload, std::size_t* file_bytes) {
  ByteVector out;
  for (const auto& piece : payload.pieces) {
    if (const auto* bytes = std::get_if<ByteVector>(&piece)) {
      out.insert(out.end(), bytes->begin(), bytes->end());
      continue;
    }
    const auto& range = std::get<FileRange>(piece);
    const std::size_t at = out.size();
    const auto size = static_cast<std::size_t>(range.size.value);
    out.resize(at + size);
    const std::size_t got = TRY(range.source->read_at(range.position, MutableBytesView(out).subspan(at)));
    if (got != size) return Error{Errc::corrupt, "a file range is shorter than it says"};
    if (file_bytes != nullptr) *file_bytes += size;
  }
  return out;
}

struct LocalConnection::Channel final : public protocol::ResponseChannel {
  void send(std::uint64_t sequence, protocol::Payload payload) override {
    LocalOutcome outcome;
    auto bytes = flatten_payload(payload, &outcome.file_bytes);
    if (!bytes) {
      put(sequence, {LocalOutcome::Kind::closed, {}, 0, bytes.error().message()});
      return;
    }
    outcome.bytes = *std::move(bytes);
    put(sequence, std::move(outcome));
  }
  void send_nothing(std::uint64_t sequence) override { put(sequence, {LocalOutcome::Kind::nothing, {}, 0, {}}); }
  void close(std::uint64_t sequence, std::string why) override { put(sequence, {LocalOutcome::Kind::closed, {}, 0, std::move(why)}); }

  void put(std::uint64_t sequence, LocalOutcome outcome) {
    MutexLock lock(mu);
    CHECK(outcomes.emplace(sequence, std::move(outcome)).second, "request {} is answered once", sequence);
    arrived.notify_all();
  }

  Mutex mu;
  ConditionVariable arrived;
  std::map<std::uint64_t, LocalOutcome> outcomes GUARDED_BY(mu);
};

LocalConnection::LocalConnection(std::uint64_t id, ManualExecutor& loop)
    : peer(std::make_shared<protocol::Peer>()), loop_(loop), channel_(std::make_shared<Channel>()) {
  peer->connection_id = id;
  peer->listener_name = "PLAINTEXT";
  peer->local_host = "127.0.0.1";
  peer->local_port = 9092;
  peer->remote_host = "127.0.0.1";
  peer->remote_port = static_cast<std::uint16_t>(40'000 + id);
  peer->loop = &loop;
}

Result<std::uint64_t> LocalConnection::send(Broker& broker, std::int16_t api_key, std::int16_t version, const protocol::Payload& body) {
  protocol::RequestHeader header;
  header.api_key = api_key;
  header.version = version;
  header.correlation_id = static_cast<std::int32_t>(next_sequence_);
  header.client_id = client_id;
  protocol::Encoder encoder(protocol::request_form(api_key, version));
  protocol::encode_request_header(header, encoder);
  ByteVector frame = encoder.take_bytes();
  const ByteVector rest = TRY(flatten_payload(body));
  frame.insert(frame.end(), rest.begin(), rest.end());
  return send_frame(broker, std::move(frame));
}

std::uint64_t LocalConnection::send_frame(Broker& broker, ByteVector frame) {
  const std::uint64_t sequence = next_sequence_++;
  protocol::Request request;
  request.frame = std::make_unique<LocalFrame>(std::move(frame));
  request.peer = peer;
  request.responder = protocol::Responder(channel_, sequence);
  request.received = broker.clock().monotonic();
  broker.handle(std::move(request));
  return sequence;
}

bool LocalConnection::is_done(std::uint64_t sequence) {
  loop_.run_ready();
  MutexLock lock(channel_->mu);
  return channel_->outcomes.contains(sequence);
}

Result<LocalOutcome> LocalConnection::wait(std::uint64_t sequence) {
  for (int round = 0; !is_done(sequence); ++round) {
    if (round == kRounds) return Error{Errc::closed, "the broker does not answer"};
    // An answer from another thread ends the wait; a function for the loop is looked for once a round.
    MutexLock lock(channel_->mu);
    if (channel_->outcomes.contains(sequence)) break;
    channel_->arrived.wait_for(channel_->mu, kRound);
  }
  MutexLock lock(channel_->mu);
  return std::move(channel_->outcomes.extract(sequence).mapped());
}

}  // namespace cordwood::broker
