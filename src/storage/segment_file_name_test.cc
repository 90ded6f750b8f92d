#include "storage/segment_file_name.h"

#include <gtest/gtest.h>

namespace cordwood::storage {
namespace {

TEST(SegmentFileName, SaysKindStateAndOffset) {
  struct Case {
    std::string_view name;
    SegmentFileKind kind;
    SegmentFileState state;
    std::optional<std::int64_t> offset;
  };
  using enum SegmentFileKind;
  const Case cases[] = {
      {"00000000000000000042.log", log, SegmentFileState::current, 42},
      {"00000000000000000042.index", offset_index, SegmentFileState::current, 42},
      {"00000000000000000042.timeindex", time_index, SegmentFileState::current, 42},
      {"00000000000000000042.txnindex", txn_index, SegmentFileState::current, 42},
      {"00000000000000000042.snapshot", snapshot, SegmentFileState::current, 42},
      {"00000000000000000042.timeindex.swap", time_index, SegmentFileState::swap, 42},
      {"00000000000000000042.log.cleaned", log, SegmentFileState::cleaned, 42},
      {"00000000000000000042.log.deleted", log, SegmentFileState::deleted, 42},
      {"anything.deleted", other, SegmentFileState::deleted, std::nullopt},
      {"00000000000000000007-0000000001.checkpoint.deleted", other, SegmentFileState::current, std::nullopt},
      {"00000000000000000007-0000000001.checkpoint", other, SegmentFileState::current, std::nullopt},
      {"12.log", log, SegmentFileState::current, std::nullopt},
      {"00000000000000000042.old.log", log, SegmentFileState::current, std::nullopt},
      {"00000000000000000042.swap", other, SegmentFileState::swap, std::nullopt},
      {"09223372036854775807.log", log, SegmentFileState::current, INT64_MAX},
      {"99999999999999999999.log", log, SegmentFileState::current, std::nullopt},  // beyond 64 bits
      {"-1.log", log, SegmentFileState::current, std::nullopt},
      {"+1.log", log, SegmentFileState::current, std::nullopt},
      {"abc.log", log, SegmentFileState::current, std::nullopt},
      {".log", log, SegmentFileState::current, std::nullopt},
      {"", other, SegmentFileState::current, std::nullopt},
      {"partition.metadata", other, SegmentFileState::current, std::nullopt},
      {"leader-epoch-checkpoint.tmp", other, SegmentFileState::current, std::nullopt},
  };
  for (const Case& c : cases) {
    const SegmentFileName parsed = parse_segment_file_name(c.name);
    EXPECT_EQ(parsed.kind, c.kind) << c.name;
    EXPECT_EQ(parsed.state, c.state) << c.name;
    EXPECT_EQ(parsed.offset.has_value(), c.offset.has_value()) << c.name;
    if (parsed.offset && c.offset) {
      EXPECT_EQ(parsed.offset->value, *c.offset) << c.name;
    }
  }
}

TEST(SegmentFileName, OddIsWhatLooksLikeOurs) {
  for (const char* name : {"abc.log", "12.log", "x.snapshot", ".timeindex", "x.log.cleaned", "x.swap", "-5.log"}) {
    EXPECT_TRUE(is_odd(parse_segment_file_name(name))) << name;
  }
  for (const char* name : {"00000000000000000042.log", "00000000000000000042.index.swap", "notes.txt", "abc.log.deleted",
                           "partition.metadata", "00000000000000000007-0000000001.checkpoint"}) {
    EXPECT_FALSE(is_odd(parse_segment_file_name(name))) << name;
  }
}

}  // namespace
}  // namespace cordwood::storage
