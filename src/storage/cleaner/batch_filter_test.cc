#include "storage/cleaner/batch_filter.h"

#include "storage/cleaner/cleaner_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

constexpr TimestampMs kTime{1'700'000'000'000};
constexpr TimestampMs kNow{1'700'000'100'000};

// A filter over a map that the test fills.
struct Filter {
  SeededRandom random{3};
  OffsetMap map{ByteCount{1000 * OffsetMap::kSlotSize}, 1.0, random};
  TransactionTracker transactions;
  LastOfProducers producers;
  BatchFilter filter{map, transactions, producers};
  ByteVector out;

  Filter() {
    map.start(100);
    filter.settings.now = kNow;
    filter.settings.delete_retention_ms = {1000};
    filter.settings.high_watermark = {1'000'000};
  }
  void last(const std::string& key, std::int64_t offset) { map.put(map.hash(as_bytes(key)), {offset}); }
  FilteredBatch run(const ByteVector& batch) {
    out.clear();
    auto result = filter.filter(batch, out);
    EXPECT_TRUE(result.has_value()) << result.error().message();
    return result ? *result : FilteredBatch{};
  }
  record::BatchHeader written() { return record::read_header(out).value(); }
  std::vector<std::int64_t> offsets() {
    std::vector<std::int64_t> found;
    record::for_each_record(record::BatchView(out), [&](const record::RecordView& r) {
      found.push_back(r.offset.value);
      return record::Walk::go_on;
    }).value();
    return found;
  }
};

KeyedBatch three(std::int64_t base = 10) {
  KeyedBatch spec;
  spec.options.base_offset = {base};
  spec.options.partition_leader_epoch = 4;
  spec.records = {{"a", "1", kTime}, {"b", "2", {kTime.value + 5}}, {"c", "3", {kTime.value + 3}}};
  return spec;
}

TEST(BatchFilter, CopiesABatchOfWhichAllStays) {
  Filter f;
  f.last("a", 10);
  f.last("b", 11);
  f.last("z", 99);
  const ByteVector batch = make_keyed(three());
  const FilteredBatch result = f.run(batch);
  EXPECT_EQ(result.fate, BatchFate::copied);
  EXPECT_EQ(f.out, batch);
  EXPECT_EQ(result.info.last_offset, Offset{12});
  EXPECT_EQ(result.info.max_timestamp.value, kTime.value + 5);
  EXPECT_EQ(result.records_kept, 3);
}

TEST(BatchFilter, WritesAnewWhatStays) {
  Filter f;
  f.last("a", 50);
  f.last("c", 60);
  const FilteredBatch result = f.run(make_keyed(three()));
  EXPECT_EQ(result.fate, BatchFate::rewritten);
  EXPECT_EQ(f.offsets(), (std::vector<std::int64_t>{11}));
  const record::BatchHeader header = f.written();
  EXPECT_EQ(header.base_offset, Offset{10});
  EXPECT_EQ(header.last_offset(), Offset{12}) << "kept although its record is gone";
  EXPECT_EQ(header.base_timestamp.value, kTime.value + 5) << "that of the first record that stays";
  EXPECT_EQ(header.partition_leader_epoch, 4);
  EXPECT_TRUE(record::BatchView(f.out).crc_is_valid());
}

