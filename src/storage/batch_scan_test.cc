#include "storage/batch_scan.h"

#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using testing_support::BatchSpec;
using testing_support::make_batch;

// A file that counts its reads.
class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(ByteVector bytes) : bytes_(std::move(bytes)) {}
  int native_fd() const override { return -1; }
  Result<std::size_t> read_at(FilePosition position, MutableBytesView into) const override {
    ++reads;
    const auto at = static_cast<std::size_t>(position.value);
    if (at >= bytes_.size()) return std::size_t{0};
    const std::size_t size = std::min(into.size(), bytes_.size() - at);
    std::copy_n(bytes_.begin() + position.value, size, into.begin());
    return size;
  }
  FilePosition end() const { return {static_cast<std::int64_t>(bytes_.size())}; }
  mutable int reads = 0;

 private:
  ByteVector bytes_;
};

ByteVector batches(int count, std::size_t value_size = 20) {
  ByteVector all;
  for (int i = 0; i < count; ++i) {
    const ByteVector batch = make_batch({.records = 2, .value_size = value_size, .base_offset = {i * 2}});
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

TEST(BatchScan, WalksManySmallBatchesWithFewReads) {
  const CountingSource source(batches(1000));
  BatchScan scan(source, FilePosition{0}, source.end());
  for (int i = 0; i < 1000; ++i) {
    const auto batch = scan.next().value();
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->base_offset, Offset{i * 2});
    EXPECT_EQ(batch->last_offset, Offset{i * 2 + 1});
    EXPECT_EQ(scan.header().base_offset, batch->base_offset);
    EXPECT_EQ(scan.header().record_count, 2);
  }
  EXPECT_FALSE(scan.next().value());
  EXPECT_EQ(scan.position(), source.end());
  EXPECT_LT(source.reads, 1000 / 40);
}

TEST(BatchScan, WalksLargeBatches) {
  const CountingSource source(batches(20, 30'000));
  BatchScan scan(source, FilePosition{0}, source.end());
  int count = 0;
  while (scan.next().value()) ++count;
  EXPECT_EQ(count, 20);
  EXPECT_EQ(source.reads, 20);
}

TEST(BatchScan, StopsBeforeAnIncompleteBatch) {
  const ByteVector whole = batches(2);
  const std::size_t first = whole.size() / 2;
  for (std::size_t size = first; size < whole.size(); ++size) {
    const CountingSource source(ByteVector(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    BatchScan scan(source, FilePosition{0}, source.end());
    EXPECT_TRUE(scan.next().value());
    EXPECT_FALSE(scan.next().value()) << size;
    EXPECT_EQ(scan.position().value, static_cast<std::int64_t>(first));
  }
}

TEST(BatchScan, ReportsImpossibleLengths) {
  for (std::int32_t length : {13, 0, -1, INT32_MIN}) {
    ByteVector bytes = batches(2);
    store_be<std::int32_t>(bytes, record::kBatchLength, length);
    const CountingSource source(bytes);
    BatchScan scan(source, FilePosition{0}, source.end());
    const auto batch = scan.next();
    ASSERT_FALSE(batch) << length;
    EXPECT_EQ(batch.error().code, Errc::corrupt);
  }
  // Long enough for a message of old, too short for a batch.
  ByteVector bytes = batches(2);
  store_be<std::int32_t>(bytes, record::kBatchLength, 20);
  const CountingSource source(bytes);
  EXPECT_EQ(BatchScan(source, FilePosition{0}, source.end()).next().error().code, Errc::corrupt);
}

TEST(BatchScan, FindsTheFirstBatchThatReachesAnOffset) {
  const CountingSource source(batches(100));
  for (std::int64_t target = 0; target < 200; ++target) {
    const auto found = first_batch_reaching(source, {target}, FilePosition{0}, source.end()).value();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->base_offset.value, target / 2 * 2);
  }
  EXPECT_FALSE(first_batch_reaching(source, {200}, FilePosition{0}, source.end()).value());
}

TEST(BatchScan, DescribesMessagesOfOld) {
  // Magic 1: offset 5, length 24, CRC, magic, attributes, timestamp 7, key "k", value "v".
  ByteWriter v1;
  v1.i64(5);
  v1.i32(24);
  v1.u32(0);
  v1.i8(1);
  v1.i8(0);
  v1.i64(7);
  v1.i32(1);
  v1.text("k");
  v1.i32(1);
  v1.text("v");
  const BatchInfo one = describe_batch(v1.view(), FilePosition{3}).value();
  EXPECT_EQ(one.magic, 1);
  EXPECT_EQ(one.last_offset, Offset{5});
  EXPECT_EQ(one.max_timestamp, TimestampMs{7});
  EXPECT_EQ(one.end(), FilePosition{3 + 36});
  v1.patch<std::int8_t>(record::kMagic, 0);
  EXPECT_EQ(describe_batch(v1.view(), FilePosition{0})->max_timestamp, kNoTimestamp);
  EXPECT_FALSE(describe_batch(v1.view().first(16), FilePosition{0}));
}

}  // namespace
}  // namespace cordwood::storage
