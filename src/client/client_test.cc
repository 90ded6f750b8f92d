// The client against net's server, with a sink that plays the broker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "client/connection.h"
#include "client/records.h"
#include "net/request_sink.h"
#include "net/server.h"
#include "protocol/messages/api_versions.h"
#include "protocol/messages/fetch.h"
#include "protocol/messages/heartbeat.h"
#include "protocol/messages/produce.h"
#include "record/builder.h"

namespace cordwood::client {
namespace {

using protocol::ErrorCode;

// Answers one kind of request each with a function from request to response.
class PlayedBroker final : public net::RequestSink {
 public:
  template <class Request, class Response>
  void on(std::function<Response(const Request&)> answer) {
    handlers_[Request::kApiKey] = [answer](const protocol::RequestHeader& header, BytesView body) {
      protocol::Decoder decoder(body, Request::form(header.version));
      Request request;
      protocol::decode(request, decoder, header.version);
      CHECK(decoder.ok() && decoder.remaining() == 0, "malformed request");
      protocol::Encoder encoder(Response::form(header.version));
      encoder.i32(header.correlation_id);
      if (protocol::response_header_form(header.api_key, header.version) == protocol::Form::flexible) encoder.uvarint(0);
      protocol::encode(answer(request), encoder, header.version);
      return encoder.take();
    };
  }
  void handle(protocol::Request request) override {
    auto header = protocol::decode_request_header(request.frame->bytes());
    if (!header || !handlers_.contains(header->api_key)) return request.responder.close("not played");
    client_id = header->client_id.value_or("");
    request.responder.send(handlers_[header->api_key](*header, request.frame->bytes().subspan(header->body_at)));
  }
  void disconnected(const protocol::Peer&) override {}

  std::string client_id;

 private:
  std::map<std::int16_t, std::function<protocol::Payload(const protocol::RequestHeader&, BytesView)>> handlers_;
};

struct Running {
  explicit Running(net::RequestSink& sink) : server({.listeners = {{"PLAINTEXT", "127.0.0.1", 0}}, .loops = 1}, sink, clock, logger) {
    server.bind().value();
    server.start().value();
  }
  Connection connect(DurationMs timeout = {10'000}) {
    return Connection::open("127.0.0.1", server.bound().front().port, timeout, "the-client").value();
  }
  SystemClock clock;
  MemoryLogger logger;
  net::Server server;
};

void answer_heartbeats(PlayedBroker& broker) {
  broker.on<protocol::HeartbeatRequest, protocol::HeartbeatResponse>([](const protocol::HeartbeatRequest& request) {
    protocol::HeartbeatResponse response;
    response.error_code = request.group_id == "known" ? ErrorCode::NONE : ErrorCode::UNKNOWN_MEMBER_ID;
    return response;
  });
}

TEST(ClientConnection, CallsEveryVersion) {
  PlayedBroker broker;
  answer_heartbeats(broker);
  Running running(broker);
  auto connection = running.connect();
  for (std::int16_t version = 0; version <= protocol::HeartbeatRequest::kMaxVersion; ++version) {
    protocol::HeartbeatRequest request;
    request.group_id = version % 2 == 0 ? "known" : "unknown";
    auto answer = connection.call<protocol::HeartbeatResponse>(request, version);
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ((*answer)->error_code, version % 2 == 0 ? ErrorCode::NONE : ErrorCode::UNKNOWN_MEMBER_ID);
  }
  EXPECT_EQ(broker.client_id, "the-client");
  EXPECT_EQ(connection.last_correlation_id(), 5);
}

TEST(ClientConnection, ReadsTheClassicHeaderOfAFlexibleApiVersionsAnswer) {
  PlayedBroker broker;
  broker.on<protocol::ApiVersionsRequest, protocol::ApiVersionsResponse>(
      [](const protocol::ApiVersionsRequest&) { return protocol::ApiVersionsResponse{}; });
  Running running(broker);
  auto connection = running.connect();
  EXPECT_TRUE(connection.call<protocol::ApiVersionsResponse>(protocol::ApiVersionsRequest{}, 3));
}

TEST(ClientConnection, Pipelines) {
  PlayedBroker broker;
  answer_heartbeats(broker);
  Running running(broker);
  auto connection = running.connect();
  protocol::HeartbeatRequest request;
  for (int i = 0; i < 10; ++i) {
    request.group_id = i % 3 == 0 ? "known" : "unknown";
    ASSERT_TRUE(connection.send(request, 4));
  }
  for (int i = 0; i < 10; ++i) {
    auto answer = connection.receive<protocol::HeartbeatResponse>(4);
    ASSERT_TRUE(answer);
    EXPECT_EQ((*answer)->error_code, i % 3 == 0 ? ErrorCode::NONE : ErrorCode::UNKNOWN_MEMBER_ID);
  }
}

TEST(ClientConnection, RefusesAVersionThatTheMessageDoesNotHave) {
  PlayedBroker broker;
  answer_heartbeats(broker);
  Running running(broker);
  auto connection = running.connect();
  auto answer = connection.call<protocol::HeartbeatResponse>(protocol::HeartbeatRequest{}, 5);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::unsupported);
  EXPECT_TRUE(connection.call<protocol::HeartbeatResponse>(protocol::HeartbeatRequest{}, 4)) << "nothing was sent";
}

TEST(ClientConnection, SaysWhatWentWrong) {
  PlayedBroker broker;
  Running running(broker);
  std::uint16_t port = running.server.bound().front().port;

  auto closing = running.connect();
  auto closed = closing.call<protocol::HeartbeatResponse>(protocol::HeartbeatRequest{}, 4);
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Errc::closed);

