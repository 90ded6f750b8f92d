// Cleans the compacted directories of tests/golden/kafka-4.4.0 at the time at which Kafka's cleaner did, and expects the
// segments that it left, byte for byte; gzip batches that were written anew hold the same records.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/clock.h"
#include "base/random.h"
#include "base/source_path_testing.h"
#include "io/memory_file_system.h"
#include "kafka_expectations.h"
#include "record/record.h"
#include "storage/log_manager.h"

namespace cordwood::golden {
namespace {

namespace disk = std::filesystem;
using Files = std::map<std::string, std::string>;

const disk::path kRoot = source_path("tests/golden/kafka-4.4.0");

Files files_of(const disk::path& root) {
  Files files;
  for (const auto& entry : disk::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    std::ostringstream content;
    content << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files[disk::relative(entry.path(), root).string()] = content.str();
  }
  return files;
}

template <class Visit>
void for_each_batch(const std::string& log, Visit visit) {
  BytesView rest = as_bytes(log);
  while (!rest.empty()) {
    const record::BatchView batch = record::BatchView::parse(rest).value();
    visit(batch);
    rest = rest.subspan(batch.bytes().size());
  }
}

// Compressed batches as their records, everything else as it is.
std::string comparable(const std::string& log) {
  std::string text;
  for_each_batch(log, [&](const record::BatchView& batch) {
    const record::BatchHeader header = batch.header();
    if (header.codec_bits() == 0) {
      text += as_text(batch.bytes());
      return;
    }
    text += fmt::format("{} {} {} {} {} {}\n", header.base_offset, header.last_offset_delta, header.attributes,
                        header.base_timestamp, header.max_timestamp, header.record_count);
    record::for_each_record(batch, [&](const record::RecordView& r) {
      text += fmt::format("{} {} {} {}\n", r.offset, r.timestamp, as_text(r.key.value_or(BytesView())),
                          r.value ? as_text(*r.value) : "null");
      return record::Walk::go_on;
    }).value();
  });
  return text;
}

class CleanedByKafka : public testing::TestWithParam<std::string> {};

TEST_P(CleanedByKafka, LeavesTheSameSegments) {
  const disk::path after = kRoot / (GetParam() + "-after-1");
  const Expectations expected = read_expectations(after.string()).value();
  const Files kafkas = files_of(after / "data");
  storage::LogConfig config;
  config.cleanup_compact = true;
  config.cleanup_delete = false;
  config.min_cleanable_dirty_ratio = 0;
  config.segment_bytes = {std::stoll(expected.topic_config.at("internal.segment.bytes"))};
  config.index_interval_bytes = {std::stoll(expected.topic_config.at("index.interval.bytes"))};
  config.segment_index_bytes = {std::stoll(expected.topic_config.at("segment.index.bytes"))};
  config.delete_retention_ms = {std::stoll(expected.topic_config.at("delete.retention.ms"))};

  // Its horizons tell when Kafka cleaned.
  std::optional<TimestampMs> cleaned_at;
  for (const auto& [name, content] : kafkas) {
    if (!name.ends_with(".log")) continue;
    for_each_batch(content, [&](const record::BatchView& batch) {
      if (batch.header().has_delete_horizon()) cleaned_at = batch.header().base_timestamp - config.delete_retention_ms;
    });
  }
  ASSERT_TRUE(cleaned_at.has_value());

  ManualClock clock(*cleaned_at);
  io::MemFileSystem fs(&clock);
  for (const auto& [name, content] : files_of(kRoot / (GetParam() + "-before") / "data")) {
    const io::Path path = io::join("/data", name);
    fs.create_directories(io::Path(io::parent_of(path))).value();
    fs.open(path, io::OpenMode::truncate).value()->write_at(FilePosition{0}, as_bytes(content)).value();
  }
  SeededRandom random(1);
  MemoryLogger logger;
  storage::LogManagerOptions options;
  options.log_dirs = {"/data"};
  auto manager = storage::LogManager::open({&fs, &clock, &random, &logger}, options).value();
  storage::LogManager::LoadCallbacks callbacks;
  callbacks.config_of = [&](const std::string&) { return config; };
  manager->load(callbacks).value();
  auto log = manager->find({expected.topic, PartitionId{expected.partition}});
  ASSERT_NE(log, nullptr);
  log->set_high_watermark(log->log_end_offset());
  EXPECT_TRUE(manager->cleaner().clean_once());

  const std::string active = fmt::format("{:020}", log->segments().back().base_offset.value);
  std::size_t compared = 0;
  for (const auto& [name, content] : kafkas) {
    const std::string file = name.substr(name.find('/') + 1);
    const bool of_a_segment = file.ends_with(".log") || file.ends_with("index");
    if (!of_a_segment || file.starts_with(active)) continue;
    const std::string ours(as_text(io::read_file(fs, io::join("/data", name)).value()));
    if (file.ends_with(".log")) {
      EXPECT_EQ(comparable(ours), comparable(content)) << name;
    } else {
      EXPECT_EQ(ours, content) << name;
    }
    ++compared;
  }
  EXPECT_GE(compared, 12u);
  EXPECT_EQ(as_text(io::read_file(fs, "/data/cleaner-offset-checkpoint").value()), kafkas.at("cleaner-offset-checkpoint"));
}

INSTANTIATE_TEST_SUITE_P(Kafka, CleanedByKafka, testing::Values("compacted", "compacted-txn"),
                         [](const auto& each) { return std::string(each.param == "compacted" ? "plain" : "transactions"); });

}  // namespace
}  // namespace cordwood::golden
