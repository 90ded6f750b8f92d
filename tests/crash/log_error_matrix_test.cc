// The error matrix: a seeded life of a log (append, roll, flush, deletion, retention, clean stop, reopening) in which call 1, 2,
// 3 ... fails, until a run passes untouched, with each errno that a disk has to offer and in each shape. After each run:
// what was promised is there, for a process that lives on (page cache kept) and after a power cut; the log opens on a
// healthy disk and goes on; every error was told with its call and its path.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "io/faulty_file_system.h"
#include "storage/directory_files.h"
#include "storage/log_testing.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

struct Case {
  const char* name;
  io::Fault fault;  // without fail_at
};

std::vector<Case> cases() {
  using Shape = io::Fault::Shape;
  using Repeat = io::Fault::Repeat;
  std::vector<Case> all;
  for (const Shape shape : {Shape::refuse, Shape::shorten, Shape::tear}) {
    for (const Repeat repeat : {Repeat::once, Repeat::from_then_on}) {
      all.push_back({"EIO", {.shape = shape, .repeat = repeat, .sys_errno = EIO}});
    }
  }
  for (const Shape shape : {Shape::refuse, Shape::shorten}) {
    for (const Repeat repeat : {Repeat::once, Repeat::from_then_on}) {
      all.push_back({"full disk", {.shape = shape, .repeat = repeat, .sys_errno = ENOSPC}});
    }
  }
  all.push_back({"read-only", {.repeat = Repeat::from_then_on, .sys_errno = EROFS}});
  all.push_back({"vanished directory", {.repeat = Repeat::from_then_on, .sys_errno = ENOENT}});
  for (const Repeat repeat : {Repeat::once, Repeat::from_then_on}) {
    all.push_back({"no descriptors", {.counted = io::FileCall::open, .repeat = repeat, .sys_errno = EMFILE}});
  }
  all.push_back({"failing fsync", {.counted = io::FileCall::sync, .repeat = Repeat::once, .sys_errno = EIO}});
  all.push_back({"failing fsync of a directory", {.counted = io::FileCall::sync_directory, .repeat = Repeat::once, .sys_errno = EIO}});
  all.push_back({"unreadable", {.counted = io::FileCall::read, .repeat = Repeat::from_then_on, .sys_errno = EIO}});
  return all;
}

// What was said to the outside.
struct Promise {
  std::vector<record::BatchHeader> appended;  // acknowledged, in order
  Offset durable_end{0};                      // acknowledged as durable
  Offset deleted_below{0};                    // may be gone
  std::vector<Error> errors;
};

constexpr std::int64_t kFlushEach = 4;

OpenOptions options_for(StopKind last_stop, const Promise& promise) {
  OpenOptions options = small_segments(last_stop);
  options.config.flush_messages = kFlushEach;
  options.config.retention_bytes = ByteCount{3000};
  options.config.file_delete_delay_ms = DurationMs{0};
  options.log_start_checkpoint = promise.deleted_below;
  return options;
}

class Life {
 public:
  Life(World& world, Promise& promise) : world_(world), promise_(promise) {}

  void run() {
    StopKind last_stop = StopKind::unclean;
    for (int era = 0; era < 3; ++era) {
      Result<std::shared_ptr<PartitionLog>> opened = PartitionLog::open(
          world_.environment(), kDirectory, {"t", PartitionId{0}}, options_for(last_stop, promise_));
      if (!opened) return note(opened.error());
      PartitionLog& log = **opened;
      log.set_high_watermark(log.log_end_offset());
      follow_sequence(log);
      if (Result<void> named = log.set_topic_id({4, 4}); !named) note(named.error());
      for (int i = 0; i < 11; ++i) step(log, i);
      Result<void> closed = log.close_cleanly();
      if (!closed) note(closed.error());
      last_stop = closed ? StopKind::clean : StopKind::unclean;
      if (closed) promise_.durable_end = std::max(promise_.durable_end, log.log_end_offset());
    }
  }

