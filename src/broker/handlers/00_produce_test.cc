// Every row of what Apache Kafka 4.4.0 answers to odd produce requests.
#include <gtest/gtest.h>

#include <functional>

#include "broker/broker_testing.h"
#include "protocol/messages/fetch.h"
#include "protocol/messages/produce.h"
#include "record/batch.h"
#include "record/builder.h"
#include "record/record.h"

namespace cordwood::broker {
namespace {

using protocol::ErrorCode;
using protocol::ProduceRequest;
using protocol::ProduceResponse;
using Answered = ProduceResponse::Partition;

constexpr std::int16_t kNames = 12;

record::BatchOptions idempotent(std::int64_t producer_id, std::int16_t epoch, std::int32_t sequence) {
  record::BatchOptions options;
  options.producer_id = producer_id;
  options.producer_epoch = epoch;
  options.base_sequence = sequence;
  return options;
}

class ProduceTest : public ::testing::Test {
 protected:
  ProduceTest() { broker_.create_topic("t", 2); }

  ByteVector batch(record::BatchOptions options = {}, int records = 2, const char* key = "k") {
    record::BatchBuilder builder(options);
    for (int i = 0; i < records; ++i) {
      builder.add(broker_.clock().now(), key == nullptr ? std::nullopt : std::optional(as_bytes(key)), as_bytes("value"));
    }
    return builder.build();
  }
  // A good batch with a field of its header changed, and a CRC that is right again.
  template <class T>
  ByteVector with_field(std::size_t at, T value, record::BatchOptions options = {}) {
    ByteVector bytes = batch(options);
    store_be<T>(bytes, at, value);
    record::update_crc(bytes);
    return bytes;
  }
  ByteVector of_records(BytesView records, std::int32_t count, std::int16_t attributes = 0) {
    ByteVector bytes = batch();
    bytes.resize(record::kHeaderSize);
    bytes.insert(bytes.end(), records.begin(), records.end());
    store_be<std::int32_t>(bytes, record::kBatchLength, static_cast<std::int32_t>(bytes.size() - record::kLogOverhead));
    store_be<std::int32_t>(bytes, record::kRecordCount, count);
    store_be<std::int32_t>(bytes, record::kLastOffsetDelta, count - 1);
    store_be<std::int16_t>(bytes, record::kAttributes, attributes);
    record::update_crc(bytes);
    return bytes;
  }

  static void add(ProduceRequest& request, const std::string& topic, std::int32_t partition, BytesView records) {
    auto& data = request.topic_data.emplace_back();
    data.name = topic;
    auto& entry = data.partition_data.emplace_back();
    entry.index = partition;
    entry.records = protocol::Records{records, {}};
  }
  Answered produce(const ByteVector& records, std::int16_t version = kNames, std::int16_t acks = 1,
                   const std::string& topic = "t", std::int32_t partition = 0,
                   std::optional<std::string> transactional_id = {}) {
    ProduceRequest request;
    request.acks = acks;
    request.timeout_ms = 1000;
    request.transactional_id = std::move(transactional_id);
    add(request, topic, partition, records);
    auto answer = broker_.call<ProduceResponse>(request, version);
    EXPECT_EQ(answer->responses.size(), 1u);
    EXPECT_EQ(answer->responses[0].partition_responses.size(), 1u);
    return answer->responses[0].partition_responses[0];
  }
  std::int64_t log_end(const std::string& topic = "t", std::int32_t partition = 0) {
    return broker_->partitions().find(topic, PartitionId{partition})->log()->log_end_offset().value;
  }
  ByteVector stored(std::int64_t from, const std::string& topic = "t") {
    auto partition = broker_->partitions().find(topic, PartitionId{0});
    auto read = partition->log()->read({.from = Offset{from}, .max_bytes = {1 * MiB}, .at_least_one_batch = true});
    if (!read) fail_test(read.error().message());
    ByteVector bytes(static_cast<std::size_t>(read->range.size.value));
    if (!bytes.empty() && !read->range.source->read_at(read->range.position, bytes)) fail_test("read_at");
    return bytes;
  }

