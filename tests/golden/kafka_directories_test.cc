// Opens every directory of tests/golden/kafka-4.4.0 as it lies and expects Kafka's own answers about it. Where Kafka was
// started on the same directory, stopped cleanly and left an "after", ours must then be equal byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/clock.h"
#include "base/random.h"
#include "base/source_path_testing.h"
#include "io/memory_file_system.h"
#include "kafka_expectations.h"
#include "record/legacy.h"
#include "record/record.h"
#include "record/walk.h"
#include "storage/index_builder.h"
#include "storage/log_manager.h"

namespace cordwood::golden {
namespace {

namespace disk = std::filesystem;
using storage::LogConfig;
using storage::PartitionLog;

const disk::path kRoot = source_path("tests/golden/kafka-4.4.0");
constexpr const char* kLogDir = "/data";

using Files = std::map<std::string, std::string>;  // path below the log directory -> content

Files files_on_disk(const disk::path& root) {
  Files files;
  for (const auto& entry : disk::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    std::ostringstream content;
    content << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files[disk::relative(entry.path(), root).string()] = content.str();
  }
  return files;
}

void fill(io::FileSystem& fs, const Files& files) {
  for (const auto& [name, content] : files) {
    const io::Path path = io::join(kLogDir, name);
    fs.create_directories(io::Path(io::parent_of(path))).value();
    auto file = fs.open(path, io::OpenMode::truncate).value();
    file->write_at(FilePosition{0}, as_bytes(content)).value();
  }
}

Files files_in_memory(io::FileSystem& fs, const io::Path& directory = kLogDir) {
  Files files;
  const auto entries = fs.list(directory).value();
  for (const io::DirectoryEntry& entry : entries) {
    const io::Path path = io::join(directory, entry.name);
    if (entry.kind == io::DirectoryEntry::Kind::directory) {
      files.merge(files_in_memory(fs, path));
    } else {
      const ByteVector bytes = io::read_file(fs, path).value();
      files[path.substr(std::string_view(kLogDir).size() + 1)] = std::string(as_text(bytes));
    }
  }
  return files;
}

LogConfig to_log_config(const std::map<std::string, std::string>& topic_config) {
  LogConfig config;
  for (const auto& [key, value] : topic_config) {
    if (key == "internal.segment.bytes" || key == "segment.bytes") config.segment_bytes = {std::stoll(value)};
    if (key == "index.interval.bytes") config.index_interval_bytes = {std::stoll(value)};
    if (key == "segment.index.bytes") config.segment_index_bytes = {std::stoll(value)};
    if (key == "segment.ms") config.segment_ms = {std::stoll(value)};
    if (key == "retention.ms") config.retention_ms = {std::stoll(value)};
    if (key == "retention.bytes") config.retention_bytes = {std::stoll(value)};
    if (key == "cleanup.policy") {
      config.cleanup_compact = value == "compact";
      config.cleanup_delete = !config.cleanup_compact;
    }
    if (key == "message.timestamp.type") {
      config.message_timestamp_type = value == "LogAppendTime" ? record::TimestampType::log_append_time
                                                               : record::TimestampType::create_time;
    }
  }
  return config;
}

Answer to_answer(const std::optional<storage::FoundRecord>& found, Offset limit) {
  if (!found || found->offset >= limit) return {};
  Answer answer{found->offset.value, found->timestamp.value, {}};
  if (found->epoch) answer.leader_epoch = found->epoch->value;
  return answer;
}

Answer to_answer(Offset offset, const std::optional<storage::EpochEntry>& epoch) {
  Answer answer{offset.value, -1, {}};
  if (epoch) answer.leader_epoch = epoch->epoch.value;
  return answer;
}

// A consumer from the beginning: skips control batches and, where told, what aborted transactions wrote.
class Consumer {
 public:
  Consumer(const PartitionLog& log, storage::ReadLimit limit) : log_(log), limit_(limit) {}

