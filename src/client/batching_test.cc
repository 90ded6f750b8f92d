#include "client/batching.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "record/record.h"

namespace cordwood::client {
namespace {

constexpr MonotonicNs kNow{1'000'000'000};

RecordToSend record_of(std::string_view value) { return {.timestamp = {1'700'000'000'000}, .key = {}, .value = as_bytes(value), .headers = {}}; }

std::vector<std::string> values_in(BytesView batch) {
  std::vector<std::string> values;
  record::for_each_record(record::BatchView(batch), [&](const record::RecordView& view) {
    values.emplace_back(as_text(*view.value));
    return record::Walk::go_on;
  }).value();
  return values;
}

TEST(Batching, LargestSizeIsWhatJavaTells) {
  // Kafka 4.4.0: "The message is 1100088 bytes when serialized".
  EXPECT_EQ(largest_size_of(record_of(std::string(1'100'000, 'x'))), 1'100'088);
}

TEST(Batching, ABatchTakesRecordsUpToItsSize) {
  BatchingOptions options{.batch_size = 200, .compression = {}};
  BatchQueue queue;
  CompressionRatio ratio;
  std::string value(50, 'x');
  auto first = queue.append(options, ratio, record_of(value), {}, kNow);
  EXPECT_EQ(first.memory, 200);
  EXPECT_EQ(queue.append(options, ratio, record_of(value), {}, kNow).memory, 0);
  // 61 bytes of header and two records of 57 leave no room for a third.
  EXPECT_EQ(queue.append(options, ratio, record_of(value), {}, kNow).memory, 200);
  ASSERT_EQ(queue.batches().size(), 2u);
  EXPECT_EQ(queue.front().record_count(), 2);
}

TEST(Batching, OneRecordMayBeLargerThanABatch) {
  BatchingOptions options{.batch_size = 10, .compression = {}};
  BatchQueue queue;
  CompressionRatio ratio;
  EXPECT_GT(queue.append(options, ratio, record_of(std::string(500, 'x')), {}, kNow).memory, 500);
  EXPECT_EQ(queue.due(ratio, {1'000'000}).value, (kNow + to_ns({1'000'000})).value) << "nothing waits behind it";
  queue.append(options, ratio, record_of(std::string(500, 'y')), {}, kNow);
  ASSERT_EQ(queue.batches().size(), 2u);
  EXPECT_EQ(queue.due(ratio, {1'000'000}), kNow);
}

TEST(Batching, AFullBatchIsDueAtOnceAndAnotherOneLingers) {
  BatchQueue queue;
  CompressionRatio ratio;
  queue.append({.batch_size = 1000, .compression = {}}, ratio, record_of("a"), {}, kNow);
  EXPECT_EQ(queue.due(ratio, {5}), kNow + to_ns({5}));
  queue.front().attempts = 1;
  queue.front().not_before = kNow + to_ns({77});
  EXPECT_EQ(queue.due(ratio, {5}), kNow + to_ns({77}));
}

TEST(Batching, TellsEachRecordItsOffset) {
  BatchingOptions options;
  BatchQueue queue;
  CompressionRatio ratio;
  std::vector<std::int64_t> offsets;
  for (const char* value : {"a", "b", "c"}) {
    queue.append(options, ratio, record_of(value), [&](const Delivery& delivery) { offsets.push_back(delivery.offset.value); }, kNow);
  }
  auto batch = queue.take_front();
  batch->close(ratio);
  batch->complete({.partition = {0}, .offset = {40}});
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{40, 41, 42}));
}

TEST(Batching, TheIdentityGoesIntoTheClosedBatch) {
  BatchQueue queue;
  CompressionRatio ratio;
  queue.append({}, ratio, record_of("a"), {}, kNow);
  GatheredBatch& batch = queue.front();
  batch.close(ratio);
  batch.set_identity({4711, 3}, 17, false);
  record::BatchView view(batch.bytes());
  EXPECT_TRUE(view.crc_is_valid());
  EXPECT_EQ(view.header().producer_id, 4711);
  EXPECT_EQ(view.header().producer_epoch, 3);
  EXPECT_EQ(view.header().base_sequence, 17);
  EXPECT_EQ(values_in(batch.bytes()), std::vector<std::string>{"a"});
}

TEST(Batching, HalvesKeepRecordsHandlersAndSequences) {
  for (auto codec : {record::Codec::none, record::Codec::zstd}) {
    BatchingOptions options{.batch_size = 100'000, .compression = {.codec = codec, .level = {}}};
    BatchQueue queue;
    CompressionRatio ratio;
    int told = 0;
    for (const char* value : {"a", "b", "c", "d", "e"}) {
      queue.append(options, ratio, record_of(value), [&](const Delivery&) { ++told; }, kNow);
    }
    auto batch = queue.take_front();
    batch->close(ratio);
    batch->set_identity({1, 0}, INT32_MAX, false);
    auto halves = batch->split(options);
    ASSERT_EQ(halves.size(), 2u);
    EXPECT_EQ(values_in(halves[0]->bytes()), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(values_in(halves[1]->bytes()), (std::vector<std::string>{"c", "d", "e"}));
    EXPECT_EQ(halves[0]->base_sequence(), INT32_MAX);
    EXPECT_EQ(halves[1]->base_sequence(), 1) << "behind 2^31-1 comes 0";
    for (auto& half : halves) half->complete(Delivery{});
    EXPECT_EQ(told, 5);
  }
}

TEST(Batching, RetriesComeBackInTheOrderOfTheirSequences) {
  BatchQueue queue;
  CompressionRatio ratio;
  std::vector<std::unique_ptr<GatheredBatch>> batches;
  for (std::int32_t sequence : {INT32_MAX, 0, 1}) {
    queue.append({}, ratio, record_of("x"), {}, kNow);
    batches.push_back(queue.take_front());
    batches.back()->close(ratio);
    batches.back()->set_identity({1, 0}, sequence, false);
  }
  queue.append({}, ratio, record_of("new"), {}, kNow);
  for (std::size_t i : {1u, 2u, 0u}) queue.put_back_in_order(std::move(batches[i]));
  std::vector<std::int32_t> order;
  for (const auto& batch : queue.batches()) order.push_back(batch->base_sequence());
  EXPECT_EQ(order, (std::vector<std::int32_t>{INT32_MAX, 0, 1, -1}));
}

TEST(Batching, TheCompressionEstimateFallsSlowlyAndRisesAtOnce) {
  CompressionRatio ratio;
  ratio.observed(0.2);
  EXPECT_NEAR(ratio.estimate(), 0.995, 1e-9);
  ratio.observed(0.999);
  EXPECT_NEAR(ratio.estimate(), 1.045, 1e-9);
}

}  // namespace
}  // namespace cordwood::client
