#include "storage/checkpoint_file.h"

#include <gtest/gtest.h>

#include "io/faulty_file_system.h"
#include "io/memory_file_system.h"

namespace cordwood::storage {
namespace {

struct CheckpointTest : testing::Test {
  io::MemFileSystem fs;
  void put(std::string_view text) { io::write_file_atomically(fs, "/f", as_bytes(text)).value(); }
  std::string text() {
    ByteVector bytes = io::read_file(fs, "/f").value();
    return std::string(as_text(bytes));
  }
  // "topic-0=5 ..." or the code of the error.
  std::string offsets() {
    auto read = read_offset_checkpoint(fs, "/f");
    if (!read) return fmt::format("<{}>", to_string(read.error().code));
    std::string all;
    for (const auto& [partition, offset] : *read) all += fmt::format("{}={} ", partition.to_string(), offset);
    return all;
  }
  std::string epochs() {
    auto read = read_epoch_checkpoint(fs, "/f");
    if (!read) return fmt::format("<{}>", to_string(read.error().code));
    std::string all;
    for (EpochEntry e : *read) all += fmt::format("{}@{} ", e.epoch, e.start_offset);
    return all;
  }
};

struct Case {
  const char *text, *expected;
};

// Each was given to Kafka 4.4.0's own reader. The two last ones it takes and we do not: nothing writes them.
TEST_F(CheckpointTest, ReadsOffsetsAsKafkaDoes) {
  for (Case c : {
           Case{"", ""},
           {"0\n", ""},
           {"0", ""},
           {"0\n0\n", ""},
           {"0\n0", ""},
           {"00\n0\n", ""},
           {"0\r0\r", ""},
           {"0\n1\nt 0 5\n", "t-0=5 "},
           {"0\n1\nt 0 5", "t-0=5 "},
           {"0\n1\nt 0 5\r", "t-0=5 "},
           {"0\r\n1\r\nt 0 5\r\n", "t-0=5 "},
           {"0\n1\nt  0\t5 \n", "t-0=5 "},
           {"0\n2\nt 0 5\nt 0 6\n", "t-0=6 "},
           {"0\n1\nt +1 +5\n", "t-1=5 "},
           {"0\n1\nt 0 -5\n", "t-0=-5 "},
           {"0\n2\nb.c-d 11 9223372036854775807\na 0 0\n", "a-0=0 b.c-d-11=9223372036854775807 "},
           {"1\n0\n", "<corrupt>"},
           {"x\n0\n", "<corrupt>"},
           {" 0\n0\n", "<corrupt>"},
           {"0\nx\n", "<corrupt>"},
           {"0\n-1\n", "<corrupt>"},
           {"0\n0\n\n", "<corrupt>"},
           {"0\n1\nt 0 5\n\n", "<corrupt>"},
           {"0\n1\n t 0 5\n", "<corrupt>"},
           {"0\n1\nt 0\n", "<corrupt>"},
           {"0\n1\nt 0 5 6\n", "<corrupt>"},
           {"0\n2\nt 0 5\n", "<corrupt>"},
           {"0\n1\nt 0 5\nt 1 6\n", "<corrupt>"},
           {"0\n1\nt x 5\n", "<corrupt>"},
           {"0\n1\nt 0 x\n", "<corrupt>"},
           {"0\n1\nt 0 5x\n", "<corrupt>"},
           {"0\n1\nt 0 +-5\n", "<corrupt>"},
           {"0\n1\nt 2147483648 5\n", "<corrupt>"},
           {"0\n1\nt 0 9223372036854775808\n", "<corrupt>"},
           {"0\n2147483648\n", "<corrupt>"},
       }) {
    put(c.text);
    EXPECT_EQ(offsets(), c.expected) << "'" << c.text << "'";
  }
}

TEST_F(CheckpointTest, ReadsEpochs) {
  for (Case c : {
           Case{"", ""},
           {"0\n0\n", ""},
           {"0\n2\n0 0\n3 7\n", "0@0 3@7 "},
           {"0\n2\n3 7\n0 0\n", "3@7 0@0 "},
           {"0\n1\n1 5 6\n", "<corrupt>"},
           {"0\n1\n1\n", "<corrupt>"},
           {"0\n1\n-1 5\n", "<corrupt>"},
           {"0\n1\n1 -5\n", "<corrupt>"},
           {"0\n3\n0 0\n3 7\n", "<corrupt>"},
       }) {
    put(c.text);
    EXPECT_EQ(epochs(), c.expected) << "'" << c.text << "'";
  }
}

TEST_F(CheckpointTest, AnErrorNamesFileAndLine) {
  put("0\n2\nt 0 5\nt one 6\n");
  auto read = read_offset_checkpoint(fs, "/f");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().what, "/f, line 4: malformed entry 't one 6'");
}

TEST_F(CheckpointTest, AnAbsentFileHasNoEntries) {
  EXPECT_EQ(offsets(), "");
  EXPECT_EQ(epochs(), "");
}

TEST_F(CheckpointTest, Writes) {
  write_offset_checkpoint(fs, "/f", {}).value();
  EXPECT_EQ(text(), "0\n0\n");
  write_offset_checkpoint(fs, "/f", {{{"t", {1}}, {7}}, {{"t", {0}}, {5}}, {{"__a", {2}}, {0}}}).value();
  EXPECT_EQ(text(), "0\n3\n__a 2 0\nt 0 5\nt 1 7\n");
  EXPECT_EQ(offsets(), "__a-2=0 t-0=5 t-1=7 ");
  write_epoch_checkpoint(fs, "/f", {}).value();
  EXPECT_EQ(text(), "0\n0\n");
  write_epoch_checkpoint(fs, "/f", {{{0}, {0}}, {{4}, {17}}}).value();
  EXPECT_EQ(text(), "0\n2\n0 0\n4 17\n");
}

TEST_F(CheckpointTest, IsOldOrNewAfterAPowerCutAtAnyInstant) {
  write_offset_checkpoint(fs, "/f", {{{"t", {0}}, {1}}}).value();
  for (std::int64_t n = 1;; ++n) {
    auto disk = fs.process_crash_clone();
    io::FaultyFileSystem faulty(*disk);
    faulty.arm({.fail_at = n, .repeat = io::Fault::Repeat::from_then_on});
    Result<void> written = write_offset_checkpoint(faulty, "/f", {{{"t", {0}}, {2}}});
    EXPECT_EQ(written.has_value(), !faulty.has_failed());
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      auto after = disk->crash_clone(seed);
      auto read = read_offset_checkpoint(*after, "/f");
      ASSERT_TRUE(read) << read.error().message();
      Offset offset = read->at({"t", {0}});
      EXPECT_TRUE(offset.value == 2 || (!written && offset.value == 1)) << "call " << n << ", seed " << seed;
    }
    if (!faulty.has_failed()) break;
    ASSERT_LT(n, 20);
  }
}

}  // namespace
}  // namespace cordwood::storage