  auto patient = running.connect({50});
  auto late = patient.receive_frame();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().sys_errno, ETIMEDOUT);

  running.server.stop();
  auto refused = Connection::open("127.0.0.1", port, {1000});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), fmt::format("cannot connect to 127.0.0.1:{}: Connection refused (111)", port));
}

// Answers every request with the same bytes.
class FixedAnswer final : public net::RequestSink {
 public:
  explicit FixedAnswer(ByteVector bytes) : bytes_(std::move(bytes)) {}
  void handle(protocol::Request request) override {
    protocol::Payload payload;
    payload.pieces.push_back(bytes_);
    request.responder.send(std::move(payload));
  }
  void disconnected(const protocol::Peer&) override {}

 private:
  ByteVector bytes_;
};

TEST(ClientConnection, TellsAnAnswerThatIsNone) {
  ByteWriter wrong_id, cut_short;
  wrong_id.i32(99);
  wrong_id.u8(0);
  wrong_id.i32(0);
  cut_short.i32(1);
  cut_short.u8(0);
  for (const auto& bytes : {ByteVector(), to_vector(wrong_id.view()), to_vector(cut_short.view())}) {
    FixedAnswer sink(bytes);
    Running running(sink);
    auto connection = running.connect();
    auto answer = connection.call<protocol::HeartbeatResponse>(protocol::HeartbeatRequest{}, 4);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::corrupt) << answer.error().message();
  }
}

ByteVector batch_of(std::initializer_list<const char*> values, Offset base) {
  record::BatchBuilder builder({.base_offset = base});
  for (const char* value : values) builder.add({1000}, std::nullopt, as_bytes(value));
  return builder.build();
}

TEST(ClientRecords, ProducesOneBatch) {
  PlayedBroker broker;
  ByteVector arrived;
  broker.on<protocol::ProduceRequest, protocol::ProduceResponse>([&](const protocol::ProduceRequest& request) {
    const auto& partition = request.topic_data.at(0).partition_data.at(0);
    arrived = to_vector(partition.records->bytes);
    protocol::ProduceResponse response;
    auto& topic = response.responses.emplace_back();
    topic.name = request.topic_data[0].name;
    auto& answer = topic.partition_responses.emplace_back();
    answer.index = partition.index;
    answer.base_offset = 42;
    answer.error_code = request.acks == -1 ? ErrorCode::NONE : ErrorCode::INVALID_REQUIRED_ACKS;
    return response;
  });
  Running running(broker);
  auto connection = running.connect();
  auto batch = batch_of({"a", "b"}, {0});
  auto produced = produce(connection, {"t", {3}}, batch);
  ASSERT_TRUE(produced) << produced.error().message();
  EXPECT_EQ(produced->error, ErrorCode::NONE);
  EXPECT_EQ(produced->base_offset, Offset{42});
  EXPECT_TRUE(arrived == batch);
  EXPECT_EQ(produce(connection, {"t", {3}}, batch, Acks::leader)->error, ErrorCode::INVALID_REQUIRED_ACKS);
}

TEST(ClientRecords, FetchesRecordsFromTheOffsetOn) {
  PlayedBroker broker;
  ByteVector stored = batch_of({"a", "b", "c"}, {10});
  ByteVector second = batch_of({"d"}, {13});
  stored.insert(stored.end(), second.begin(), second.end());
  stored.insert(stored.end(), second.begin(), second.end() - 1);  // an incomplete batch, as a broker may send
  broker.on<protocol::FetchRequest, protocol::FetchResponse>([&](const protocol::FetchRequest& request) {
    protocol::FetchResponse response;
    auto& topic = response.responses.emplace_back();
    topic.topic = request.topics.at(0).topic;
    auto& partition = topic.partitions.emplace_back();
    partition.high_watermark = 14;
    partition.log_start_offset = 10;
    partition.records = protocol::Records{stored, {}};
    return response;
  });
  Running running(broker);
  auto connection = running.connect();
  auto fetched = fetch(connection, {"t", {0}}, {11});
  ASSERT_TRUE(fetched) << fetched.error().message();
  EXPECT_EQ(fetched->high_watermark, Offset{14});
  EXPECT_EQ(fetched->log_start_offset, Offset{10});
  std::string values;
  for (const auto& record : fetched->records) values += std::string(as_text(*record.value)) + fmt::format("@{} ", record.offset);
  EXPECT_EQ(values, "b@11 c@12 d@13 ");
}

TEST(ClientRecords, RefusesDamagedBatches) {
  auto good = batch_of({"a", "b"}, {0});
  for (std::size_t at = record::kAttributes; at < good.size(); ++at) {
    auto bad = good;
    bad[at] ^= std::byte{1};
    auto records = records_in(bad, {0});
    ASSERT_FALSE(records) << at;
    EXPECT_EQ(records.error().code, Errc::corrupt);
  }
  auto tiny = good;
  store_be<std::int32_t>(MutableBytesView(tiny), record::kBatchLength, 20);
  EXPECT_EQ(records_in(tiny, {0}).error().code, Errc::corrupt);
  auto old = good;
  old[record::kMagic] = std::byte{1};
  EXPECT_EQ(records_in(old, {0}).error().code, Errc::unsupported);
}

}  // namespace
}  // namespace cordwood::client