  TestBroker broker_;
};

TEST_F(ProduceTest, AppendsAndTellsWhere) {
  for (std::int16_t version = 3; version <= kNames; ++version) {
    std::int64_t expected = (version - 3) * 2;
    Answered answer = produce(batch(), version, version % 2 == 0 ? -1 : 1);
    EXPECT_EQ(answer.error_code, ErrorCode::NONE) << version;
    EXPECT_EQ(answer.base_offset, expected) << version;
    EXPECT_EQ(answer.log_append_time_ms, -1);
    EXPECT_EQ(answer.log_start_offset, version >= 5 ? 0 : -1);
  }
  EXPECT_EQ(broker_->partitions().find("t", PartitionId{0})->log()->high_watermark().value, log_end());
}

TEST_F(ProduceTest, StoresTheBytesWithOffsetAndEpoch) {
  ByteVector sent = with_field<std::int32_t>(record::kPartitionLeaderEpoch, 5);
  produce(batch());
  EXPECT_EQ(produce(sent).base_offset, 2);
  ByteVector kept = stored(2);
  record::BatchHeader header = record::BatchView(kept).header();
  EXPECT_EQ(header.base_offset.value, 2);
  EXPECT_EQ(header.partition_leader_epoch, broker_->partitions().find("t", PartitionId{0})->leadership().leader_epoch);
  ASSERT_EQ(kept.size(), sent.size());
  EXPECT_TRUE(std::equal(sent.begin() + record::kMagic, sent.end(), kept.begin() + record::kMagic));
}

TEST_F(ProduceTest, ByTopicId) {
  ProduceRequest request;
  request.acks = 1;
  ByteVector records = batch();
  add(request, "", 1, records);
  request.topic_data[0].topic_id = broker_.topic_id("t");
  auto answer = broker_.call<ProduceResponse>(request, 13);
  EXPECT_EQ(answer->responses.at(0).topic_id, broker_.topic_id("t"));
  EXPECT_EQ(answer->responses[0].partition_responses.at(0).error_code, ErrorCode::NONE);
  EXPECT_EQ(log_end("t", 1), 2);

  for (Uuid unknown : {kZeroUuid, Uuid{5, 5}}) {
    request.topic_data[0].topic_id = unknown;
    auto refused = broker_.call<ProduceResponse>(request, 13);
    EXPECT_EQ(refused->responses.at(0).partition_responses.at(0).error_code, ErrorCode::UNKNOWN_TOPIC_ID);
  }
  request.topic_data[0].topic_id = broker_.topic_id("t");
  request.topic_data[0].partition_data[0].index = 9;
  auto refused = broker_.call<ProduceResponse>(request, 13);
  EXPECT_EQ(refused->responses.at(0).partition_responses.at(0).error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

TEST_F(ProduceTest, UnknownPlaces) {
  for (auto [topic, partition] : std::vector<std::pair<std::string, std::int32_t>>{
           {"nope", 0}, {"t", 9}, {"t", -1}, {"not a name!", 0}, {"__consumer_offsets", 0}, {"__cluster_metadata", 0}}) {
    Answered answer = produce(batch(), kNames, 1, topic, partition);
    EXPECT_EQ(answer.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) << topic;
    EXPECT_EQ(answer.base_offset, -1);
    EXPECT_EQ(answer.log_start_offset, -1);
    EXPECT_EQ(answer.error_message, std::nullopt);
  }
  EXPECT_EQ(broker_->image()->topic("nope"), nullptr);
}

TEST_F(ProduceTest, Acks) {
  for (std::int16_t acks : {-2, 2, 32767}) {
    Answered answer = produce(batch(), kNames, acks);
    EXPECT_EQ(answer.error_code, ErrorCode::INVALID_REQUIRED_ACKS) << acks;
    EXPECT_EQ(answer.base_offset, -1);
  }
  EXPECT_EQ(log_end(), 0);

  ByteVector records = batch();
  ProduceRequest good;
  good.acks = 0;
  add(good, "t", 0, records);
  EXPECT_EQ(broker_.send<ProduceResponse>(good, kNames).outcome().kind, TestOutcome::Kind::nothing);
  EXPECT_EQ(log_end(), 2);
  ProduceRequest empty;
  empty.acks = 0;
  EXPECT_EQ(broker_.send<ProduceResponse>(empty, kNames).outcome().kind, TestOutcome::Kind::nothing);
  ProduceRequest bad = good;
  add(bad, "nope", 0, records);
  EXPECT_EQ(broker_.send<ProduceResponse>(bad, kNames).outcome().kind, TestOutcome::Kind::closed);
  EXPECT_EQ(log_end(), 4);
}

TEST_F(ProduceTest, NothingToDo) {
  ProduceRequest request;
  request.acks = 1;
  EXPECT_TRUE(broker_.call<ProduceResponse>(request, kNames)->responses.empty());
  request.topic_data.emplace_back().name = "t";
  EXPECT_TRUE(broker_.call<ProduceResponse>(request, kNames)->responses.empty());
}

TEST_F(ProduceTest, PartitionsAreIndependent) {
  ByteVector records = batch();
  ProduceRequest request;
  request.acks = 1;
  add(request, "t", 0, records);
  add(request, "nope", 0, records);
  auto answer = broker_.call<ProduceResponse>(request, kNames);
  ASSERT_EQ(answer->responses.size(), 2u);
  EXPECT_EQ(answer->responses[0].name, "t");
  EXPECT_EQ(answer->responses[0].partition_responses.at(0).error_code, ErrorCode::NONE);
  EXPECT_EQ(answer->responses[1].partition_responses.at(0).error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

TEST_F(ProduceTest, SameTopicTwiceIsOneEntry) {
  ByteVector records = batch();
  ProduceRequest request;
  request.acks = 1;
  add(request, "t", 1, records);
  add(request, "t", 0, records);
  auto answer = broker_.call<ProduceResponse>(request, kNames);
  ASSERT_EQ(answer->responses.size(), 1u);
  EXPECT_EQ(answer->responses[0].partition_responses.size(), 2u);
  EXPECT_EQ(log_end("t", 0), 2);
  EXPECT_EQ(log_end("t", 1), 2);
}

TEST_F(ProduceTest, SamePartitionTwiceCountsTheLast) {
  ByteVector two = batch();
  ByteVector three = batch({}, 3);
  ProduceRequest request;
  request.acks = 1;
  add(request, "t", 0, two);
  add(request, "t", 0, three);
  auto answer = broker_.call<ProduceResponse>(request, kNames);
  ASSERT_EQ(answer->responses.size(), 1u);
  ASSERT_EQ(answer->responses[0].partition_responses.size(), 1u);
  EXPECT_EQ(log_end(), 3);
}

TEST_F(ProduceTest, OrderOfTheRequestIsKept) {
  broker_.create_topic("a");
  ByteVector records = batch();
  ProduceRequest request;
  request.acks = 1;
  add(request, "t", 1, records);
  add(request, "a", 0, records);
  auto answer = broker_.call<ProduceResponse>(request, kNames);
  ASSERT_EQ(answer->responses.size(), 2u);
  EXPECT_EQ(answer->responses[0].name, "t");
  EXPECT_EQ(answer->responses[1].name, "a");
}

TEST_F(ProduceTest, NullRecordsAreRefused) {
  ProduceRequest request;
  request.acks = 1;
  add(request, "t", 0, {});
  request.topic_data[0].partition_data[0].records.reset();
  auto answer = broker_.call<ProduceResponse>(request, kNames);
  EXPECT_EQ(answer->responses.at(0).partition_responses.at(0).error_code, ErrorCode::INVALID_RECORD);
}

TEST_F(ProduceTest, InternalTopicsAreForAdminClientsOnly) {
  broker_.create_topic("__consumer_offsets");
  EXPECT_EQ(produce(batch(), kNames, 1, "__consumer_offsets").error_code, ErrorCode::INVALID_TOPIC_EXCEPTION);
  broker_.connection()->client_id = "__admin_client";
  EXPECT_EQ(produce(batch(), kNames, 1, "__consumer_offsets").error_code, ErrorCode::NONE);
}

// One line of the table. `log_start` is what the answer says of it: 0 when the log itself refused, -1 before that.
struct Row {
  const char* what;
  ErrorCode code;
  std::int64_t log_start;
  std::function<ByteVector()> records;
  std::int16_t version = kNames;
};

TEST_F(ProduceTest, OddBatches) {
  auto cut = [&](ByteVector bytes, std::size_t size) {
    bytes.resize(size);
    return bytes;
  };
  auto join = [](ByteVector a, const ByteVector& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  // A record: length, attributes, timestamp delta, offset delta, key length, value length, header count.
  auto record = [](std::initializer_list<int> bytes) {
    ByteVector out;
    for (int b : bytes) out.push_back(static_cast<std::byte>(b));
    return out;
  };
  const ByteVector plain = record({12, 0, 0, 0, 1, 1, 0});  // nulls for key and value
  const ErrorCode none = ErrorCode::NONE, invalid = ErrorCode::INVALID_RECORD, corrupt = ErrorCode::CORRUPT_MESSAGE,
                  unknown = ErrorCode::UNKNOWN_SERVER_ERROR;
  const std::vector<Row> rows = {
      {"empty", invalid, -1, [&] { return ByteVector(); }},
      {"5 bytes", invalid, -1, [&] { return cut(batch(), 5); }},
      {"magic 0", invalid, -1, [&] { return with_field<std::int8_t>(record::kMagic, 0); }},
      {"magic 1", invalid, -1, [&] { return with_field<std::int8_t>(record::kMagic, 1); }},
      {"truncated", invalid, -1, [&] { return cut(batch(), 70); }},
      {"length beyond the field", invalid, -1, [&] { return with_field<std::int32_t>(record::kBatchLength, 5000); }},
      {"two batches", invalid, -1, [&] { return join(batch(), batch()); }},
      {"stray bytes, fewer than 12", none, 0, [&] { return join(batch(), ByteVector(11)); }},
      {"incomplete second batch", none, 0, [&] { return join(batch(), cut(batch(), 40)); }},
      {"12 zero bytes behind", corrupt, -1, [&] { return join(batch(), ByteVector(12)); }},
      {"magic 3", corrupt, -1, [&] { return with_field<std::int8_t>(record::kMagic, 3); }},
      {"magic -1", corrupt, -1, [&] { return with_field<std::int8_t>(record::kMagic, -1); }},
      {"length 10", corrupt, -1, [&] { return with_field<std::int32_t>(record::kBatchLength, 10); }},
      {"length -5", corrupt, -1, [&] { return with_field<std::int32_t>(record::kBatchLength, -5); }},
      {"bad CRC", corrupt, -1,
       [&] {
         ByteVector bytes = batch();
         bytes.back() ^= std::byte{1};
         return bytes;
       }},
      {"base offset 7", invalid, 0, [&] { return with_field<std::int64_t>(record::kBaseOffset, 7); }},
      {"base offset -1", invalid, 0, [&] { return with_field<std::int64_t>(record::kBaseOffset, -1); }},
      {"record count 0", invalid, 0, [&] { return of_records({}, 0); }},
      {"count and delta disagree", invalid, 0, [&] { return with_field<std::int32_t>(record::kLastOffsetDelta, 5); }},
      {"fewer records than count", invalid, 0, [&] { return of_records(plain, 2); }},
      {"more records than count", invalid, 0, [&] { return of_records(join(plain, plain), 1); }},
      {"count -1", invalid, 0, [&] { return with_field<std::int32_t>(record::kRecordCount, -1); }},
      {"record longer than the batch", invalid, 0, [&] { return of_records(record({40, 0, 0, 0, 1, 1, 0}), 1); }},
      {"null header key", invalid, 0, [&] { return of_records(record({16, 0, 0, 0, 1, 1, 2, 1, 1}), 1); }},
      {"offset deltas 0, 0", none, 0, [&] { return of_records(join(plain, plain), 2); }},
      {"record attribute bits", none, 0, [&] { return of_records(record({12, 0x7f, 0, 0, 1, 1, 0}), 1); }},
      {"batch attribute bits 8-11", none, 0, [&] { return with_field<std::int16_t>(record::kAttributes, 0x0f00); }},
      {"batch attribute bits 6, 7", none, 0, [&] { return with_field<std::int16_t>(record::kAttributes, 0x00c0); }},
      {"control bit", invalid, 0, [&] { return with_field<std::int16_t>(record::kAttributes, 0x20); }},
      {"codec 5", unknown, 0, [&] { return with_field<std::int16_t>(record::kAttributes, 5); }},
      {"codec 7", unknown, 0, [&] { return with_field<std::int16_t>(record::kAttributes, 7); }},
      {"gzip bit, garbage", unknown, 0, [&] { return with_field<std::int16_t>(record::kAttributes, 1); }},
      {"snappy bit, garbage", unknown, 0, [&] { return with_field<std::int16_t>(record::kAttributes, 2); }},
      {"lz4 bit, garbage", unknown, 0, [&] { return with_field<std::int16_t>(record::kAttributes, 3); }},
      {"zstd bit, garbage", unknown, 0, [&] { return with_field<std::int16_t>(record::kAttributes, 4); }},
      {"zstd below v7", ErrorCode::UNSUPPORTED_COMPRESSION_TYPE, -1,
       [&] {
         record::BatchOptions options;
         options.compression.codec = record::Codec::zstd;
         return batch(options);
       },
       6},
      {"zstd from v7", none, 0,
       [&] {
         record::BatchOptions options;
         options.compression.codec = record::Codec::zstd;
         return batch(options);
       },
       7},
      {"producer id without sequence", invalid, 0, [&] { return batch(idempotent(5, 0, -1)); }},
      {"producer id without epoch", none, 0, [&] { return batch(idempotent(6, -1, 0)); }},
      {"sequence without producer id", none, 0, [&] { return batch(idempotent(-1, -1, 4)); }},
      {"producer id -2", none, 0, [&] { return batch(idempotent(-2, 0, 4)); }},
      {"unknown producer, sequence 5", none, 0, [&] { return batch(idempotent(7, 0, 5)); }},
  };
  for (const Row& row : rows) {
    std::int64_t before = log_end();
    Answered answer = produce(row.records(), row.version);
    EXPECT_EQ(answer.error_code, row.code) << row.what;
    EXPECT_EQ(answer.log_start_offset, row.log_start) << row.what;
    EXPECT_EQ(answer.base_offset, row.code == none ? before : -1) << row.what;
    EXPECT_EQ(log_end() > before, row.code == none) << row.what;
  }
}

TEST_F(ProduceTest, MessagesOfCorruptBatches) {
  EXPECT_EQ(produce(with_field<std::int8_t>(record::kMagic, 3)).error_message, "Invalid magic found in record: 3");
  EXPECT_EQ(produce(with_field<std::int32_t>(record::kBatchLength, 10)).error_message,
            "Record size 10 is less than the minimum record overhead (14)");
}

TEST_F(ProduceTest, Idempotence) {
  ByteVector first = batch(idempotent(1, 0, 0));
  EXPECT_EQ(produce(first).base_offset, 0);
  std::int64_t written_at = record::BatchView(first).max_timestamp().value;
  broker_.advance({1000});
  Answered again = produce(first);
  EXPECT_EQ(again.error_code, ErrorCode::NONE);
  EXPECT_EQ(again.base_offset, 0);
  EXPECT_EQ(again.log_append_time_ms, written_at);
  EXPECT_EQ(again.log_start_offset, 0);
  EXPECT_EQ(log_end(), 2);

  Answered gap = produce(batch(idempotent(1, 0, 5)));
  EXPECT_EQ(gap.error_code, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
  EXPECT_EQ(gap.log_start_offset, 0);
  EXPECT_EQ(produce(batch(idempotent(1, 1, 3))).error_code, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
  EXPECT_EQ(produce(batch(idempotent(1, 1, 0))).error_code, ErrorCode::NONE);
  EXPECT_EQ(produce(batch(idempotent(1, 0, 2))).error_code, ErrorCode::INVALID_PRODUCER_EPOCH);
  EXPECT_EQ(log_end(), 4);
}

TEST_F(ProduceTest, Sizes) {
  broker_.create_topic("small", 1, {{"max.message.bytes", "100"}, {"segment.bytes", "1048576"}});
  Answered large = produce(batch({}, 10), kNames, 1, "small");
  EXPECT_EQ(large.error_code, ErrorCode::MESSAGE_TOO_LARGE);
  EXPECT_EQ(large.log_start_offset, -1);
  broker_.create_topic("segments", 1, {{"max.message.bytes", "4000000"}, {"segment.bytes", "1048576"}});
  record::BatchBuilder builder{record::BatchOptions{}};
  std::string value(1'100'000, 'x');
  builder.add(broker_.clock().now(), {}, as_bytes(value));
  Answered larger = produce(builder.build(), kNames, 1, "segments");
  EXPECT_EQ(larger.error_code, ErrorCode::RECORD_LIST_TOO_LARGE);
  EXPECT_EQ(larger.log_start_offset, -1);
}

TEST_F(ProduceTest, CompactedTopicsNeedKeys) {
  broker_.create_topic("pc", 1, {{"cleanup.policy", "compact"}});
  record::BatchBuilder builder{record::BatchOptions{}};
  builder.add(broker_.clock().now(), as_bytes("k"), as_bytes("v"));
  builder.add(broker_.clock().now(), {}, as_bytes("v"));
  builder.add(broker_.clock().now(), {}, as_bytes("v"));
  Answered answer = produce(builder.build(), kNames, 1, "pc");
  EXPECT_EQ(answer.error_code, ErrorCode::INVALID_RECORD);
  ASSERT_EQ(answer.record_errors.size(), 2u);
  EXPECT_EQ(answer.record_errors[0].batch_index, 1);
  EXPECT_EQ(answer.record_errors[0].batch_index_error_message,
            "Compacted topic cannot accept message without key in topic partition pc-0");
  EXPECT_EQ(answer.error_message,
            "One or more records have been rejected due to 2 record errors in total, and only showing the first three errors "
            "at most: [RecordError(batchIndex=1, message='Compacted topic cannot accept message without key in topic "
            "partition pc-0'), RecordError(batchIndex=2, message='Compacted topic cannot accept message without key in topic "
            "partition pc-0')]");
  EXPECT_EQ(answer.log_start_offset, 0);
  // Versions before 8 have no place for either.
  EXPECT_EQ(produce(batch({}, 1, nullptr), 7, 1, "pc").error_code, ErrorCode::INVALID_RECORD);
}

TEST_F(ProduceTest, Timestamps) {
  broker_.create_topic("narrow", 1,
                       {{"message.timestamp.before.max.ms", "60000"}, {"message.timestamp.after.max.ms", "60000"}});
  std::int64_t now = broker_.clock().now().value;
  auto at = [&](std::int64_t timestamp) {
    record::BatchBuilder builder{record::BatchOptions{}};
    builder.add(TimestampMs{0}, {}, as_bytes("v"));
    ByteVector bytes = builder.build();
    store_be<std::int64_t>(bytes, record::kBaseTimestamp, timestamp);
    store_be<std::int64_t>(bytes, record::kMaxTimestamp, timestamp);
    record::update_crc(bytes);
    return bytes;
  };
  for (std::int64_t wrong : {now - 60'001, now + 60'001}) {
    Answered answer = produce(at(wrong), kNames, 1, "narrow");
    EXPECT_EQ(answer.error_code, ErrorCode::INVALID_TIMESTAMP);
    ASSERT_EQ(answer.record_errors.size(), 1u);
    EXPECT_EQ(answer.record_errors[0].batch_index_error_message,
              fmt::format("Timestamp {} of message with offset 0 is out of range. The timestamp should be within [{}, {}]",
                          wrong, now - 60'000, now + 60'000));
    EXPECT_EQ(answer.error_message, "One or more records have been rejected due to invalid timestamp");
    EXPECT_EQ(answer.log_start_offset, 0);
  }
  EXPECT_EQ(produce(at(now - 60'000), kNames, 1, "narrow").error_code, ErrorCode::NONE);
  EXPECT_EQ(produce(at(-1), kNames, 1, "narrow").error_code, ErrorCode::NONE);
  for (std::int64_t fine : {std::int64_t{-1}, std::int64_t{-5}, std::int64_t{0}, now + 1'800'000}) {
    EXPECT_EQ(produce(at(fine)).error_code, ErrorCode::NONE) << fine;
  }
  EXPECT_EQ(produce(at(now + 7'200'000)).error_code, ErrorCode::INVALID_TIMESTAMP);
}

TEST_F(ProduceTest, LogAppendTime) {
  broker_.create_topic("lat", 1, {{"message.timestamp.type", "LogAppendTime"}});
  std::int64_t now = broker_.clock().now().value;
  ByteVector sent = batch();
  broker_.advance({5000});
  Answered answer = produce(sent, kNames, 1, "lat");
  EXPECT_EQ(answer.log_append_time_ms, now + 5000);
  ByteVector kept = stored(0, "lat");
  record::BatchHeader header = record::BatchView(kept).header();
  EXPECT_EQ(header.base_timestamp.value, now);
  EXPECT_EQ(header.max_timestamp.value, now + 5000);
  EXPECT_EQ(header.timestamp_type(), record::TimestampType::log_append_time);
  EXPECT_TRUE(record::BatchView(kept).crc_is_valid());

  Answered flagged = produce(with_field<std::int16_t>(record::kAttributes, 8), kNames, 1, "lat");
  EXPECT_EQ(flagged.error_code, ErrorCode::INVALID_TIMESTAMP);
  ASSERT_GE(flagged.record_errors.size(), 1u);
  EXPECT_EQ(flagged.record_errors[0].batch_index, 0);

  // Elsewhere the flag is taken off.
  EXPECT_EQ(produce(with_field<std::int16_t>(record::kAttributes, 8)).error_code, ErrorCode::NONE);
  ByteVector cleared = stored(0);
  EXPECT_EQ(record::BatchView(cleared).header().timestamp_type(), record::TimestampType::create_time);
  EXPECT_TRUE(record::BatchView(cleared).crc_is_valid());
}

TEST_F(ProduceTest, WrongMaxTimestampIsCorrected) {
  std::int64_t now = broker_.clock().now().value;
  for (std::int64_t wrong : {now - 5, now + 5}) {
    std::int64_t at = produce(with_field<std::int64_t>(record::kMaxTimestamp, wrong)).base_offset;
    ByteVector kept = stored(at);
    EXPECT_EQ(record::BatchView(kept).max_timestamp().value, now);
    EXPECT_TRUE(record::BatchView(kept).crc_is_valid());
  }
}

TEST_F(ProduceTest, TopicCompressionIsApplied) {
  broker_.create_topic("gz", 1, {{"compression.type", "gzip"}});
  EXPECT_EQ(produce(batch({}, 50), kNames, 1, "gz").error_code, ErrorCode::NONE);
  ByteVector kept = stored(0, "gz");
  record::BatchHeader header = record::BatchView(kept).header();
  EXPECT_EQ(header.codec_bits(), 1);
  EXPECT_EQ(header.record_count, 50);
  EXPECT_TRUE(record::BatchView(kept).crc_is_valid());
}

TEST_F(ProduceTest, MinInsyncReplicasNeverExceedTheReplicas) {
  broker_.create_topic("safe", 1, {{"min.insync.replicas", "2"}});
  EXPECT_EQ(produce(batch(), kNames, -1, "safe").error_code, ErrorCode::NONE);
}

TEST_F(ProduceTest, TransactionalBatchesAreNeverAppended) {
  record::BatchOptions options = idempotent(9, 0, 0);
  options.transactional = true;
  Answered without_id = produce(batch(options));
  EXPECT_EQ(without_id.error_code, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  for (std::int16_t version : {10, 11, 12}) {
    Answered answer = produce(batch(options), version, -1, "t", 0, "tx");
    EXPECT_EQ(answer.error_code, ErrorCode::NOT_ENOUGH_REPLICAS);
    EXPECT_EQ(answer.log_start_offset, -1);
    EXPECT_EQ(answer.error_message,
              "Unable to verify the partition has been added to the transaction. Underlying error: "
              "COORDINATOR_NOT_AVAILABLE");
  }
  ProduceRequest request;
  request.acks = -1;
  request.transactional_id = "tx";
  ByteVector one = batch(options);
  options.producer_id = 10;
  ByteVector other = batch(options);
  add(request, "t", 0, one);
  add(request, "t", 1, other);
  auto answer = broker_.call<ProduceResponse>(request, kNames);
  for (const auto& partition : answer->responses.at(0).partition_responses) {
    EXPECT_EQ(partition.error_code, ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    EXPECT_EQ(partition.error_message, "Transactional records contained more than one producer ID");
  }
  EXPECT_EQ(log_end(), 0);
  // A plain batch may come with a transactional id, also an empty one.
  EXPECT_EQ(produce(batch(), kNames, -1, "t", 0, "tx").error_code, ErrorCode::NONE);
  EXPECT_EQ(produce(batch(), kNames, -1, "t", 0, "").error_code, ErrorCode::NONE);
}

TEST_F(ProduceTest, MalformedRequestClosesTheConnection) {
  ProduceRequest request;
  request.acks = 1;
  ByteVector records = batch();
  add(request, "t", 0, records);
  protocol::Encoder encoder(protocol::request_form(0, kNames));
  protocol::encode_request_header({0, kNames, 1, "c", 0}, encoder);
  protocol::Encoder body(ProduceRequest::form(kNames));
  encode(request, body, kNames);
  ByteVector frame = encoder.take_bytes();
  ByteVector rest = body.take_bytes();
  frame.insert(frame.end(), rest.begin(), rest.end());
  // The header alone is 9 bytes and the client id.
  for (std::size_t size = 0; size < frame.size(); ++size) {
    ASSERT_EQ(broker_.send_raw(BytesView(frame).first(size)).kind, TestOutcome::Kind::closed) << size;
  }
  EXPECT_EQ(log_end(), 0);
  EXPECT_EQ(broker_.send_raw(frame).kind, TestOutcome::Kind::answered);
  frame.push_back(std::byte{9});
  EXPECT_EQ(broker_.send_raw(frame).kind, TestOutcome::Kind::answered);
}

TEST_F(ProduceTest, DeletedTopicIsUnknown) {
  auto partition = broker_->partitions().find("t", PartitionId{0});
  partition->retire();
  Answered answer = produce(batch());
  EXPECT_EQ(answer.error_code, ErrorCode::NOT_LEADER_OR_FOLLOWER);
  EXPECT_EQ(answer.current_leader.leader_id, 1);
}

TEST_F(ProduceTest, AcknowledgedRecordsOutliveARestart) {
  produce(batch(idempotent(1, 0, 0)));
  broker_.restart();
  EXPECT_EQ(log_end(), 2);
  EXPECT_EQ(produce(batch(idempotent(1, 0, 2))).base_offset, 2);
  EXPECT_EQ(produce(batch(idempotent(1, 0, 0))).base_offset, 0);
}

}  // namespace
}  // namespace cordwood::broker
