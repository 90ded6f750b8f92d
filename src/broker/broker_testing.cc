#include "broker/broker_testing.h"

#include <stdexcept>

#include "protocol/messages/create_topics.h"
#include "protocol/messages/produce.h"
#include "record/builder.h"

namespace cordwood::broker {

void fail_test(const std::string& why) { throw std::runtime_error(why); }

ByteVector flatten(const protocol::Payload& payload, std::size_t* file_bytes) {
  auto bytes = flatten_payload(payload, file_bytes);
  if (!bytes) fail_test(bytes.error().message());
  return *std::move(bytes);
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
  auto connection = std::make_shared<TestConnection>(++last_connection_, loop_);
  connection->client_id = "test";
  return connection;
}

void TestBroker::disconnect(const std::shared_ptr<TestConnection>& connection) { broker_->disconnected(*connection->peer); }

std::uint64_t TestBroker::send_body(TestConnection& on, std::int16_t api_key, std::int16_t version,
                                    protocol::Payload body) {
  auto sequence = on.send(*broker_, api_key, version, body);
  if (!sequence) fail_test(sequence.error().message());
  return *sequence;
}

TestOutcome TestBroker::send_raw(BytesView frame, std::shared_ptr<TestConnection> on) {
  if (!on) on = first_;
  return wait(*on, on->send_frame(*broker_, to_vector(frame)));
}

bool TestBroker::is_done(TestConnection& connection, std::uint64_t sequence) { return connection.is_done(sequence); }

TestOutcome TestBroker::wait(TestConnection& connection, std::uint64_t sequence) {
  auto outcome = connection.wait(sequence);
  if (!outcome) fail_test(outcome.error().message());
  return *std::move(outcome);
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