  ReadOffsets run() {
    Offset position = log_.log_start_offset();
    while (true) {
      const auto read = log_.read({position, ByteCount{500}, true, limit_});
      EXPECT_TRUE(read.has_value()) << read.error().message();
      if (!read || read->range.size == ByteCount{0}) return {to_runs(offsets_), false};
      ByteVector bytes(static_cast<std::size_t>(read->range.size.value));
      EXPECT_EQ(read->range.source->read_at(read->range.position, bytes).value(), bytes.size());
      pending_ = read->aborted;
      BytesView rest = bytes;
      while (!rest.empty()) {
        const Result<record::EntryInfo> entry = record::check_entry(rest);
        if (!entry) return {to_runs(offsets_), true};
        take(rest.first(static_cast<std::size_t>(entry->size.value)), *entry, position);
        position = next(entry->last_offset);
        rest = rest.subspan(static_cast<std::size_t>(entry->size.value));
      }
    }
  }

 private:
  void take(BytesView bytes, const record::EntryInfo& entry, Offset from) {
    if (!entry.header) {
      record::for_each_legacy_record(bytes, [&](const record::LegacyRecord& r) {
        if (r.offset >= from) offsets_.push_back(r.offset.value);
        return record::Walk::go_on;
      }).value();
      return;
    }
    const record::BatchHeader& header = *entry.header;
    if (limit_ == storage::ReadLimit::last_stable && header.has_producer_id()) {
      std::erase_if(pending_, [&](const storage::AbortedTransaction& transaction) {
        if (transaction.first_offset > header.last_offset()) return false;
        aborted_.push_back(transaction.producer_id);
        return true;
      });
      if (header.is_control()) {
        // An abort marker ends what was aborted; a commit marker of such a producer cannot come before it.
        std::erase(aborted_, header.producer_id);
      } else if (header.is_transactional() && std::ranges::find(aborted_, header.producer_id) != aborted_.end()) {
        return;
      }
    }
    if (header.is_control()) return;
    record::for_each_record(record::BatchView(bytes), [&](const record::RecordView& r) {
      if (r.offset >= from) offsets_.push_back(r.offset.value);
      return record::Walk::go_on;
    }).value();
  }

  const PartitionLog& log_;
  storage::ReadLimit limit_;
  std::vector<std::int64_t> offsets_;
  std::vector<storage::AbortedTransaction> pending_;
  std::vector<std::int64_t> aborted_;
};

void expect_answers(PartitionLog& log, const Expectations& expected) {
  const Offset end = log.log_end_offset();
  log.set_high_watermark(end);
  std::optional<storage::EpochEntry> earliest = log.earliest_epoch();
  if (earliest && earliest->start_offset > log.log_start_offset()) earliest.reset();
  EXPECT_EQ(to_answer(log.log_start_offset(), earliest), expected.earliest);
  EXPECT_EQ(to_answer(log.high_watermark(), log.latest_epoch()), expected.latest);
  EXPECT_EQ(to_answer(log.last_stable_offset(), log.latest_epoch()), expected.latest_read_committed);
  EXPECT_EQ(to_answer(log.find_max_timestamp().value(), end), expected.max_timestamp);
  for (const auto& [query, answer] : expected.by_timestamp) {
    EXPECT_EQ(to_answer(log.find_by_timestamp({query}).value(), end), answer) << "searching for " << query;
  }
  EXPECT_EQ(Consumer(log, storage::ReadLimit::high_watermark).run(), expected.read_uncommitted);
  EXPECT_EQ(Consumer(log, storage::ReadLimit::last_stable).run(), expected.read_committed);
}

// One broker's storage over a golden directory.
struct Opened {
  explicit Opened(const Files& files, const Expectations& expected) : clock({expected.asked_at_ms}), fs(&clock) {
    fill(fs, files);
    fs.sync_everything();
    storage::LogManagerOptions options;
    options.log_dirs = {kLogDir};
    options.recovery_threads_per_dir = 1;
    manager = storage::LogManager::open({&fs, &clock, &random, &logger}, options).value();
    storage::LogManager::LoadCallbacks callbacks;
    callbacks.config_of = [config = to_log_config(expected.topic_config)](const std::string&) { return config; };
    manager->load(callbacks).value();
    log = manager->find({expected.topic, PartitionId{expected.partition}});
  }