ByteVector from_hex(std::string_view digits) {
  ByteVector bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// Kafka 4.4.0 wrote the wrappers, and its cleaner the batches.
TEST(BatchFilter, OldFormatsBecomeBatches) {
  struct {
    const char* name;
    ByteVector wrapper;
    ByteVector batch;
  } cases[] = {
      {"magic 1, snappy, with a tombstone",
       from_hex("000000000000000c000000838d7f4b6f01020000018bcfe56805ffffffff0000006d82534e4150505900000000010000000100000059"
                "7000001901341952191dbd01000000018bcfe568011808026b30010f0063010c01091c000000189b1e6e71010905252c05000000026b"
                "31ffffffff00090120020000001b736fa60015243403000000026b3200000003656662"),
       from_hex("000000000000000b00000060ffffffff02aa11c0890042000000010000018bcfe6f2880000018bcfe56805ffffffffffffffffffff"
                "ffffffff0000000282534e415050590000000001000000010000001b1960140085aa0c00046b3101001a0089aa0c02046b3206656662"
                "00")},
      {"magic 0, lz4",
       from_hex("0000000000000015000000513577234e0003ffffffff0000004304224d1860401a340000001200010091140000001202c27a040f0091"
                "026b330000000263660e00b000001500000011e459fadb0d009000026b30000000016500000000"),
       from_hex("00000000000000140000004bffffffff02e1943e12000300000000ffffffffffffffffffffffffffffffffffffffffffffffffffff"
                "ffffffff0000000104224d186040820b00008014000000046b330463660000000000")},
  };
  Filter f;
  f.last("k0", 30);
  for (const auto& c : cases) {
    const FilteredBatch result = f.run(c.wrapper);
    EXPECT_EQ(f.out, c.batch) << c.name;
    EXPECT_EQ(result.fate, BatchFate::rewritten) << c.name;
    EXPECT_EQ(result.info.magic, 2) << c.name;
    EXPECT_EQ(result.info.base_offset, f.written().base_offset) << c.name;
    EXPECT_EQ(result.info.last_offset, f.written().last_offset()) << c.name;
  }
  // Nothing stays of it; but where the log ends there must be something.
  f.last("k3", 30);
  EXPECT_EQ(f.run(cases[1].wrapper).fate, BatchFate::removed);
  f.filter.settings.high_watermark = {22};
  EXPECT_EQ(f.run(cases[1].wrapper).fate, BatchFate::copied);
  EXPECT_EQ(f.out, cases[1].wrapper);
}

TEST(BatchFilter, DropsABatchOfWhichNothingStays) {
  Filter f;
  for (const char* key : {"a", "b", "c"}) f.last(key, 50);
  const FilteredBatch result = f.run(make_keyed(three()));
  EXPECT_EQ(result.fate, BatchFate::removed);
  EXPECT_TRUE(f.out.empty());
  EXPECT_EQ(result.records_read, 3);
  EXPECT_EQ(result.records_kept, 0);
}

TEST(BatchFilter, TheBatchAtTheHighWatermarkIsEmptiedOnly) {
  Filter f;
  for (const char* key : {"a", "b", "c"}) f.last(key, 50);
  f.filter.settings.high_watermark = {13};
  EXPECT_EQ(f.run(make_keyed(three())).fate, BatchFate::emptied);
  EXPECT_EQ(f.out.size(), record::kHeaderSize);
  EXPECT_EQ(f.written().last_offset(), Offset{12});
  EXPECT_EQ(f.written().record_count, 0);
}

TEST(BatchFilter, TheLastBatchOfALiveProducerIsEmptiedOnly) {
  for (const std::int64_t last_data : {12, 11}) {
    Filter f;
    for (const char* key : {"a", "b", "c"}) f.last(key, 50);
    f.producers[7] = {0, Offset{last_data}};
    KeyedBatch spec = three();
    spec.options = from_producer(7, 100, false);
    spec.options.base_offset = {10};
    const FilteredBatch result = f.run(make_keyed(spec));
    if (last_data == 12) {
      EXPECT_EQ(result.fate, BatchFate::emptied);
      EXPECT_EQ(f.written().last_sequence(), 102);
    } else {
      EXPECT_EQ(result.fate, BatchFate::removed);
    }
  }
}

TEST(BatchFilter, RecordsBehindTheMapStayWhateverTheyAre) {
  Filter f;
  f.last("a", 50);
  f.map.set_latest({10});
  KeyedBatch spec = three();
  spec.records[1].key.reset();
  EXPECT_EQ(f.run(make_keyed(spec)).fate, BatchFate::rewritten);
  EXPECT_EQ(f.offsets(), (std::vector<std::int64_t>{11, 12}));
}

TEST(BatchFilter, RecordsWithoutAKeyGo) {
  Filter f;
  f.last("z", 50);
  KeyedBatch spec = three();
  spec.records[1].key.reset();
  const FilteredBatch result = f.run(make_keyed(spec));
  EXPECT_EQ(f.offsets(), (std::vector<std::int64_t>{10, 12}));
  EXPECT_EQ(result.records_without_key, 1);
}

TEST(BatchFilter, ATombstoneGetsAHorizonAndGoesAfterIt) {
  Filter f;
  f.last("z", 50);
  KeyedBatch spec = three();
  spec.records[1].value.reset();
  EXPECT_EQ(f.run(make_keyed(spec)).fate, BatchFate::rewritten);
  EXPECT_EQ(f.offsets(), (std::vector<std::int64_t>{10, 11, 12}));
  const record::BatchHeader with_horizon = f.written();
  EXPECT_TRUE(with_horizon.has_delete_horizon());
  EXPECT_EQ(with_horizon.base_timestamp, kNow + DurationMs{1000});
  EXPECT_EQ(with_horizon.max_timestamp.value, kTime.value + 5);
  record::for_each_record(record::BatchView(f.out), [&](const record::RecordView& r) {
    EXPECT_EQ(r.timestamp, spec.records[static_cast<std::size_t>(r.offset_delta)].timestamp);
    return record::Walk::go_on;
  }).value();

  // Until then it is copied as it is, with the horizon it has.
  const ByteVector batch = f.out;
  f.filter.settings.now = kNow + DurationMs{999};
  const FilteredBatch before = f.run(batch);
  EXPECT_EQ(before.fate, BatchFate::copied);
  EXPECT_EQ(before.tombstones_removed, 0);
  f.filter.settings.now = kNow + DurationMs{1000};
  const FilteredBatch after = f.run(batch);
  EXPECT_EQ(after.fate, BatchFate::rewritten);
  EXPECT_EQ(after.tombstones_removed, 1);
  EXPECT_EQ(f.offsets(), (std::vector<std::int64_t>{10, 12}));
  EXPECT_TRUE(f.written().has_delete_horizon());
}

TEST(BatchFilter, CompressedBatchesKeepTheirCodec) {
  for (const auto codec : {record::Codec::gzip, record::Codec::snappy, record::Codec::lz4, record::Codec::zstd}) {
    Filter f;
    f.last("a", 50);
    KeyedBatch spec = three();
    spec.options.compression.codec = codec;
    EXPECT_EQ(f.run(make_keyed(spec)).fate, BatchFate::rewritten);
    EXPECT_EQ(f.written().codec_bits(), static_cast<std::uint8_t>(codec));
    EXPECT_EQ(f.offsets(), (std::vector<std::int64_t>{11, 12}));
  }
}

TEST(BatchFilter, LogAppendTimeStaysTheBatchs) {
  Filter f;
  f.last("a", 50);
  KeyedBatch spec = three();
  spec.options.timestamp_type = record::TimestampType::log_append_time;
  spec.options.log_append_time = kNow;
  f.run(make_keyed(spec));
  EXPECT_EQ(f.written().max_timestamp, kNow);
  EXPECT_EQ(f.written().base_timestamp, kNow) << "every record has the time of the append, and so the first";
  EXPECT_EQ(f.written().timestamp_type(), record::TimestampType::log_append_time);
}

// A client may write longer varints than need be, and attribute bits that mean nothing.
TEST(BatchFilter, OddFormsAreWrittenInKafkasForm) {
  Filter f;
  f.last("a", 50);
  ByteWriter records;
  const auto add = [&](int delta, char key, bool odd) {
    ByteWriter body;
    body.i8(odd ? 5 : 0);
    body.varlong(delta);
    body.varint(delta);
    body.varint(1);
    body.u8(static_cast<std::uint8_t>(key));
    if (odd) {
      body.u8(0x82);  // 1, in two bytes
      body.u8(0x00);
    } else {
      body.varint(1);
    }
    body.text("v");
    body.varint(1);
    body.varint(1);
    body.text("h");
    body.varint(odd ? -3 : -1);
    records.varint(static_cast<std::int32_t>(body.size()));
    records.bytes(body.view());
  };
  const auto batch_of = [&](std::int32_t count) {
    ByteVector batch(record::kHeaderSize);
    batch.insert(batch.end(), records.view().begin(), records.view().end());
    record::BatchHeader header;
    header.last_offset_delta = 1;
    header.base_timestamp = header.max_timestamp = kTime;
    header.record_count = count;
    record::write_header(batch, header);
    return batch;
  };
  add(0, 'a', false);
  add(1, 'b', true);
  f.run(batch_of(2));
  const ByteVector odd_result = f.out;
  records.clear();
  add(0, 'a', false);
  add(1, 'b', false);
  f.run(batch_of(2));
  EXPECT_EQ(odd_result, f.out);
  EXPECT_EQ(f.offsets(), (std::vector<std::int64_t>{1}));
}

TEST(BatchFilter, DamagedBatchesAreRefused) {
  Filter f;
  ByteVector batch = make_keyed(three());
  batch[70] ^= std::byte{1};
  const auto result = f.filter.filter(batch, f.out);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::corrupt);
}

