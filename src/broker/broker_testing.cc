#include "broker/broker_testing.h"

#include <chrono>
#include <stdexcept>

#include "protocol/messages/create_topics.h"
#include "protocol/messages/produce.h"
#include "record/builder.h"

namespace cordwood::broker {
namespace {

constexpr auto kRound = std::chrono::microseconds(200);
constexpr int kRounds = 50'000;

class TestFrame final : public protocol::Frame {
 public:
  explicit TestFrame(ByteVector bytes) : bytes_(std::move(bytes)) {}
  MutableBytesView bytes() override { return bytes_; }

 private:
  ByteVector bytes_;
};

}  // namespace

void fail_test(const std::string& why) { throw std::runtime_error(why); }

ByteVector flatten(const protocol::Payload& payload, std::size_t* file_bytes) {
  ByteVector out;
  for (const auto& piece : payload.pieces) {
    if (const auto* bytes = std::get_if<ByteVector>(&piece)) {
      out.insert(out.end(), bytes->begin(), bytes->end());
      continue;
    }
    const auto& range = std::get<FileRange>(piece);
    std::size_t at = out.size();
    auto size = static_cast<std::size_t>(range.size.value);
    out.resize(at + size);
    auto got = range.source->read_at(range.position, MutableBytesView(out).subspan(at));
    if (!got || *got != size) fail_test("a file range cannot be read");
    if (file_bytes != nullptr) *file_bytes += size;
  }
  return out;
}

struct TestConnection::Channel final : public protocol::ResponseChannel {
  void send(std::uint64_t sequence, protocol::Payload payload) override {
    TestOutcome outcome;
    outcome.bytes = flatten(payload, &outcome.file_bytes);
    put(sequence, std::move(outcome));
  }
  void send_nothing(std::uint64_t sequence) override { put(sequence, {TestOutcome::Kind::nothing, {}, 0, {}}); }
  void close(std::uint64_t sequence, std::string why) override {
    put(sequence, {TestOutcome::Kind::closed, {}, 0, std::move(why)});
  }

  void put(std::uint64_t sequence, TestOutcome outcome) {
    MutexLock lock(mu);
    if (!outcomes.emplace(sequence, std::move(outcome)).second) fail_test("answered twice");
    arrived.notify_all();
  }