  ManualClock clock;
  io::MemFileSystem fs;
  SeededRandom random{1};
  MemoryLogger logger;
  std::unique_ptr<storage::LogManager> manager;
  std::shared_ptr<PartitionLog> log;
};

std::string as_hex(const std::string& content) {
  std::string hex;
  for (unsigned char byte : content) hex += fmt::format("{:02x}", byte);
  return hex;
}

// Checkpoint files have no order.
std::string comparable(const std::string& name, const std::string& content) {
  if (!name.ends_with("-offset-checkpoint")) return content;
  std::vector<std::string> lines;
  std::istringstream text(content);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  if (lines.size() > 2) std::sort(lines.begin() + 2, lines.end());
  std::string sorted;
  for (const std::string& line : lines) sorted += line + "\n";
  return sorted;
}

// Of these we keep records behind a hole, which Kafka does not.
const std::set<std::string> kKeepSomething = {"flip-closed-before", "flip-first-before"};

Files without_damaged(Files files) {
  std::erase_if(files, [](const auto& file) { return file.first.find("/damaged/") != std::string::npos; });
  return files;
}

// The indexes that the batches of a .log give.
storage::IndexBuilder indexes_of(const std::string& log, Offset base, const LogConfig& config) {
  io::MemFileSystem fs;
  fill(fs, {{"log", log}});
  const auto file = fs.open(io::join(kLogDir, "log"), io::OpenMode::read).value();
  return storage::build_indexes(*file, FilePosition{static_cast<std::int64_t>(log.size())}, base,
                                config.index_interval_bytes, config.segment_index_bytes)
      .value();
}

std::string as_string(const ByteVector& bytes) { return std::string(as_text(bytes)); }

void expect_same_files(const Files& ours, const Files& kafkas) {
  for (const auto& [name, content] : kafkas) {
    const auto it = ours.find(name);
    if (it == ours.end()) {
      ADD_FAILURE() << name << " is missing";
    } else if (comparable(name, it->second) != comparable(name, content)) {
      ADD_FAILURE() << name << " differs\n  ours   " << as_hex(it->second) << "\n  Kafka's " << as_hex(content);
    }
  }
  for (const auto& [name, content] : ours) EXPECT_TRUE(kafkas.contains(name)) << name << " is not Kafka's";
}

std::vector<std::string> cases(bool (*wanted)(const std::string& name)) {
  std::vector<std::string> names;
  for (const auto& entry : disk::directory_iterator(kRoot)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && wanted(name)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::string pair_name(const std::string& name) { return name.substr(0, name.size() - std::string("-before").size()); }

bool is_restarted(const std::string& name) {
  return name.ends_with("-before") && disk::exists(kRoot / (pair_name(name) + "-after"));
}

bool is_stopped_cleanly(const std::string& name) {
  return disk::exists(kRoot / name / "data/.kafka_cleanshutdown") && disk::exists(kRoot / name / "expect/offsets.json") &&
         !is_restarted(name);
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

// The last epoch in a leader-epoch-checkpoint: the one in which Kafka led until its stop.
LeaderEpoch last_epoch_in(const std::string& leader_epoch_checkpoint) {
  std::istringstream epochs(leader_epoch_checkpoint);
  std::int32_t number = 0;
  std::int32_t epoch = -1;
  std::int64_t start = -1;
  epochs >> number >> number;
  while (epochs >> epoch >> start) {
  }
  return {epoch};
}

std::int64_t broker_epoch_in(const Files& files) {
  return std::stoll(files.at(".kafka_cleanshutdown").substr(std::string(R"({"version":0,"brokerEpoch":)").size()));
}

class StoppedCleanly : public testing::TestWithParam<std::string> {};

TEST_P(StoppedCleanly, AnswersAsKafkaDid) {
  const Expectations expected = read_expectations((kRoot / GetParam()).string()).value();
  const Files files = files_on_disk(kRoot / GetParam() / "data");
  Opened opened(files, expected);
  ASSERT_TRUE(opened.log);
  EXPECT_EQ(opened.log->recovery().segments_recovered, 0);
  opened.log->begin_leader_epoch(last_epoch_in(files.at(opened.log->partition().to_string() + "/leader-epoch-checkpoint"))).value();
  // These took one more record after they were asked.
  if (GetParam() == "clean-torn-after" || GetParam() == "clean-no-index-after" || GetParam() == "plain") {
    EXPECT_EQ(opened.log->log_end_offset().value, expected.latest.offset + 1);
    return;
  }
  expect_answers(*opened.log, expected);
}

TEST_P(StoppedCleanly, IsLeftAsItWas) {
  // Opened when its producers had not expired, a directory comes out of a start and a stop unchanged.
  const Expectations expected = read_expectations((kRoot / GetParam()).string()).value();
  const Files before = files_on_disk(kRoot / GetParam() / "data");
  Opened opened(before, expected);
  ASSERT_TRUE(opened.log);
  // But for snapshots that no start keeps: strays, and those at or below the log start.
  Files left = before;
  for (const auto& log : opened.manager->all()) {
    const std::string directory = log->partition().to_string() + "/";
    for (const std::string& stray : log->recovery().removed_files) left.erase(directory + stray);
    std::erase_if(left, [&](const auto& file) {
      const std::string& name = file.first;
      return name.starts_with(directory) && name.ends_with(".snapshot") &&
             std::stoll(name.substr(directory.size())) <= log->log_start_offset().value;
    });
    // Loading dropped an epoch that starts at the log end; leading again brings it back.
    log->begin_leader_epoch(last_epoch_in(before.at(directory + "leader-epoch-checkpoint"))).value();
    log->set_high_watermark(log->log_end_offset());
  }
  opened.manager->shut_down(broker_epoch_in(before)).value();
  expect_same_files(files_in_memory(opened.fs), left);
}

INSTANTIATE_TEST_SUITE_P(Kafka, StoppedCleanly, testing::ValuesIn(cases(is_stopped_cleanly)), test_name);

class RestartedByKafka : public testing::TestWithParam<std::string> {};

TEST_P(RestartedByKafka, AnswersAndStopsAsKafkaDid) {
  const disk::path after = kRoot / (pair_name(GetParam()) + "-after");
  Expectations expected = read_expectations(after.string()).value();
  Files kafkas = files_on_disk(after / "data");
  Files before = files_on_disk(kRoot / GetParam() / "data");
  if (GetParam() == "clean-no-index-before") {
    // Deleted by hand, says its README; a tool that looked at the directory later made them again, empty.
    EXPECT_EQ(before.at("g-clean-no-index-0/00000000000000000000.index"), "");
    before.erase("g-clean-no-index-0/00000000000000000000.index");
    before.erase("g-clean-no-index-0/00000000000000000049.index");
    // A lost time index comes back empty with Kafka, and with its entries here.
    std::string& lost = kafkas.at("g-clean-no-index-0/00000000000000000025.timeindex");
    EXPECT_EQ(lost, "");
    lost = as_string(indexes_of(kafkas.at("g-clean-no-index-0/00000000000000000025.log"), {25}, to_log_config(expected.topic_config))
                         .time_index(storage::IndexBuilder::Closing::yes));
    EXPECT_FALSE(lost.empty());
  }
  if (GetParam() == "clean-torn-before") {
    // Its time index ends with an entry for the batch that was cut off. Kafka believes it, and finds no such record.
    EXPECT_EQ(expected.max_timestamp, Answer());
    expected.max_timestamp = {45, 1'700'000'000'450, 0};
  }
  Opened opened(before, expected);
  ASSERT_TRUE(opened.log);

  const std::string directory = expected.topic + "-" + std::to_string(expected.partition) + "/";
  const LeaderEpoch epoch = last_epoch_in(kafkas.at(directory + "leader-epoch-checkpoint"));
  opened.log->begin_leader_epoch(epoch).value();
  expect_answers(*opened.log, expected);

  if (GetParam() == "clean-torn-before" || GetParam() == "clean-no-index-before") {
    // These took one more record afterwards: the last batch of the last segment.
    std::string log;
    for (const auto& [name, content] : kafkas) {
      if (name.starts_with(directory) && name.ends_with(".log")) log = content;
    }
    BytesView rest = as_bytes(log);
    ByteVector last;
    while (!rest.empty()) {
      const record::EntryInfo entry = record::check_entry(rest).value();
      last = to_vector(rest.first(static_cast<std::size_t>(entry.size.value)));
      rest = rest.subspan(last.size());
    }
    const storage::AppendResult appended =
        opened.log->append_as_leader(last, epoch, storage::AppendOrigin::client);
    EXPECT_EQ(appended.fault, storage::AppendFault::none);
    opened.log->set_high_watermark(opened.log->log_end_offset());
  }
  opened.manager->shut_down(broker_epoch_in(kafkas)).value();
  const Files ours = files_in_memory(opened.fs);
  EXPECT_EQ(without_damaged(ours).size() < ours.size(), kKeepSomething.contains(GetParam()));
  expect_same_files(without_damaged(ours), kafkas);
}

INSTANTIATE_TEST_SUITE_P(Kafka, RestartedByKafka, testing::ValuesIn(cases(is_restarted)), test_name);

// Directories that one broker wrote from the first batch to the stop, with nothing removed or compacted.
const std::vector<std::string> kWrittenInOneRun = {
    "append-time",  "codec-gzip", "codec-lz4",   "codec-snappy", "codec-topic-zstd", "codec-zstd",        "consumer-offsets",
    "idempotent",   "plain",      "rolled-size", "rolled-time",  "transaction-state", "transactions",
    "compacted-before", "compacted-txn-before"};

class WrittenInOneRun : public testing::TestWithParam<std::string> {};

TEST_P(WrittenInOneRun, SameBatchesGiveTheSameFiles) {
  const Expectations expected = read_expectations((kRoot / GetParam()).string()).value();
  const Files kafkas = files_on_disk(kRoot / GetParam() / "data");
  const std::string directory = expected.topic + "-" + std::to_string(expected.partition) + "/";
  Opened opened({{"meta.properties", kafkas.at("meta.properties")}}, expected);
  const std::string id = kafkas.at(directory + "partition.metadata").substr(std::string("version: 0\ntopic_id: ").size());
  const auto log = opened.manager
                       ->get_or_create({expected.topic, PartitionId{expected.partition}}, *Uuid::parse(id),
                                       to_log_config(expected.topic_config))
                       .value();
  log->begin_leader_epoch(last_epoch_in(kafkas.at(directory + "leader-epoch-checkpoint"))).value();
  for (const auto& [name, content] : kafkas) {
    if (!name.starts_with(directory) || !name.ends_with(".log")) continue;
    BytesView rest = as_bytes(content);
    while (!rest.empty()) {
      const record::EntryInfo entry = record::check_entry(rest).value();
      ByteVector batch = to_vector(rest.first(static_cast<std::size_t>(entry.size.value)));
      const bool from_coordinator =
          entry.header->is_control() || (entry.header->has_producer_id() && entry.header->base_sequence < 0);
      const auto origin = from_coordinator ? storage::AppendOrigin::coordinator : storage::AppendOrigin::client;
      const storage::AppendResult appended =
          log->append_as_leader(batch, LeaderEpoch{entry.header->partition_leader_epoch}, origin);
      ASSERT_EQ(appended.fault, storage::AppendFault::none);
      ASSERT_EQ(appended.base_offset, entry.base_offset);
      log->set_high_watermark(log->log_end_offset());
      rest = rest.subspan(batch.size());
    }
  }
  // Asked before its last record.
  if (GetParam() != "plain") expect_answers(*log, expected);
  opened.manager->shut_down(broker_epoch_in(kafkas)).value();
  expect_same_files(files_in_memory(opened.fs), kafkas);
}

INSTANTIATE_TEST_SUITE_P(Kafka, WrittenInOneRun, testing::ValuesIn(kWrittenInOneRun), test_name);

TEST_P(WrittenInOneRun, IndexesMadeFromTheBatchesAreKafkas) {
  const Expectations expected = read_expectations((kRoot / GetParam()).string()).value();
  const LogConfig config = to_log_config(expected.topic_config);
  int compared = 0;
  for (const Files files = files_on_disk(kRoot / GetParam() / "data"); const auto& [name, content] : files) {
    if (!name.ends_with(".log")) continue;
    const std::string stem = name.substr(0, name.size() - 4);
    const storage::IndexBuilder built = indexes_of(content, {std::stoll(stem.substr(stem.rfind('/') + 1))}, config);
    EXPECT_EQ(as_hex(as_string(built.offset_index())), as_hex(files.at(stem + ".index"))) << name;
    EXPECT_EQ(as_hex(as_string(built.time_index(storage::IndexBuilder::Closing::yes))), as_hex(files.at(stem + ".timeindex")))
        << name;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST(KafkaDirectories, AreAllLookedAt) {
  EXPECT_EQ(cases(is_stopped_cleanly).size(), 39u);
  EXPECT_EQ(cases(is_restarted).size(), 14u);
}

}  // namespace
}  // namespace cordwood::golden