// --- transactions ---

ByteVector transactional(std::int64_t producer, std::int64_t base, const char* key) {
  KeyedBatch spec;
  spec.options = from_producer(producer, 0, true);
  spec.options.base_offset = {base};
  spec.records = {{key, "v", kTime}};
  return make_keyed(spec);
}

ByteVector marker(std::int64_t producer, std::int64_t offset, bool aborts) {
  ByteVector batch = make_marker(producer, 0, aborts);
  record::set_last_offset(batch, {offset});
  return batch;
}

TEST(BatchFilter, AbortedDataGoesAndItsMarkerOutlivesIt) {
  Filter f;
  f.last("z", 50);
  f.transactions.add({{1, {10}, {12}, {10}}});
  EXPECT_EQ(f.run(transactional(1, 10, "a")).fate, BatchFate::removed);
  EXPECT_EQ(f.run(transactional(2, 11, "a")).fate, BatchFate::copied) << "another producer's";
  // Its data was met in this pass, so it stays as it is, and its entry in the transaction index too.
  const FilteredBatch kept = f.run(marker(1, 12, true));
  EXPECT_EQ(kept.fate, BatchFate::copied);
  ASSERT_TRUE(kept.aborted_entry.has_value());
  EXPECT_EQ(kept.aborted_entry->first_offset, Offset{10});
  EXPECT_EQ(f.run(marker(2, 13, false)).fate, BatchFate::copied);
}

