#include "storage/log_loader.h"
#include "storage/log_testing.h"
#include "storage/directory_files.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

// A log of three closed segments and an active one, and what it reads as.
struct ThreeSegments {
  World world;
  std::vector<record::BatchHeader> batches;
  std::vector<Offset> bases;
  ThreeSegments() {
    auto log = open_log(world, small_segments());
    for (int i = 0; log->segments().size() < 4; ++i) append(*log, {.timestamp = {i}});
    batches = read_all(*log, {0});
    for (const SegmentInfo& segment : log->segments()) bases.push_back(segment.base_offset);
    log->close_cleanly().value();
  }
  io::Path path(Offset base, std::string_view suffix) {
    return io::join(kDirectory, segment_file_name(base, suffix));
  }
  void copy(const io::Path& from, const io::Path& to) { put(*world.fs, to, content_of(*world.fs, from)); }
  // What a cleaner would have made of the first two segments: the batches of both in one file, under `suffix`.
  void write_merged(std::string_view suffix) {
    const std::string merged = content_of(*world.fs, path(bases[0], ".log")) + content_of(*world.fs, path(bases[1], ".log"));
    put(*world.fs, path(bases[0], ".log" + std::string(suffix)), merged);
    put(*world.fs, path(bases[0], ".index" + std::string(suffix)), "");
    put(*world.fs, path(bases[0], ".timeindex" + std::string(suffix)), "");
  }
  void expect_same_data(std::size_t segments) {
    auto log = open_log(world, small_segments());
    EXPECT_EQ(read_all(*log, {0}), batches);
    EXPECT_EQ(log->segments().size(), segments);
    for (const std::string& name : names_in(*world.fs)) {
      EXPECT_FALSE(name.ends_with(".swap") || name.ends_with(".cleaned") || name.ends_with(".deleted")) << name;
    }
  }
};

TEST(UnfinishedFiles, OnlyCleanedFilesMeanTheOldData) {
  ThreeSegments t;
  t.write_merged(".cleaned");
  t.expect_same_data(4);
}

TEST(UnfinishedFiles, SomeSwapsBesideACleanedFileMeanTheOldData) {
  ThreeSegments t;
  t.write_merged(".swap");
  t.world.fs->rename(t.path(t.bases[0], ".index.swap"), t.path(t.bases[0], ".index.cleaned")).value();
  t.expect_same_data(4);
}

TEST(UnfinishedFiles, AllSwapsMeanTheNewData) {
  ThreeSegments t;
  t.write_merged(".swap");
  t.expect_same_data(3);
}

TEST(UnfinishedFiles, AllSwapsWithSomeOldFilesGone) {
  ThreeSegments t;
  t.write_merged(".swap");
  for (const char* suffix : {".log", ".index", ".timeindex"}) {
    t.world.fs->rename(t.path(t.bases[0], suffix), t.path(t.bases[0], std::string(suffix) + ".deleted")).value();
  }
  t.world.fs->remove_file(t.path(t.bases[1], ".index")).value();
  t.expect_same_data(3);
}

TEST(UnfinishedFiles, PartlyRenamedSwapsAreFinished) {
  ThreeSegments t;
  t.write_merged(".swap");
  for (const char* suffix : {".log", ".index", ".timeindex"}) {
    t.world.fs->remove_file(t.path(t.bases[0], suffix)).value();
    t.world.fs->remove_file(t.path(t.bases[1], suffix)).value();
  }
  t.world.fs->rename(t.path(t.bases[0], ".log.swap"), t.path(t.bases[0], ".log")).value();
  t.expect_same_data(3);
}

// The cleaned segment keeps its base, and with it the snapshot there.
TEST(UnfinishedFiles, ASwapLeavesTheSnapshotOfItsBase) {
  ThreeSegments t;
  const io::Path snapshot = t.path(t.bases[1], ".snapshot");
  const std::string before = content_of(*t.world.fs, snapshot);
  for (const char* suffix : {".log", ".index", ".timeindex"}) {
    t.copy(t.path(t.bases[1], suffix), t.path(t.bases[1], std::string(suffix) + ".swap"));
  }
  t.expect_same_data(4);
  EXPECT_EQ(content_of(*t.world.fs, snapshot), before);
}

TEST(UnfinishedFiles, ALostSwapIndexIsMadeAnew) {
  ThreeSegments t;
  t.write_merged(".swap");
  t.world.fs->remove_file(t.path(t.bases[0], ".index.swap")).value();
  t.expect_same_data(3);
  EXPECT_GT(content_of(*t.world.fs, t.path(t.bases[0], ".index")).size(), 0u);
}

TEST(UnfinishedFiles, OtherNamesStay) {
  ThreeSegments t;
  put(*t.world.fs, io::join(kDirectory, "notes.txt"), "x");
  put(*t.world.fs, io::join(kDirectory, "whatever.deleted"), "x");
  t.expect_same_data(4);
  const auto names = names_in(*t.world.fs);
  EXPECT_NE(std::ranges::find(names, "notes.txt"), names.end());
}

// The name ends in ".deleted" and yet stays: it is the raft layer's.
TEST(UnfinishedFiles, DeletedCheckpointsStay) {
  ThreeSegments t;
  const io::Path checkpoint = io::join(kDirectory, "00000000000000000001-0000000001.checkpoint.deleted");
  put(*t.world.fs, checkpoint, "x");
  open_log(t.world, small_segments());
  EXPECT_EQ(content_of(*t.world.fs, checkpoint), "x");
}

TEST(UnfinishedFiles, OddNamesArePassedOverAndNamed) {
  for (const char* name : {"abc.log", "abc.index", "x.snapshot", "x.log.cleaned", "x.swap", "-5.log", "12.log", "1.timeindex"}) {
    ThreeSegments t;
    put(*t.world.fs, io::join(kDirectory, name), "not ours");
    auto log = open_log(t.world, small_segments());
    EXPECT_EQ(read_all(*log, {0}), t.batches) << name;
    EXPECT_EQ(log->segments().size(), 4u) << name;
    ASSERT_EQ(log->recovery().verdicts.size(), 1u) << name;
    EXPECT_EQ(log->recovery().verdicts[0].file, name);
    EXPECT_EQ(log->recovery().verdicts[0].action, RecoveryAction::passed_over);
    EXPECT_TRUE(t.world.logger.contains(name));
    EXPECT_EQ(content_of(*t.world.fs, io::join(kDirectory, name)), "not ours");
  }
}

}  // namespace
}  // namespace cordwood::storage