  Mutex mu;
  ConditionVariable arrived;
  std::map<std::uint64_t, TestOutcome> outcomes GUARDED_BY(mu);
};

TestConnection::TestConnection(std::uint64_t id, Executor& loop)
    : peer(std::make_shared<protocol::Peer>()), channel(std::make_shared<Channel>()) {
  peer->connection_id = id;
  peer->listener_name = "PLAINTEXT";
  peer->local_host = "127.0.0.1";
  peer->local_port = 9092;
  peer->remote_host = "127.0.0.1";
  peer->remote_port = static_cast<std::uint16_t>(40'000 + id);
  peer->loop = &loop;
}

Config TestBroker::test_config() {
  Config config;
  config.log_dirs = {"/data"};
  config.offsets_topic_num_partitions = 1;
  config.group_initial_rebalance_delay_ms = {0};
  return config;
}

TestBroker::TestBroker(Config config) : config_(std::move(config)), files_(std::make_unique<io::MemFileSystem>(&clock_)) {
  first_ = connect();
  start();
}

TestBroker::~TestBroker() {
  if (gate_) gate_->open_gate();
  // What still waits is answered or dropped before its loop goes.
  if (broker_) static_cast<void>(broker_->shut_down());
  loop_.run_ready();
  broker_.reset();
  loop_.run_ready();
}

void TestBroker::start() {
  faults_.reset();
  gate_ = std::make_unique<io::GatedFileSystem>(*files_);
  if (!gate_at_start_.empty()) gate_->close_gate(std::exchange(gate_at_start_, {}));
  faults_ = std::make_unique<io::FaultyFileSystem>(*gate_);
  auto started = Broker::start({faults_.get(), &clock_, &random_, &logger_}, config_, start_options);
  if (!started) fail_test("the broker does not start: " + started.error().message());
  broker_ = std::move(*started);
}

void TestBroker::restart() {
  auto stopped = broker_->shut_down();
  if (!stopped) fail_test("the broker does not stop cleanly: " + stopped.error().message());
  loop_.run_ready();
  broker_.reset();
  start();
}

void TestBroker::crash(std::uint64_t seed) {
  auto after = files_->crash_clone(seed);
  broker_.reset();
  loop_.run_ready();
  faults_.reset();
  gate_.reset();
  files_ = std::move(after);
  start();
}

std::shared_ptr<TestConnection> TestBroker::connect() {
  return std::make_shared<TestConnection>(++last_connection_, loop_);
}

void TestBroker::disconnect(const std::shared_ptr<TestConnection>& connection) { broker_->disconnected(*connection->peer); }

std::uint64_t TestBroker::send_body(TestConnection& on, std::int16_t api_key, std::int16_t version,
                                    protocol::Payload body) {
  protocol::RequestHeader header;
  header.api_key = api_key;
  header.version = version;
  header.correlation_id = static_cast<std::int32_t>(on.next_sequence);
  header.client_id = on.client_id;
  protocol::Encoder encoder(protocol::request_form(api_key, version));
  protocol::encode_request_header(header, encoder);
  ByteVector frame = encoder.take_bytes();
  ByteVector rest = flatten(body);
  frame.insert(frame.end(), rest.begin(), rest.end());
  return send_frame(on, std::move(frame));
}

std::uint64_t TestBroker::send_frame(TestConnection& on, ByteVector frame) {
  std::uint64_t sequence = on.next_sequence++;
  protocol::Request request;
  request.frame = std::make_unique<TestFrame>(std::move(frame));
  request.peer = on.peer;
  request.responder = protocol::Responder(on.channel, sequence);
  request.received = clock_.monotonic();
  broker_->handle(std::move(request));
  return sequence;
}

TestOutcome TestBroker::send_raw(BytesView frame, std::shared_ptr<TestConnection> on) {
  if (!on) on = first_;
  return wait(*on, send_frame(*on, to_vector(frame)));
}

bool TestBroker::is_done(TestConnection& connection, std::uint64_t sequence) {
  loop_.run_ready();
  MutexLock lock(connection.channel->mu);
  return connection.channel->outcomes.contains(sequence);
}

TestOutcome TestBroker::wait(TestConnection& connection, std::uint64_t sequence) {
  for (int round = 0; !is_done(connection, sequence); ++round) {
    if (round == kRounds) fail_test("no answer within the patience of a test");
    // An answer from another thread ends the wait; a function for the loop is looked for once a round.
    MutexLock lock(connection.channel->mu);
    if (connection.channel->outcomes.contains(sequence)) break;
    connection.channel->arrived.wait_for(connection.channel->mu, kRound);
  }
  MutexLock lock(connection.channel->mu);
  auto at = connection.channel->outcomes.find(sequence);
  TestOutcome outcome = std::move(at->second);
  connection.channel->outcomes.erase(at);
  return outcome;
}

void TestBroker::advance(DurationMs by) {
  clock_.advance(by);
  loop_.run_ready();
}

void TestBroker::create_topic(const std::string& name, std::int32_t partitions,
                              const std::map<std::string, std::string>& configs) {
  protocol::CreateTopicsRequest request;
  auto& topic = request.topics.emplace_back();
  topic.name = name;
  topic.num_partitions = partitions;
  topic.replication_factor = 1;
  for (const auto& [key, value] : configs) topic.configs.push_back({key, value});
  auto answer = call<protocol::CreateTopicsResponse>(request, protocol::CreateTopicsRequest::kMaxVersion);
  const auto& result = answer->topics.at(0);
  if (result.error_code != protocol::ErrorCode::NONE) {
    fail_test("topic " + name + ": " + std::string(protocol::name_of(result.error_code)) + " " +
              result.error_message.value_or(""));
  }
}

Uuid TestBroker::topic_id(const std::string& name) {
  auto topic = broker_->image()->topic(name);
  if (!topic) fail_test("there is no topic " + name);
  return topic->id;
}

std::int64_t TestBroker::produce(const std::string& topic, std::int32_t partition, const std::vector<std::string>& values) {
  record::BatchBuilder builder{record::BatchOptions{}};
  for (const std::string& value : values) builder.add(clock_.now(), {}, as_bytes(value));
  ByteVector batch = builder.build();
  protocol::ProduceRequest request;
  request.acks = 1;
  auto& data = request.topic_data.emplace_back();
  data.name = topic;
  auto& entry = data.partition_data.emplace_back();
  entry.index = partition;
  entry.records = protocol::Records{batch, {}};
  auto answer = call<protocol::ProduceResponse>(request, 12);
  const auto& result = answer->responses.at(0).partition_responses.at(0);
  if (result.error_code != protocol::ErrorCode::NONE) {
    fail_test("produce to " + topic + ": " + std::string(protocol::name_of(result.error_code)));
  }
  return result.base_offset;
}

}  // namespace cordwood::broker
