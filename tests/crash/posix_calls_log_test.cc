// A log on real files whose system calls are interrupted and cut short: the same bytes in every file as without, and a disk that
// fills up in the middle of any write loses nothing.
#include <cerrno>
#include <map>

#include "io/posix_calls_testing.h"
#include "io/temporary_directory_testing.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

using Files = std::map<std::string, std::string>;

Files files_in(const io::Path& directory) {
  io::PosixFileSystem fs;
  Files files;
  for (const io::DirectoryEntry& entry : fs.list(directory).value()) {
    const ByteVector bytes = io::read_file(fs, io::join(directory, entry.name)).value();
    files[entry.name] = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  return files;
}

OpenOptions options_for(StopKind stop) {
  OpenOptions options = small_segments(stop);
  options.config.file_delete_delay_ms = DurationMs{0};
  return options;
}

// Appends of several kinds over three openings, rolls, flushes, a moved log start, a truncation, aborted transactions.
std::vector<record::BatchHeader> live(World& world, const io::Path& directory) {
  std::int32_t sequence = 0;
  std::vector<record::BatchHeader> found;
  for (const StopKind stop : {StopKind::unclean, StopKind::clean, StopKind::unclean}) {
    auto log = open_log(world, options_for(stop), directory);
    log->set_high_watermark(log->log_end_offset());
    log->set_topic_id({4, 4}).value();
    for (int i = 0; i < 14; ++i) {
      const AppendResult result = append(*log, {.records = 1 + i % 3, .producer_id = 1, .sequence = sequence, .value_size = 40});
      EXPECT_EQ(result.fault, AppendFault::none);
      sequence += 1 + i % 3;
    }
    append(*log, {.producer_id = 2, .producer_epoch = static_cast<std::int16_t>(sequence), .transactional = true});
    EXPECT_EQ(append_marker(*log, 2, true, static_cast<std::int16_t>(sequence)).fault, AppendFault::none);
    log->flush().value();
    log->advance_log_start(Offset{log->log_start_offset().value + 3}).value();
    log->truncate_to(log->log_end_offset() + OffsetDelta{-1}).value();
    append(*log, {.producer_id = 3, .producer_epoch = static_cast<std::int16_t>(sequence), .value_size = 200});
    log->remove_retired_files().value();
    found = read_all(*log, log->log_start_offset());
    if (stop == StopKind::unclean && sequence < 50) log->close_cleanly().value();
  }
  return found;
}

struct Outcome {
  Files files;
  std::vector<record::BatchHeader> batches;
  std::map<std::string, std::int64_t> calls;
};

Outcome outcome_of(const io::Disturbance& disturbance) {
  io::PosixFileSystem fs;
  io::TemporaryDirectory home;
  World world;
  world.fs = &fs;
  Outcome outcome;
  {
    io::DisturbedCalls disturbed(disturbance);
    outcome.batches = live(world, home / "t-0");
    outcome.calls = disturbed.calls();
  }
  outcome.files = files_in(home / "t-0");
  return outcome;
}

TEST(PosixCallsOfALog, InterruptionsAndShortCountsChangeNothing) {
  const Outcome undisturbed = outcome_of({});
  ASSERT_GT(undisturbed.files.size(), 6u);
  ASSERT_GT(undisturbed.batches.size(), 30u);
  for (const io::Disturbance& disturbance :
       {io::Disturbance{.interruptions = 2}, io::Disturbance{.at_most = 1}, io::Disturbance{.interruptions = 1, .at_most = 60},
        io::Disturbance{.at_most = 61}, io::Disturbance{.interruptions = 3, .at_most = 7}}) {
    SCOPED_TRACE(testing::Message() << disturbance.interruptions << " interruptions, " << disturbance.at_most << " bytes a call");
    const Outcome disturbed = outcome_of(disturbance);
    EXPECT_EQ(disturbed.batches, undisturbed.batches);
    ASSERT_EQ(disturbed.files.size(), undisturbed.files.size());
    for (const auto& [name, content] : undisturbed.files) EXPECT_TRUE(disturbed.files.at(name) == content) << name;
    for (const char* name : {"open", "pread", "pwritev", "fsync", "fdatasync"}) {
      EXPECT_GT(disturbed.calls.at(name), 0) << name;
    }
    EXPECT_GT(disturbed.calls.at("pwritev"), undisturbed.calls.at("pwritev"));
  }
}

// The second call of a write that was cut short, or the first one, finds the disk full.
TEST(PosixCallsOfALog, ADiskThatFillsUpInsideAWriteLosesNothing) {
  for (const std::size_t at_most : {std::size_t{50}, SIZE_MAX}) {
    for (std::int64_t n = 1;; ++n) {
      SCOPED_TRACE(testing::Message() << "pwritev " << n << " of " << at_most << " bytes");
      io::PosixFileSystem fs;
      io::TemporaryDirectory home;
      World world;
      world.fs = &fs;
      auto log = open_log(world, options_for(StopKind::clean), home / "t-0");
      std::vector<record::BatchHeader> appended;
      const auto append_one = [&] {
        ByteVector batch = make_batch({.producer_id = 1, .sequence = static_cast<std::int32_t>(appended.size()), .value_size = 90});
        const AppendResult result = log->append_as_leader(batch, {0}, AppendOrigin::client);
        if (result.fault == AppendFault::none) appended.push_back(record::BatchView(batch).header());
        return result;
      };
      bool refused = false;
      {
        io::DisturbedCalls disturbed({.at_most = at_most, .fail_from = n, .sys_errno = ENOSPC, .only = "pwritev"});
        for (int i = 0; i < 12 && !refused; ++i) {
          const AppendResult result = append_one();
          refused = result.fault != AppendFault::none;
          if (refused) {
            ASSERT_EQ(result.error->code, Errc::no_space) << result.error->message();
          }
        }
      }
      for (int i = 0; i < 3; ++i) ASSERT_EQ(append_one().fault, AppendFault::none) << "there is room again";
      ASSERT_EQ(read_all(*log, {0}), appended);
      log.reset();
      auto again = open_log(world, options_for(StopKind::unclean), home / "t-0");
      ASSERT_EQ(read_all(*again, {0}), appended);
      if (!refused) break;
      ASSERT_LT(n, 200);
    }
  }
}

}  // namespace
}  // namespace cordwood::storage
