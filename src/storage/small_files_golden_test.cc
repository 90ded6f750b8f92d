// Reads every small file of the directories that Kafka 4.4.0 wrote and compares it with what Kafka's dump tool says of
// it; writes what can be written and compares the bytes.
#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "base/source_path_testing.h"
#include "io/memory_file_system.h"
#include "storage/checkpoint_file.h"
#include "storage/directory_files.h"
#include "storage/offset_index.h"
#include "storage/producer_state.h"
#include "storage/time_index.h"

namespace cordwood::storage {
namespace {

namespace stdfs = std::filesystem;

const stdfs::path kRoot = source_path("tests/golden/kafka-4.4.0");

std::string slurp(const stdfs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Every file below data/ of every case with the given end of its name.
std::vector<stdfs::path> data_files(std::string_view ending) {
  std::vector<stdfs::path> found;
  for (const auto& entry : stdfs::recursive_directory_iterator(kRoot)) {
    if (!entry.is_regular_file() || !entry.path().string().ends_with(ending)) continue;
    if (entry.path().string().find("/data/") != std::string::npos) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

// The lines that the dump tool printed for a file, without the first ("Dumping ...").
std::vector<std::string> dumped_lines(const stdfs::path& data_file) {
  std::string text = data_file.string() + ".txt";
  text.replace(text.rfind("/data/"), 6, "/expect/");
  std::istringstream in(slurp(text));
  std::vector<std::string> lines;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) lines.push_back(line);
  return lines;
}

Offset base_of(const stdfs::path& path) { return {std::stoll(path.filename().string())}; }

// A copy of the file in a file system that the test may write to.
struct Copied {
  io::MemFileSystem fs;
  explicit Copied(const stdfs::path& path) {
    std::string bytes = slurp(path);
    auto file = fs.open("/f", io::OpenMode::create).value();
    file->write_at({0}, as_bytes(bytes)).value();
  }
};

std::string dump(const ProducerEntry& e) {
  std::string open = e.current_txn_first_offset ? fmt::format("[{}]", *e.current_txn_first_offset) : ".empty";
  std::string line = fmt::format(
      "producerId: {} producerEpoch: {} coordinatorEpoch: {} currentTxnFirstOffset: OptionalLong{} lastTimestamp: {}",
      e.producer_id, e.epoch, e.coordinator_epoch, open, e.last_timestamp);
  if (e.batches.empty()) return line;
  const CachedBatch& b = e.batches.back();
  return line + fmt::format(" firstSequence: {} lastSequence: {} lastOffset: {} offsetDelta: {} timestamp: {}",
                            b.first_sequence(), b.last_sequence, b.last_offset, b.offset_delta, b.timestamp);
}

TEST(GoldenFiles, ProducerSnapshotsAreReadAndWrittenAsKafkaDoes) {
  int files = 0, producers = 0;
  for (const stdfs::path& path : data_files(".snapshot")) {
    std::string bytes = slurp(path);
    std::string complaint = path.string() + ".err.txt";
    complaint.replace(complaint.rfind("/data/"), 6, "/expect/");
    auto entries = decode_producer_snapshot(as_bytes(bytes), path.string());
    ASSERT_EQ(entries.has_value(), !stdfs::exists(complaint)) << path;
    if (!entries) continue;
    std::multiset<std::string> ours, kafkas;
    for (const ProducerEntry& e : *entries) ours.insert(dump(e));
    for (const std::string& line : dumped_lines(path)) kafkas.insert(line);
    EXPECT_EQ(ours, kafkas) << path;

    // Kafka's order is that of a hash table, which for its small ids ascends.
    ProducerState state{DurationMs{INT64_MAX}};
    for (ProducerEntry& e : *entries) state.restore(std::move(e), {0});
    EXPECT_EQ(as_text(encode_producer_snapshot(state)), bytes) << path;
    ++files;
    producers += static_cast<int>(state.producers().size());
  }
  EXPECT_GT(files, 100);
  EXPECT_GT(producers, 50);
}

TEST(GoldenFiles, OffsetIndexesHoldWhatKafkaReadsInThem) {
  int files = 0, entries = 0;
  for (const stdfs::path& path : data_files(".index")) {
    Copied copy(path);
    ByteCount capacity = copy.fs.status("/f")->size;
    if (capacity.value < OffsetIndex::kEntrySize) capacity = {OffsetIndex::kEntrySize};
    auto index = OffsetIndex::open(copy.fs, "/f", base_of(path), capacity, OffsetIndex::Growth::as_it_is).value();
    std::int64_t i = 0;
    bool is_sound = !index->first_disorder();  // not a killed broker's, nor damaged by hand
    for (const std::string& line : dumped_lines(path)) {
      if (!line.starts_with("offset: ")) {
        EXPECT_TRUE(line.ends_with(" is empty.") && index->entries() == 0) << path << ": " << line;
        continue;
      }
      auto entry = index->entry(i++);
      ASSERT_TRUE(entry) << path << ": " << line;
      EXPECT_EQ(line, fmt::format("offset: {} position: {}", entry->offset, entry->position)) << path;
      EXPECT_TRUE(!is_sound || index->lookup(entry->offset) == *entry) << path << ": " << line;
    }
    ++files;
    entries += static_cast<int>(i);
  }
  EXPECT_GT(files, 150);
  EXPECT_GT(entries, 200);
}

TEST(GoldenFiles, TimeIndexesHoldWhatKafkaReadsInThem) {
  int files = 0, entries = 0;
  for (const stdfs::path& path : data_files(".timeindex")) {
    Copied copy(path);
    ByteCount capacity = copy.fs.status("/f")->size;
    if (capacity.value < TimeIndex::kEntrySize) capacity = {TimeIndex::kEntrySize};
    auto index = TimeIndex::open(copy.fs, "/f", base_of(path), capacity, OffsetIndex::Growth::as_it_is).value();
    std::int64_t i = 0;
    for (const std::string& line : dumped_lines(path)) {
      if (!line.starts_with("timestamp: ")) {
        EXPECT_TRUE(line.ends_with(" is empty.") && index->entries() == 0) << path << ": " << line;
        continue;
      }
      auto entry = index->entry(i++);
      ASSERT_TRUE(entry) << path << ": " << line;
      EXPECT_EQ(line, fmt::format("timestamp: {} offset: {}", entry->timestamp, entry->offset)) << path;
    }
    ++files;
    entries += static_cast<int>(i);
  }
  EXPECT_GT(files, 150);
  EXPECT_GT(entries, 200);
}

TEST(GoldenFiles, CheckpointsAreReadAndWrittenAsKafkaDoes) {
  int files = 0, entries = 0;
  for (const char* name : {kRecoveryPointCheckpoint, kLogStartCheckpoint, kReplicationCheckpoint, kCleanerCheckpoint}) {
    for (const stdfs::path& path : data_files(std::string("/") + name)) {
      Copied copy(path);
      auto offsets = read_offset_checkpoint(copy.fs, "/f").value();
      ++files;
      entries += static_cast<int>(offsets.size());
      std::string bytes = slurp(path);
      if (bytes.empty()) continue;
      // Kafka's order is that of a hash table: with one partition in a directory there is but one.
      write_offset_checkpoint(copy.fs, "/f", offsets).value();
      ByteVector written = io::read_file(copy.fs, "/f").value();
      EXPECT_TRUE(offsets.size() > 1 || as_text(written) == bytes) << path;
      EXPECT_EQ(*read_offset_checkpoint(copy.fs, "/f"), offsets);
    }
  }
  EXPECT_GT(files, 150);
  EXPECT_GT(entries, 80);
  for (const stdfs::path& path : data_files(std::string("/") + kLeaderEpochCheckpoint)) {
    Copied copy(path);
    auto epochs = read_epoch_checkpoint(copy.fs, "/f").value();
    std::string bytes = slurp(path);
    if (bytes.empty()) continue;
    write_epoch_checkpoint(copy.fs, "/f", epochs).value();
    EXPECT_EQ(as_text(io::read_file(copy.fs, "/f").value()), bytes) << path;
    EXPECT_FALSE(epochs.empty()) << path;
  }
}

// A date of Java's, "Sun Nov 29 22:36:17 UTC 2026", in milliseconds.
TimestampMs date_in(std::string_view comment) {
  std::istringstream in{std::string(comment)};
  std::string day, month, zone;
  std::tm time{};
  in >> day >> month >> time.tm_mday;
  char colon;
  in >> time.tm_hour >> colon >> time.tm_min >> colon >> time.tm_sec >> zone >> time.tm_year;
  const std::string kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  time.tm_mon = static_cast<int>(kMonths.find(month) / 3);
  time.tm_year -= 1900;
  return {static_cast<std::int64_t>(::timegm(&time)) * 1000};
}

TEST(GoldenFiles, IdentitiesAreReadAndWrittenAsKafkaDoes) {
  int files = 0;
  for (const stdfs::path& path : data_files("/meta.properties")) {
    std::string bytes = slurp(path);
    auto properties = parse_meta_properties(bytes, path.string()).value();
    EXPECT_EQ(properties.node_id.value, 1);
    ASSERT_TRUE(properties.directory_id);
    ASSERT_TRUE(bytes.starts_with("#\n#"));
    io::MemFileSystem fs;
    write_meta_properties(fs, "/", properties, date_in(std::string_view(bytes).substr(3))).value();
    EXPECT_EQ(as_text(io::read_file(fs, "/meta.properties").value()), bytes) << path;
    ++files;
  }
  EXPECT_GT(files, 40);
  for (const stdfs::path& path : data_files("/partition.metadata")) {
    std::string bytes = slurp(path);
    Uuid id = parse_partition_metadata(bytes, path.string()).value();
    io::MemFileSystem fs;
    write_partition_metadata(fs, "/", id).value();
    EXPECT_EQ(as_text(io::read_file(fs, "/partition.metadata").value()), bytes) << path;
  }
  for (const stdfs::path& path : data_files("/.kafka_cleanshutdown")) {
    std::string bytes = slurp(path);
    CleanShutdown mark = parse_clean_shutdown(bytes);
    EXPECT_GE(mark.broker_epoch, 0) << path;
    io::MemFileSystem fs;
    write_clean_shutdown(fs, "/", mark).value();
    EXPECT_EQ(as_text(io::read_file(fs, "/.kafka_cleanshutdown").value()), bytes) << path;
  }
}

TEST(GoldenFiles, EveryPartitionDirectoryHasANameThatWeRead) {
  std::set<std::string> names;
  for (const auto& one : stdfs::directory_iterator(kRoot)) {
    if (!stdfs::is_directory(one.path() / "data")) continue;
    for (const auto& entry : stdfs::directory_iterator(one.path() / "data")) {
      if (!entry.is_directory()) continue;
      std::string name = entry.path().filename();
      auto parsed = parse_partition_directory(name);
      ASSERT_TRUE(parsed) << name;
      EXPECT_EQ(parsed->partition.to_string(), name);
      names.insert(name);
    }
  }
  EXPECT_TRUE(names.contains("__cluster_metadata-0"));
  EXPECT_GT(names.size(), 30u);
}

}  // namespace
}  // namespace cordwood::storage
