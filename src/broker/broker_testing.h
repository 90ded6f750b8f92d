// broker/broker_testing.h — a whole broker in a test: in memory, with a clock that the test moves and a loop that it steps.
//
//   TestBroker broker;
//   broker.create_topic("orders", 3);
//   auto answer = broker.call<protocol::FetchResponse>(request, 18);    // waits for the answer
//   EXPECT_EQ(answer->responses.size(), 1u);
//
//   auto waiting = broker.send<protocol::FetchResponse>(request, 18);   // a long poll
//   EXPECT_FALSE(waiting.done());
//   broker.advance({500});
//   EXPECT_TRUE(waiting.done());
//
// The loop runs in the test's thread, whenever the test waits or asks done(); the controller and the background have
// threads of their own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/random.h"
#include "broker/broker.h"
#include "broker/local_connection.h"
#include "io/faulty_file_system.h"
#include "io/gated_file_system_testing.h"
#include "io/memory_file_system.h"
#include "protocol/header.h"
#include "protocol/wire.h"

namespace cordwood::broker {

using TestOutcome = LocalOutcome;
using TestConnection = LocalConnection;

// An answer with the bytes that its records point into.
template <class Response>
struct TestAnswer {
  std::shared_ptr<ByteVector> bytes;
  Response message;
  std::size_t file_bytes = 0;
  Response* operator->() { return &message; }
  const Response* operator->() const { return &message; }
};

class TestBroker;

template <class Response>
class Waiting {
 public:
  Waiting(TestBroker& broker, std::shared_ptr<TestConnection> connection, std::uint64_t sequence, std::int16_t version)
      : broker_(&broker), connection_(std::move(connection)), sequence_(sequence), version_(version) {}

  // Steps the loop first.
  bool done();
  // Fails the test (throws) when no answer comes, or when it is none of this type.
  TestAnswer<Response> get();
  TestOutcome outcome();

 private:
  TestBroker* broker_;
  std::shared_ptr<TestConnection> connection_;
  std::uint64_t sequence_;
  std::int16_t version_;
};

class TestBroker {
 public:
  // Starts with one log directory, "/data"; throws when the broker does not start.
  explicit TestBroker(Config config = test_config());
  ~TestBroker();

  // Small enough for tests: no delays, one partition of __consumer_offsets.
  static Config test_config();

  Broker& operator*() { return *broker_; }
  Broker* operator->() { return broker_.get(); }

  // Stops cleanly and starts again on the same files.
  void restart();
  // Starts again on what a power cut would leave.
  void crash(std::uint64_t seed = 1);

  std::shared_ptr<TestConnection> connect();
  std::shared_ptr<TestConnection> connection() { return first_; }
  void disconnect(const std::shared_ptr<TestConnection>& connection);

  template <class Response, class Request>
  Waiting<Response> send(const Request& request, std::int16_t version, std::shared_ptr<TestConnection> on = nullptr) {
    if (!on) on = first_;
    protocol::Encoder body(Request::form(version));
    encode(request, body, version);
    return Waiting<Response>(*this, on, send_body(*on, Request::kApiKey, version, body.take()), version);
  }
  template <class Response, class Request>
  TestAnswer<Response> call(const Request& request, std::int16_t version, std::shared_ptr<TestConnection> on = nullptr) {
    return send<Response>(request, version, std::move(on)).get();
  }
  // A frame of any bytes.
  TestOutcome send_raw(BytesView frame, std::shared_ptr<TestConnection> on = nullptr);

  // Moves the clock and steps the loop.
  void advance(DurationMs by);
  // Runs what is ready on the loop.
  void step() { loop_.run_ready(); }

  // Waits until every partition of it leads. Throws when it cannot be made.
  void create_topic(const std::string& name, std::int32_t partitions = 1,
                    const std::map<std::string, std::string>& configs = {});
  Uuid topic_id(const std::string& name);

  // Appends one batch of these values (acks 1), and answers its base offset; throws when that fails.
  std::int64_t produce(const std::string& topic, std::int32_t partition, const std::vector<std::string>& values);

  io::MemFileSystem& files() { return *files_; }
  // Through which the broker reaches the files: arm it to make a call fail.
  io::FaultyFileSystem& faults() { return *faults_; }
  // Between those two: close it to hold up a thread that opens a file.
  io::GatedFileSystem& gate() { return *gate_; }
  void close_gate_for_start(std::string part) { gate_at_start_ = std::move(part); }
  Broker::StartOptions start_options;  // of the next start
  ManualClock& clock() { return clock_; }
  MemoryLogger& logger() { return logger_; }

  // Used by Waiting.
  bool is_done(TestConnection& connection, std::uint64_t sequence);
  TestOutcome wait(TestConnection& connection, std::uint64_t sequence);

 private:
  std::uint64_t send_body(TestConnection& on, std::int16_t api_key, std::int16_t version, protocol::Payload body);
  void start();

  ManualClock clock_;
  SeededRandom random_{42};
  MemoryLogger logger_;
  ManualExecutor loop_{clock_};
  Config config_;
  std::unique_ptr<io::MemFileSystem> files_;
  std::string gate_at_start_;
  std::unique_ptr<io::GatedFileSystem> gate_;
  std::unique_ptr<io::FaultyFileSystem> faults_;
  std::unique_ptr<Broker> broker_;
  std::shared_ptr<TestConnection> first_;
  std::uint64_t last_connection_ = 0;
};

// The bytes of a payload, file ranges read; throws when one cannot be read.
ByteVector flatten(const protocol::Payload& payload, std::size_t* file_bytes = nullptr);

// Throws std::runtime_error when `answer` is no such response.
[[noreturn]] void fail_test(const std::string& why);

template <class Response>
bool Waiting<Response>::done() {
  return broker_->is_done(*connection_, sequence_);
}

template <class Response>
TestOutcome Waiting<Response>::outcome() {
  return broker_->wait(*connection_, sequence_);
}

template <class Response>
TestAnswer<Response> Waiting<Response>::get() {
  TestOutcome outcome = broker_->wait(*connection_, sequence_);
  if (outcome.kind != TestOutcome::Kind::answered) fail_test(std::string(Response::kName) + ": no answer: " + outcome.why);
  TestAnswer<Response> answer;
  answer.bytes = std::make_shared<ByteVector>(std::move(outcome.bytes));
  answer.file_bytes = outcome.file_bytes;
  const Result<void> read = read_answer(*answer.bytes, version_, answer.message);
  if (!read) fail_test(read.error().what);
  return answer;
}

}  // namespace cordwood::broker
