#include "record/control_record.h"

#include <gtest/gtest.h>

#include "record/builder.h"
#include "record/record_testing.h"

namespace cordwood::record {
namespace {

MarkerToWrite some_marker() {
  return {.offset = {42},
          .partition_leader_epoch = 7,
          .producer_id = {4000},
          .producer_epoch = {2},
          .type = ControlType::commit,
          .coordinator_epoch = 3,
          .timestamp = kSomeTime};
}

TEST(Marker, IsWhatKafkaWrites) {
  ByteVector bytes = make_marker_batch(some_marker());
  EXPECT_EQ(bytes.size(), 78u);
  EXPECT_EQ(to_hex(bytes), to_hex(golden("commit_marker")));
}

TEST(Marker, ReadsBack) {
  for (ControlType type : {ControlType::abort, ControlType::commit}) {
    MarkerToWrite marker = some_marker();
    marker.type = type;
    ByteVector bytes = make_marker_batch(marker);
    std::optional<MarkerBatch> read = read_marker(BatchView(bytes)).value();
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->type, type);
    EXPECT_EQ(read->marker, (EndTransactionMarker{0, 3}));
  }
}

TEST(Marker, AnEmptiedControlBatchHasNone) {
  ByteVector bytes = make_empty_batch(read_header(golden("commit_marker")).value());
  EXPECT_TRUE(read_header(bytes).value().is_control());
  EXPECT_FALSE(read_marker(BatchView(bytes)).value().has_value());
}

TEST(ControlKey, Table) {
  struct {
    const char* bytes;
    std::optional<ControlKey> key;
  } cases[] = {
      {"0000 0000", ControlKey{0, 0, ControlType::abort}},
      {"0000 0001", ControlKey{0, 1, ControlType::commit}},
      {"0000 0002", ControlKey{0, 2, ControlType::leader_change}},
      {"0000 0006", ControlKey{0, 6, ControlType::kraft_voters}},
      {"0000 0007", ControlKey{0, 7, ControlType::unknown}},
      {"0000 ffff", ControlKey{0, -1, ControlType::unknown}},
      {"7fff 0001 aabb", ControlKey{32767, 1, ControlType::commit}},
      {"ffff 0001", std::nullopt},
      {"0000 00", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& c : cases) {
    Result<ControlKey> key = parse_control_key(from_hex(c.bytes));
    EXPECT_EQ(key.has_value(), c.key.has_value()) << c.bytes;
    if (key && c.key) {
      EXPECT_EQ(*key, *c.key) << c.bytes;
    }
  }
}

TEST(EndTransactionMarkerValue, Table) {
  struct {
    const char* bytes;
    std::optional<EndTransactionMarker> value;
  } cases[] = {
      {"0000 00000003", EndTransactionMarker{0, 3}},
      {"0005 ffffffff 00", EndTransactionMarker{5, -1}},
      {"8000 00000003", std::nullopt},
      {"0000 000000", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& c : cases) {
    Result<EndTransactionMarker> value = parse_end_transaction_marker(from_hex(c.bytes));
    EXPECT_EQ(value.has_value(), c.value.has_value()) << c.bytes;
    if (value && c.value) {
      EXPECT_EQ(*value, *c.value) << c.bytes;
    }
  }
}

TEST(ReadMarker, WhatIsNoMarker) {
  struct {
    const char* name;
    const char* record;
    const char* result;
  } cases[] = {
      {"an unknown type is passed on", "14 00 00 00 08 00000009 01 00", "UNKNOWN"},
      {"a leader change, its value unread", "16 00 00 00 08 00000002 02 ff 00", "LEADER_CHANGE"},
      {"no key", "0c 00 00 00 01 01 00", "a control record has no key"},
      {"a short key", "10 00 00 00 04 0000 01 00", "a control record's key has 2 bytes"},
      {"no value", "14 00 00 00 08 00000001 01 00", "a transaction marker has no value"},
      {"a short value", "18 00 00 00 08 00000001 04 0000 00", "a transaction marker's value has 2 bytes"},
  };
  for (const auto& c : cases) {
    ByteVector bytes = batch_of(1, c.record);
    Result<std::optional<MarkerBatch>> read = read_marker(BatchView(bytes));
    EXPECT_EQ(read ? to_string(read.value()->type) : read.error().what, c.result) << c.name;
  }
}

TEST(ControlType, Names) {
  EXPECT_STREQ(to_string(ControlType::abort), "ABORT");
  EXPECT_STREQ(to_string(ControlType::snapshot_footer), "SNAPSHOT_FOOTER");
  EXPECT_STREQ(to_string(ControlType::unknown), "UNKNOWN");
}

}  // namespace
}  // namespace cordwood::record