TEST(BatchFilter, AMarkerWithoutDataGetsAHorizonAndGoesAfterIt) {
  for (const bool aborts : {true, false}) {
    Filter f;
    f.last("z", 50);
    if (aborts) f.transactions.add({{1, {10}, {12}, {10}}});
    const FilteredBatch first = f.run(marker(1, 12, aborts));
    EXPECT_EQ(first.fate, BatchFate::rewritten);
    EXPECT_FALSE(first.aborted_entry.has_value());
    EXPECT_TRUE(f.written().has_delete_horizon());
    EXPECT_TRUE(f.written().is_control());
    const ByteVector with_horizon = f.out;
    f.filter.settings.now = kNow + DurationMs{999};
    EXPECT_EQ(f.run(with_horizon).fate, BatchFate::copied);
    f.filter.settings.now = kNow + DurationMs{1000};
    EXPECT_EQ(f.run(with_horizon).fate, BatchFate::removed);
    // The last thing of a producer that is known by its marker alone.
    f.producers[1] = {0, {}};
    EXPECT_EQ(f.run(with_horizon).fate, BatchFate::emptied);
    EXPECT_EQ(f.run(ByteVector(f.out)).fate, BatchFate::emptied) << "and again";
    f.producers[1].epoch = 1;
    EXPECT_EQ(f.run(with_horizon).fate, BatchFate::removed);
  }
}

TEST(BatchFilter, AKeyLikeAMarkersDoesNotRemoveTheMarker) {
  Filter f;
  f.last(std::string("\0\0\0\1", 4), 50);
  f.run(transactional(1, 10, "a"));
  EXPECT_EQ(f.run(marker(1, 12, false)).fate, BatchFate::copied);
}

}  // namespace
}  // namespace cordwood::storage
