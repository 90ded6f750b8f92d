// Every kind of file of a log directory, damaged in every way, after every kind of stop: what a start makes of it is written down in
// docs/formats/damage.md, and no cell loses a record that can still be read, gives a wrong answer or shows an aborted one.
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "base/source_path_testing.h"
#include "storage/directory_files.h"
#include "storage/log_manager.h"
#include "storage/log_testing.h"
#include "storage/readable_batches.h"

namespace cordwood::storage {
namespace {

using namespace testing_support;

const io::Path kRoot = "/d";
const io::Path kLog = "/d/t-0";
const TopicPartition kPartition{"t", PartitionId{0}};
constexpr Uuid kTopicId{7, 7};

LogConfig config() {
  LogConfig config;
  config.segment_bytes = ByteCount{12'000};
  config.segment_index_bytes = ByteCount{4000};
  config.index_interval_bytes = ByteCount{600};
  return config;
}

enum class Formatted { no, yes };

// Null when the start is refused.
std::unique_ptr<LogManager> open_manager(World& world, Formatted formatted = Formatted::yes) {
  LogManagerOptions options;
  options.log_dirs = {kRoot};
  options.recovery_threads_per_dir = 1;
  auto manager = LogManager::open(world.environment(), options);
  if (!manager) return nullptr;
  if (formatted == Formatted::no) (*manager)->format("cluster", NodeId{1}).value();
  LogManager::LoadCallbacks callbacks;
  callbacks.config_of = [](const std::string&) { return config(); };
  callbacks.claim = [](const TopicPartition&, std::optional<Uuid> id, Uuid) {
    return !id || *id == kTopicId ? DirectoryClaim::ours : DirectoryClaim::stray;
  };
  if (Result<void> loaded = (*manager)->load(callbacks); !loaded) {
    world.logger.error("refused: {}", loaded.error().message());
    return nullptr;
  }
  return std::move(*manager);
}

// --- what a directory holds and what a log answers ---

using Batch = std::pair<std::int64_t, std::uint32_t>;  // base offset, checksum

std::set<Batch> batches_in_file(std::string_view content, Offset base) {
  std::set<Batch> found;
  io::MemFileSystem one;
  put(one, "/f", content);
  auto file = one.open("/f", io::OpenMode::read).value();
  for (const ReadableRun& run : find_readable(*file, FilePosition{0}, FilePosition{static_cast<std::int64_t>(content.size())}, base).value()) {
    BytesView rest = as_bytes(content).subspan(static_cast<std::size_t>(run.start.value), static_cast<std::size_t>((run.end - run.start).value));
    while (!rest.empty()) {
      const record::EntryInfo entry = record::check_entry(rest).value();
      found.emplace(entry.base_offset.value, entry.header->crc);
      rest = rest.subspan(static_cast<std::size_t>(entry.size.value));
    }
  }
  return found;
}

// In the .log files of the directory, and of what is kept beside them.
std::set<Batch> readable_batches(io::FileSystem& fs, const io::Path& directory = kRoot) {
  std::set<Batch> found;
  for (const auto& [path, content] : files_in(fs, directory)) {
    const std::string name(io::file_name(path));
    if (name.find(".log") == 20) found.merge(batches_in_file(content, {std::stoll(name.substr(0, 20))}));
  }
  return found;
}

// What is served, from the log start to the end or to the first batch that a client would refuse.
std::vector<Batch> served_batches(const PartitionLog& log) {
  std::vector<Batch> served;
  Offset from = log.log_start_offset();
  while (true) {
    const auto read = log.read({from, ByteCount{1'000'000}, true, ReadLimit::log_end});
    if (!read || read->range.size == ByteCount{0}) return served;
    ByteVector bytes(static_cast<std::size_t>(read->range.size.value));
    EXPECT_EQ(read->range.source->read_at(read->range.position, bytes).value(), bytes.size());
    for (BytesView rest = bytes; !rest.empty();) {
      const Result<record::EntryInfo> entry = record::check_entry(rest);
      if (!entry) return served;
      served.emplace_back(entry->base_offset.value, entry->header->crc);
      from = next(entry->last_offset);
      rest = rest.subspan(static_cast<std::size_t>(entry->size.value));
    }
  }
}

// The offsets of the data batches that a reader of committed records is shown.
std::vector<std::int64_t> committed_batches(const PartitionLog& log) {
  std::vector<std::int64_t> shown;
  Offset from = log.log_start_offset();
  while (true) {
    // Small reads, so that each one's list of aborted transactions counts.
    const auto read = log.read({from, ByteCount{1200}, true, ReadLimit::last_stable});
    EXPECT_TRUE(read.has_value()) << read.error().message();
    if (!read || read->range.size == ByteCount{0}) return shown;
    for (const record::BatchHeader& header : batches_in(read->range)) {
      from = header.next_offset();
      const bool aborted = header.is_transactional() && std::ranges::any_of(read->aborted, [&](const AbortedTransaction& t) {
        return t.producer_id == header.producer_id && t.first_offset <= header.base_offset;
      });
      if (!aborted && !header.is_control()) shown.push_back(header.base_offset.value);
    }
  }
}

// --- the directory that is damaged ---

enum class Stop { clean, killed, killed_after_flush };

struct Original {
  World world;
  std::vector<std::string> bases;      // of the segments, 20 digits
  std::vector<Batch> served;
  std::vector<std::int64_t> committed;
  std::map<std::int64_t, TimestampMs> times;  // of each record, which ascend
};

TimestampMs time_of(std::int64_t offset) { return {1'700'000'000'000 + offset * 10}; }

std::unique_ptr<Original> make_original(Stop stop) {
  auto original = std::make_unique<Original>();
  World& world = original->world;
  world.clock.set(time_of(0));
  world.fs->create_directories(kRoot).value();
  auto manager = open_manager(world, Formatted::no);
  auto log = manager->get_or_create(kPartition, kTopicId, config()).value();
  std::int32_t sequence[4] = {};
  const auto add = [&](std::int64_t pid, bool transactional, std::int32_t epoch) {
    append(*log, {.timestamp = time_of(log->log_end_offset().value), .producer_id = pid,
                  .sequence = pid < 0 ? 0 : sequence[pid]++, .transactional = transactional, .value_size = 330},
           AppendOrigin::client, {epoch});
  };
  for (int round = 0; round < 10; ++round) {
    const std::int32_t epoch = round / 2;
    for (int i = 0; i < 6; ++i) add(-1, false, epoch);
    for (int i = 0; i < 2; ++i) {
      add(1, true, epoch);
      add(2, true, epoch);
      add(3, false, epoch);
    }
    append_marker(*log, 1, true);
    append_marker(*log, 2, round % 3 == 0);
    if (round == 8 && stop == Stop::killed_after_flush) {
      log->flush().value();
      manager->write_checkpoints().value();
    }
  }
  for (const SegmentInfo& segment : log->segments()) original->bases.push_back(segment_file_name(segment.base_offset, ""));
  original->served = served_batches(*log);
  original->committed = committed_batches(*log);
  if (stop == Stop::clean) {
    manager->shut_down(5).value();
  } else {
    if (stop == Stop::killed) manager->write_checkpoints().value();
    manager->abandon();
  }
  log.reset();
  manager.reset();
  if (stop == Stop::killed) put(*world.fs, "/d/recovery-point-offset-checkpoint", "0\n0\n");
  world.memory->sync_everything();
  return original;
}

// --- damage ---

using Change = std::function<void(std::string&)>;

// Every variant of one way to damage a file of this content; `other` is that of another file of its kind, if there is one.
std::vector<Change> changes(const std::string& damage, const std::string& content, const std::string& other) {
  const std::size_t size = content.size();
  std::vector<Change> all;
  if (damage == "one bit") {
    for (const std::size_t at : {std::size_t{0}, size / 3, size / 2, size - 1}) {
      if (at < size) all.push_back([at](std::string& c) { c[at] = static_cast<char>(c[at] ^ 2); });
    }
  } else if (damage == "zero page") {
    for (const std::size_t at : {std::size_t{0}, size / 2}) {
      all.push_back([at](std::string& c) {
        for (std::size_t i = at; i < std::min(c.size(), at + 512); ++i) c[i] = '\0';
      });
    }
  } else if (damage == "truncated") {
    for (const std::size_t to : {std::size_t{0}, size / 2, size - std::min<std::size_t>(size, 34), size - 1}) {
      if (to < size) all.push_back([to](std::string& c) { c.resize(to); });
    }
  } else if (damage == "block twice") {
    const std::size_t length = std::min<std::size_t>(size / 2, 512);
    all.push_back([=](std::string& c) { c.insert(size / 2, c.substr(size / 2 - length, length)); });
  } else if (damage == "swapped") {
    all.push_back([other](std::string& c) { c = other; });
  } else if (damage == "lost") {
    all.push_back(nullptr);
  }
  return all;
}

const char* const kDamages[] = {"one bit", "zero page", "truncated", "block twice", "swapped", "lost"};

// The file that a row speaks of, and the one that it changes places with.
struct Target {
  io::Path file;
  io::Path other;
};

std::optional<Target> target_of(Original& original, const std::string& kind, bool active) {
  io::FileSystem& fs = *original.world.fs;
  if (!kind.starts_with('.') || kind == kCleanShutdown) {
    const std::map<std::string, std::string> others = {{"recovery-point-offset-checkpoint", "replication-offset-checkpoint"},
                                                       {"replication-offset-checkpoint", "recovery-point-offset-checkpoint"},
                                                       {"log-start-offset-checkpoint", "replication-offset-checkpoint"},
                                                       {kLeaderEpochCheckpoint, kPartitionMetadata},
                                                       {kPartitionMetadata, kLeaderEpochCheckpoint},
                                                       {kMetaProperties, kCleanShutdown},
                                                       {kCleanShutdown, kMetaProperties}};
    const bool in_log = kind == kLeaderEpochCheckpoint || kind == kPartitionMetadata;
    const io::Path& directory = in_log ? kLog : kRoot;
    if (!fs.exists(io::join(directory, kind)).value()) return std::nullopt;
    return Target{io::join(directory, kind), io::join(directory, others.at(kind))};
  }
  std::vector<io::Path> found;
  for (const std::string& name : names_in(fs, kLog)) {
    if (name.size() == 20 + kind.size() && name.ends_with(kind)) found.push_back(io::join(kLog, name));
  }
  if (found.size() < 3) return std::nullopt;
  return active ? Target{found.back(), found[0]} : Target{found[1], found[2]};
}

// --- the verdict of a cell ---

std::string verdict_of(Original& original, const Target& target, const Change& change, bool swaps) {
  World world;
  world.clock.set(original.world.clock.now());
  world.memory = original.world.memory->process_crash_clone();
  world.fs = world.memory.get();
  const bool is_log = target.file.ends_with(".log");
  std::string content = content_of(*world.fs, target.file);
  const std::string before = content;
  if (change) {
    change(content);
    put(*world.fs, target.file, content);
    if (swaps) put(*world.fs, target.other, before);
  } else {
    world.fs->remove_file(target.file).value();
  }
  const std::set<Batch> readable = readable_batches(*world.fs);

  auto manager = open_manager(world);
  // Nothing readable vanishes, whatever the outcome.
  const std::set<Batch> left = readable_batches(*world.fs);
  for (const Batch& batch : readable) EXPECT_TRUE(left.contains(batch)) << "the batch at " << batch.first << " is nowhere";
  if (!manager) return "refused";
  auto log = manager->find(kPartition);
  if (!log) return "stray";
  log->set_high_watermark(log->log_end_offset());

  // What lies before the damage is served; what is shown to a reader of committed records was committed.
  const std::vector<Batch> served = served_batches(*log);
  const std::vector<std::int64_t> committed = is_log ? std::vector<std::int64_t>() : committed_batches(*log);
  const bool is_whole = served == original.served;
  if (!is_whole && target.file.ends_with("log-start-offset-checkpoint")) return "believed";
  if (!is_log) {
    EXPECT_EQ(served, original.served);
    EXPECT_EQ(committed, original.committed);
  } else {
    const std::size_t same = static_cast<std::size_t>(std::ranges::mismatch(content, before).in1 - content.begin());
    const std::int64_t base = std::stoll(std::string(io::file_name(target.file)).substr(0, 20));
    for (const Batch& batch : batches_in_file(std::string_view(before).substr(0, change ? same : 0), {base})) {
      EXPECT_NE(std::ranges::find(served, batch), served.end()) << "the batch at " << batch.first << " lay before the damage";
    }
    for (const Batch& batch : original.served) {
      if (batch.first < base && !swaps) {
        EXPECT_NE(std::ranges::find(served, batch), served.end()) << batch.first;
      }
    }
  }
  // Lookups agree with what a walk over everything gives.
  if (is_whole) {
    for (std::size_t i = 0; i < served.size(); i += 5) {
      const Offset offset{served[i].first};
      const auto read = log->read({offset, ByteCount{1}, true, ReadLimit::log_end});
      EXPECT_TRUE(read.has_value());
      if (read) {
        const auto found = batches_in(read->range);
        EXPECT_EQ(found.size(), 1u);
        if (!found.empty()) {
          EXPECT_EQ(found[0].base_offset, offset);
        }
      }
    }
    for (std::int64_t offset = 0; offset < log->log_end_offset().value; offset += 7) {
      // Markers carry the time of the test's own clock.
      const auto found = log->find_by_timestamp(time_of(offset)).value();
      EXPECT_TRUE(found.has_value()) << offset;
      if (found) {
        EXPECT_LE(found->offset.value, offset + 2);
        EXPECT_GE(found->timestamp, time_of(offset));
      }
    }
  }

  const auto& verdicts = log->recovery().verdicts;
  const auto has = [&](RecoveryAction action) {
    return std::ranges::any_of(verdicts, [&](const RecoveryVerdict& v) { return v.action == action; });
  };
  log->repair_indexes().value();
  std::string verdict = "harmless";
  if (has(RecoveryAction::passed_over)) verdict = "left";
  if (has(RecoveryAction::removed)) verdict = "removed";
  if (has(RecoveryAction::rebuilt) || world.logger.contains(": rebuilt")) verdict = "rebuilt";
  if (has(RecoveryAction::cut)) verdict = "cut";
  if (has(RecoveryAction::kept)) verdict = "kept";
  if (verdict == "harmless" && !is_whole) verdict = "unnoticed";
  if (verdict == "harmless" && log->recovery().segments_recovered > 0) verdict = "recovered";
  log.reset();
  manager->shut_down(6).value();
  manager.reset();

  // And it stays so.
  auto again = open_manager(world);
  EXPECT_TRUE(again);
  if (again) {
    auto log_again = again->find(kPartition);
    EXPECT_EQ(served_batches(*log_again), served);
    if (!is_log) {
      log_again->set_high_watermark(log_again->log_end_offset());
      EXPECT_EQ(committed_batches(*log_again), original.committed);
    }
  }
  return verdict;
}

std::string cell(Original& original, const std::string& kind, const std::string& damage, bool active) {
  const std::optional<Target> target = target_of(original, kind, active);
  if (!target) return "-";
  const bool swaps = damage == "swapped";
  if (swaps && !original.world.fs->exists(target->other).value()) return "-";
  const std::string content = content_of(*original.world.fs, target->file);
  const std::string other = swaps ? content_of(*original.world.fs, target->other) : "";
  std::set<std::string> verdicts;
  int variant = 0;
  for (const Change& change : changes(damage, content, other)) {
    SCOPED_TRACE(fmt::format("{} {}, variant {}, {}", kind, damage, variant++, active ? "active" : "closed"));
    verdicts.insert(verdict_of(original, *target, change, swaps));
  }
  return verdicts.empty() ? "-" : fmt::format("{}", fmt::join(verdicts, ", "));
}

// The rows of the table in docs/formats/damage.md.
std::vector<std::string> documented_rows() {
  std::vector<std::string> rows;
  std::ifstream in(source_path("docs/formats/damage.md"));
  for (std::string line; std::getline(in, line);) {
    for (const char* damage : kDamages) {
      if (line.starts_with("| `") && line.find(std::string("| ") + damage + " |") != std::string::npos) rows.push_back(line);
    }
  }
  return rows;
}

TEST(DamageMatrix, EveryCellHasItsVerdict) {
  auto clean = make_original(Stop::clean);
  auto killed = make_original(Stop::killed);
  auto flushed = make_original(Stop::killed_after_flush);
  ASSERT_GE(clean->bases.size(), 4u);
  ASSERT_GT(clean->committed.size(), 80u);
  std::vector<std::string> rows;
  for (const char* kind : {".log", ".index", ".timeindex", ".txnindex", ".snapshot"}) {
    for (const char* damage : kDamages) {
      rows.push_back(fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |", kind, damage, cell(*clean, kind, damage, false),
                                 cell(*clean, kind, damage, true), cell(*flushed, kind, damage, false),
                                 cell(*killed, kind, damage, false), cell(*killed, kind, damage, true)));
    }
  }
  for (const char* kind : {kLeaderEpochCheckpoint, kPartitionMetadata, "recovery-point-offset-checkpoint",
                           "replication-offset-checkpoint", "log-start-offset-checkpoint", kCleanShutdown, kMetaProperties}) {
    for (const char* damage : kDamages) {
      rows.push_back(fmt::format("| `{}` | {} | {} | {} |", kind, damage, cell(*clean, kind, damage, false),
                                 cell(*flushed, kind, damage, false)));
    }
  }
  EXPECT_EQ(rows, documented_rows()) << fmt::format("{}", fmt::join(rows, "\n"));
}

}  // namespace
}  // namespace cordwood::storage