 private:
  void note(const Error& error) { promise_.errors.push_back(error); }

  // What failed may have been written all the same.
  void follow_sequence(const PartitionLog& log) {
    const std::vector<ProducerEntry> producers = log.active_producers();
    sequence_ = producers.empty() ? 0 : producers.front().last_sequence() + 1;
  }

  void step(PartitionLog& log, int i) {
    ByteVector batch = make_batch({.records = 1 + i % 3, .timestamp = world_.clock.now(), .producer_id = 1,
                                   .producer_epoch = 0, .sequence = sequence_, .value_size = 40});
    const AppendResult result = log.append_as_leader(batch, {0}, AppendOrigin::client);
    if (result.fault == AppendFault::none) {
      sequence_ += 1 + i % 3;
      promise_.appended.push_back(record::BatchView(batch).header());
      // flush.messages: whatever was flushed with it is promised as well.
      promise_.durable_end = std::max(promise_.durable_end, log.recovery_point());
      log.set_high_watermark(log.settled_end());
    } else {
      ASSERT_EQ(result.fault, AppendFault::storage_error);
      ASSERT_TRUE(result.error);
      note(*result.error);
      follow_sequence(log);
    }
    if (i % 5 == 4) {
      if (Result<void> flushed = log.flush(); flushed) {
        promise_.durable_end = std::max(promise_.durable_end, log.log_end_offset());
      } else {
        note(flushed.error());
      }
    }
    if (i == 6) {
      const Offset to{std::min(log.high_watermark().value, promise_.deleted_below.value + 2)};
      promise_.deleted_below = std::max(promise_.deleted_below, to);
      if (Result<void> moved = log.advance_log_start(to); !moved) note(moved.error());
    }
    if (i == 8) {
      Result<std::vector<RetentionVerdict>> retained = log.apply_retention(world_.clock.now());
      if (!retained) note(retained.error());
      promise_.deleted_below = std::max(promise_.deleted_below, log.log_start_offset());
      if (Result<void> removed = log.remove_retired_files(); !removed) note(removed.error());
    }
    Result<ReadResult> read = log.read({log.log_start_offset(), ByteCount{100}, true, ReadLimit::log_end});
    if (!read && read.error().code != Errc::out_of_range) note(read.error());
  }

  World& world_;
  Promise& promise_;
  std::int32_t sequence_ = 0;
};

// Everything promised from `deleted_below` on, up to `end`, is there; nothing else but what was appended.
void expect_kept(World& world, const Promise& promise, Offset end) {
  auto log = open_log(world, options_for(StopKind::unclean, promise));
  const std::vector<record::BatchHeader> found = read_all(*log, log->log_start_offset());
  for (const record::BatchHeader& header : promise.appended) {
    if (header.next_offset() <= promise.deleted_below || header.base_offset >= end) continue;
    ASSERT_NE(std::ranges::find(found, header), found.end()) << "offset " << header.base_offset.value << " is gone";
  }
  // Of two segments that no flush has reached a power cut may keep the later one: log_crash_test.cc.
  for (std::size_t i = 1; i < found.size(); ++i) {
    ASSERT_TRUE(found[i].base_offset == found[i - 1].next_offset() || found[i - 1].next_offset() >= end);
  }
  const Offset next_offset = log->log_end_offset();
  ASSERT_EQ(append(*log, {}).base_offset, next_offset) << "the log goes on";
}

void expect_named(const Promise& promise) {
  for (const Error& error : promise.errors) {
    const bool tells_where = error.message().find("/data") != std::string::npos || error.message().find("t-0") != std::string::npos;
    ASSERT_TRUE(tells_where) << error.message();
  }
}

