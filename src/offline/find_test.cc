#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offline/offline_testing.h"
#include "offline/record_walk.h"
#include "storage/segment_file_name.h"

namespace cordwood::offline {

extern const cli::Command find_command;

namespace {

using testing::HasSubstr;
using testing::StartsWith;

CommandRun find_in(const std::string& golden, std::vector<std::string> words) {
  io::MemFileSystem fs;
  load_golden(fs, golden);
  const auto before = files_below(fs, "/data");
  words.insert(words.begin(), "/data");
  CommandRun run = run_command(find_command, words, fs);
  EXPECT_EQ(files_below(fs, "/data"), before) << "find has changed the directory";
  return run;
}

TEST(Find, CountsTheRecordsOfEveryCodec) {
  for (const char* golden : {"codec-gzip", "codec-snappy", "codec-lz4", "codec-zstd"}) {
    EXPECT_EQ(find_in(golden, {"--count"}).out, "362\n") << golden;
  }
  EXPECT_EQ(find_in("legacy-after", {"--count"}).out, "15\n");
}

TEST(Find, FiltersByEveryProperty) {
  EXPECT_EQ(find_in("idempotent", {"--key", "k5", "--limit", "1"}).out,
            "g-idem-0@1 2023-11-14T22:13:19.986Z producer=0/0 key=k5 value=uudiebbthe-quick-brown-fox-lnphqyz\n");
  EXPECT_EQ(find_in("idempotent", {"--key", "6b35", "--key-form", "hex", "--count"}).out,
            find_in("idempotent", {"--key-matches", "^k5$", "--count"}).out);
  EXPECT_THAT(find_in("idempotent", {"--value-matches", "lnph(q|r)yz"}).out, StartsWith("g-idem-0@1 "));
  EXPECT_EQ(find_in("idempotent", {"--from-offset", "3", "--to-offset", "5", "--count"}).out, "2\n");
  EXPECT_EQ(find_in("idempotent", {"--producer-id", "99", "--count"}).out, "0\n");
  EXPECT_EQ(find_in("codec-zstd", {"--header", "n=1", "--count"}).out, "3\n");
  EXPECT_EQ(find_in("idempotent", {"--to-time", "2000-01-01", "--count"}).out, "0\n");
  EXPECT_EQ(find_in("idempotent", {"--min-size", "1g", "--count"}).out, "0\n");
}

TEST(Find, PrintsJsonCsvAndRaw) {
  EXPECT_EQ(find_in("idempotent", {"--limit", "1", "--json"}).out,
            "{\"topic\":\"g-idem\",\"partition\":0,\"offset\":0,\"timestamp_ms\":1700000000000,\"leader_epoch\":0,"
            "\"producer_id\":0,\"producer_epoch\":0,\"sequence\":0,\"transactional\":false,\"key\":\"k2\","
            "\"value\":\"rbikgiuthe-quick-brown-fox-bvmi\"}\n");
  EXPECT_EQ(find_in("idempotent", {"--limit", "1", "--format", "csv", "--keys", "hex"}).out,
            "topic,partition,offset,timestamp_ms,producer_id,key,value\n"
            "\"g-idem\",0,0,1700000000000,0,\"6b32\",\"rbikgiuthe-quick-brown-fox-bvmi\"\n");
  EXPECT_EQ(find_in("idempotent", {"--limit", "1", "--format", "raw"}).out, "rbikgiuthe-quick-brown-fox-bvmi\n");
}

TEST(Find, DecodesInternalTopics) {
  EXPECT_THAT(find_in("consumer-offsets", {"--value-matches", "note one"}).out,
              HasSubstr("\"group\":\"g-group-classic\",\"topic\":\"g-plain\",\"partition\":0,\"committed_offset\":3"));
  EXPECT_THAT(find_in("transaction-state", {"--json", "--limit", "1"}).out, HasSubstr("\"type\":\"transaction\""));
  EXPECT_THAT(find_in("fresh-kraft", {"__cluster_metadata", "--limit", "2"}).out, HasSubstr("\"FeatureLevelRecord\""));
}

TEST(Find, GoesOnBehindDamageAndTellsIt) {
  const CommandRun run = find_in("flip-closed-before", {"--count"});
  EXPECT_EQ(run.out, "95\n");
  EXPECT_THAT(run.err, HasSubstr("passed over: 83 bytes of /data/g-flip-closed-0/00000000000000000044.log at 142"));
}

TEST(Find, RefusesWhatMakesNoSense) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--key-matches", "("}, {"no-such-topic"}, {"g-idem:x"}, {"--from-time", "yesterday"}, {"--format", "segment"}}) {
    const CommandRun run = find_in("idempotent", words);
    EXPECT_EQ(run.code, 1) << words.front();
    EXPECT_EQ(run.out, "") << words.front();
    EXPECT_THAT(run.err, StartsWith("cordwood find: ")) << words.front();
  }
}

TEST(Find, ExtractsALogThatHoldsTheSameRecords) {
  for (const char* golden : {"transactions", "codec-zstd", "idempotent"}) {
    io::MemFileSystem fs;
    load_golden(fs, golden);
    const CommandRun run = run_command(find_command, {"/data", "--format", "segment", "--to", "/extract", "--key-matches", "k[1-3]"}, fs);
    ASSERT_EQ(run.code, 0) << run.err;
    const auto values = [&](const char* where) {
      return run_command(find_command, {where, "--format", "raw", "--key-matches", "k[1-3]"}, fs).out;
    };
    EXPECT_EQ(values("/extract"), values("/data")) << golden;
    EXPECT_EQ(run_command(find_command, {"/extract", "--count"}, fs).out, run_command(find_command, {"/data", "--count", "--key-matches", "k[1-3]"}, fs).out);
    EXPECT_EQ(run_command(find_command, {"/data", "--format", "segment", "--to", "/extract"}, fs).code, 1) << "over an extract";
  }
}

// Each byte of a file in turn is another one: nothing crashes, and never is there more than without the damage.
TEST(Find, SurvivesEveryFlippedByte) {
  io::MemFileSystem fs;
  load_golden(fs, "idempotent");
  const io::Path path = "/data/g-idem-0/00000000000000000000.log";
  const std::string whole(as_text(io::read_file(fs, path).value()));
  const std::size_t few = std::min<std::size_t>(whole.size(), 700);
  for (std::size_t i = 0; i < few; ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x5a);
    put_file(fs, path, damaged);
    const CommandRun run = run_command(find_command, {"/data", "--count"}, fs);
    EXPECT_EQ(run.code, 0);
    EXPECT_LE(std::stoi(run.out), 67) << "byte " << i;
    EXPECT_GE(std::stoi(run.out), 40) << "byte " << i;
  }
}