// Every 7th call, beginning with another one for each kind of fault; CORDWOOD_EVERY_CALL has all of them tried.
TEST(LogErrorMatrix, EveryCallOfALifeFails) {
  const std::int64_t step = std::getenv("CORDWOOD_EVERY_CALL") != nullptr ? 1 : 7;
  std::int64_t begin = 0;
  for (const Case& one : cases()) {
    std::int64_t n = 1 + begin++ % step;
    for (;; n += step) {
      SCOPED_TRACE(testing::Message() << one.name << ", call " << n << ", shape " << static_cast<int>(one.fault.shape)
                                      << (one.fault.repeat == io::Fault::Repeat::once ? ", once" : ", from then on"));
      World world;
      world.fs->create_directories("/data").value();
      world.fs->sync_directory("/").value();
      io::FaultyFileSystem faulty(*world.memory);
      world.fs = &faulty;
      io::Fault fault = one.fault;
      fault.fail_at = n;
      faulty.arm(fault);
      Promise promise;
      Life(world, promise).run();
      const bool failed = faulty.has_failed();
      faulty.disarm();
      ASSERT_FALSE(testing::Test::HasFatalFailure());
      ASSERT_TRUE(failed || promise.errors.empty()) << promise.errors.front().message();
      expect_named(promise);

      World after_cut;
      after_cut.memory = world.memory->crash_clone(static_cast<std::uint64_t>(n));
      after_cut.fs = after_cut.memory.get();
      std::string told;
      for (const Error& error : promise.errors) told += error.message() + "\n";
      SCOPED_TRACE(testing::Message() << "durable below " << promise.durable_end.value << ", deleted below "
                                      << promise.deleted_below.value << ", errors told:\n" << told);
      {
        SCOPED_TRACE("after a power cut");
        expect_kept(after_cut, promise, promise.durable_end);
      }
      world.fs = world.memory.get();
      expect_kept(world, promise, Offset{INT64_MAX});
      if (testing::Test::HasFatalFailure()) return;
      if (!failed) break;
      ASSERT_LT(n, 5000);
    }
    EXPECT_GT(n, 2) << one.name << ": a life without calls shows nothing";
  }
}

// A full disk takes nothing and breaks nothing: the very same log goes on when there is room, without a hole.
TEST(LogErrorMatrix, FullDiskIsOnlyAPause) {
  for (const auto shape : {io::Fault::Shape::refuse, io::Fault::Shape::shorten}) {
    std::int64_t n = 1;
    for (;; ++n) {
      SCOPED_TRACE(testing::Message() << "call " << n << ", shape " << static_cast<int>(shape));
      World world;
      io::FaultyFileSystem faulty(*world.memory);
      world.fs = &faulty;
      auto log = open_log(world, small_segments());
      // What needs room: not fsync, which would mean that the disk lied.
      faulty.arm({.counted = io::FileCall::open | io::FileCall::write | io::FileCall::reserve, .fail_at = n, .shape = shape,
                  .sys_errno = ENOSPC});
      std::vector<record::BatchHeader> appended;
      int refused = 0;
      for (int i = 0; i < 30; ++i) {
        ByteVector batch = make_batch({.timestamp = {1'700'000'000'000 + i}, .producer_id = 1,
                                       .sequence = static_cast<std::int32_t>(appended.size()), .value_size = 40});
        const AppendResult result = log->append_as_leader(batch, {0}, AppendOrigin::client);
        if (result.fault == AppendFault::none) {
          appended.push_back(record::BatchView(batch).header());
          continue;
        }
        ASSERT_EQ(result.error->code, Errc::no_space);
        ASSERT_TRUE(log->is_short_of_space());
        ++refused;
      }
      ASSERT_LE(refused, 1);
      ASSERT_EQ(read_all(*log, {0}), appended);
      const bool failed = faulty.has_failed();
      faulty.disarm();
      ASSERT_TRUE(log->close_cleanly());
      log.reset();
      for (const StopKind stop : {StopKind::clean, StopKind::unclean}) {
        auto again = open_log(world, small_segments(stop));
        ASSERT_EQ(read_all(*again, {0}), appended);
        ASSERT_EQ(again->active_producers().at(0).batches.back().last_sequence, 29 - refused);
        const auto last = again->find_by_timestamp(appended.back().max_timestamp);
        ASSERT_TRUE(last && *last);
        ASSERT_EQ((*last)->offset, appended.back().base_offset);
      }
      if (!failed) break;
      ASSERT_LT(n, 1000);
    }
    EXPECT_GT(n, 30);
  }
}

// Either a reader of committed records gets nothing of the transaction, or is told that it was aborted.
void expect_nothing_aborted_served(const PartitionLog& log) {
  const Result<ReadResult> read = log.read({Offset{0}, ByteCount{10'000}, true, ReadLimit::last_stable});
  if (!read || read->range.size == ByteCount{0}) return;
  ASSERT_EQ(read->aborted, (std::vector<AbortedTransaction>{{1, {0}}}));
}

// The marker of a transaction needs room for its entry in the transaction index too: it is refused as a whole, and the log
// goes on. Only a disk that had promised the room and then has none (or cannot promise any) takes the log away.
TEST(LogErrorMatrix, AMarkerIsWrittenWithItsEntryOrNotAtAll) {
  for (const int failure : {ENOSPC, EMFILE}) {
    const io::FileCall counted = failure == EMFILE ? io::FileCall::open
                                                   : io::FileCall::open | io::FileCall::write | io::FileCall::reserve;
    int refused = 0, given_up = 0;
    for (std::int64_t n = 1;; ++n) {
      SCOPED_TRACE(testing::Message() << std::strerror(failure) << " at call " << n);
      World world;
      io::FaultyFileSystem faulty(*world.memory);
      world.fs = &faulty;
      auto log = open_log(world, small_segments());
      append(*log, {.producer_id = 1, .transactional = true});  // 0
      append(*log, {.producer_id = 2});                         // 1
      faulty.clear_trace();
      faulty.arm({.counted = counted, .fail_at = n, .sys_errno = failure});
      const AppendResult marked = append_marker(*log, 1, true);  // 2
      const bool failed = faulty.has_failed();
      faulty.disarm();
      expect_nothing_aborted_served(*log);
      ASSERT_FALSE(testing::Test::HasFatalFailure());
      const bool entry_failed = failed && !faulty.trace().empty() && faulty.trace().back().find(".txnindex") != std::string::npos &&
                                faulty.trace().back().starts_with("write");
      if (entry_failed) {
        ++given_up;
        ASSERT_EQ(marked.fault, AppendFault::storage_error);
        ASSERT_EQ(marked.error->code, Errc::io);
        ASSERT_FALSE(log->read({Offset{0}, ByteCount{10'000}, true, ReadLimit::last_stable}).has_value());
      } else if (marked.fault != AppendFault::none) {
        ++refused;
        ASSERT_EQ(marked.fault, AppendFault::storage_error);
        ASSERT_EQ(log->log_end_offset(), Offset{2});
        ASSERT_EQ(log->last_stable_offset(), Offset{0});
        ASSERT_EQ(append_marker(*log, 1, true).base_offset, Offset{2});
        ASSERT_EQ(log->last_stable_offset(), Offset{3});
        expect_nothing_aborted_served(*log);
      }
      log.reset();
      for (const StopKind stop : {StopKind::clean, StopKind::unclean}) {
        auto again = open_log(world, small_segments(stop));
        again->set_high_watermark(again->log_end_offset());
        ASSERT_EQ(again->last_stable_offset(), Offset{3});
        expect_nothing_aborted_served(*again);
      }
      if (testing::Test::HasFatalFailure()) return;
      if (!failed) break;
      ASSERT_LT(n, 100);
    }
    EXPECT_GE(refused, failure == EMFILE ? 1 : 3) << "the file, its room, the marker";
    EXPECT_EQ(given_up, failure == EMFILE ? 0 : 1);
  }
}

}  // namespace
}  // namespace cordwood::storage