// Small pieces and many threads give the order of the log.
TEST(RecordWalk, PiecesComeInOrderAndCoverEverything) {
  io::MemFileSystem fs;
  load_golden(fs, "codec-gzip");
  const DataDirectory data = open_data_directory(fs, "/data").value();
  PiecePlan plan(fs, choose(data, {}).value(), {}, ByteCount{1});
  const std::atomic<bool> interrupted = false;
  std::vector<std::int64_t> offsets;
  int pieces = 0;
  for_each_piece(
      plan, 4, interrupted,
      [](const Piece& piece) {
        std::vector<std::int64_t> found;
        walk_entries(*piece.file, piece.from, piece.end, piece.on_disk().base_offset,
                     [&](BytesView entry, const record::EntryInfo& info, FilePosition) {
                       walk_records_of(entry, info, [&](const record::RecordView& record) {
                         found.push_back(record.offset.value);
                         return record::Walk::go_on;
                       }).value();
                       return record::Walk::go_on;
                     })
            .value();
        return found;
      },
      [&](const Piece&, std::vector<std::int64_t> found) {
        ++pieces;
        offsets.insert(offsets.end(), found.begin(), found.end());
        return record::Walk::go_on;
      });
  EXPECT_EQ(offsets.size(), 362U);
  EXPECT_TRUE(std::ranges::is_sorted(offsets));
  EXPECT_GT(pieces, 3);
}

TEST(RecordWalk, StartsAtTheIndexedBatch) {
  io::MemFileSystem fs;
  load_golden(fs, "rolled-size");
  const DataDirectory data = open_data_directory(fs, "/data").value();
  for (const PartitionOnDisk& partition : data.partitions) {
    for (std::int64_t from = 0; from < 30; ++from) {
      PiecePlan plan(fs, {&partition}, {Offset{from}, Offset{from + 1}});
      bool seen = false;
      while (const auto piece = plan.next()) {
        walk_entries(*piece->file, piece->from, piece->end, piece->on_disk().base_offset,
                     [&](BytesView, const record::EntryInfo& info, FilePosition) {
                       seen = seen || (info.base_offset.value <= from && info.last_offset.value >= from);
                       return record::Walk::go_on;
                     })
            .value();
      }
      EXPECT_TRUE(seen) << partition.partition.to_string() << " offset " << from;
    }
  }
}

}  // namespace
}  // namespace cordwood::offline
