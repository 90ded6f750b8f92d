// storage/log_testing.h — what the tests of logs share: a world in memory, and batches to put into it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "io/memory_file_system.h"
#include "record/builder.h"
#include "record/control_record.h"
#include "record/record.h"
#include "record/walk.h"
#include "storage/partition_log.h"

namespace cordwood::storage::testing_support {

inline constexpr const char* kDirectory = "/data/t-0";

struct World {
  ManualClock clock;
  std::unique_ptr<io::MemFileSystem> memory = std::make_unique<io::MemFileSystem>(&clock);
  SeededRandom random{1};
  MemoryLogger logger;
  io::FileSystem* fs = memory.get();  // or one that wraps it
  LogEnvironment environment() { return {fs, &clock, &random, &logger}; }
};

struct BatchSpec {
  int records = 1;
  TimestampMs timestamp{1'700'000'000'000};  // of the first record; each next one is a millisecond later
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = 0;
  std::int32_t sequence = 0;
  bool transactional = false;
  std::size_t value_size = 20;
  Offset base_offset{0};
  std::int32_t leader_epoch = -1;
};

inline ByteVector make_batch(const BatchSpec& spec) {
  record::BatchOptions options;
  options.base_offset = spec.base_offset;
  options.partition_leader_epoch = spec.leader_epoch;
  if (spec.producer_id >= 0) {
    options.producer_id = spec.producer_id;
    options.producer_epoch = spec.producer_epoch;
    options.base_sequence = spec.sequence;
    options.transactional = spec.transactional;
  }
  record::BatchBuilder builder(options);
  const std::string value(spec.value_size, 'v');
  for (int i = 0; i < spec.records; ++i) {
    const TimestampMs timestamp =
        spec.timestamp < TimestampMs{0} ? spec.timestamp : TimestampMs{spec.timestamp.value + i};
    builder.add(timestamp, {}, as_bytes(value));
  }
  return builder.build();
}

// A one-record batch that is exactly `size` bytes long.
inline ByteVector make_batch_of_size(std::size_t size, BatchSpec spec = {}) {
  spec.value_size = 0;
  const std::size_t empty = make_batch(spec).size();
  spec.value_size = size - empty;
  while (make_batch(spec).size() > size) --spec.value_size;
  ByteVector batch = make_batch(spec);
  EXPECT_EQ(batch.size(), size);
  return batch;
}

inline ByteVector make_marker(std::int64_t producer_id, std::int16_t epoch, bool aborts,
                              std::int32_t coordinator_epoch = 0, TimestampMs timestamp = {1'700'000'000'000}) {
  record::MarkerToWrite marker;
  marker.producer_id = {producer_id};
  marker.producer_epoch = {epoch};
  marker.type = aborts ? record::ControlType::abort : record::ControlType::commit;
  marker.coordinator_epoch = coordinator_epoch;
  marker.timestamp = timestamp;
  return record::make_marker_batch(marker);
}

inline OpenOptions small_segments(StopKind last_stop = StopKind::clean) {
  OpenOptions options;
  options.config.segment_bytes = ByteCount{1000};
  options.config.segment_index_bytes = ByteCount{1000};
  options.config.index_interval_bytes = ByteCount{200};
  options.last_stop = last_stop;
  return options;
}

inline std::shared_ptr<PartitionLog> open_log(World& world, const OpenOptions& options,
                                              const io::Path& directory = kDirectory) {
  auto log = PartitionLog::open(world.environment(), directory, {"t", PartitionId{0}}, options);
  EXPECT_TRUE(log.has_value()) << log.error().message();
  return log.value();
}

inline AppendResult append(PartitionLog& log, const BatchSpec& spec, AppendOrigin origin = AppendOrigin::client,
                           LeaderEpoch epoch = {0}) {
  ByteVector batch = make_batch(spec);
  AppendResult result = log.append_as_leader(batch, epoch, origin);
  log.set_high_watermark(log.log_end_offset());
  return result;
}

inline AppendResult append_marker(PartitionLog& log, std::int64_t producer_id, bool aborts, std::int16_t epoch = 0) {
  ByteVector batch = make_marker(producer_id, epoch, aborts);
  AppendResult result = log.append_as_leader(batch, {0}, AppendOrigin::coordinator);
  log.set_high_watermark(log.log_end_offset());
  return result;
}

// The headers of the batches of a range, whose bytes must hold whole and valid batches.
inline std::vector<record::BatchHeader> batches_in(const FileRange& range) {
  std::vector<record::BatchHeader> headers;
  ByteVector bytes(static_cast<std::size_t>(range.size.value));
  if (bytes.empty()) return headers;
  EXPECT_EQ(range.source->read_at(range.position, bytes).value(), bytes.size());
  BytesView rest = bytes;
  while (!rest.empty()) {
    auto entry = record::check_entry(rest);
    EXPECT_TRUE(entry.has_value()) << entry.error().message();
    if (!entry) break;
    headers.push_back(*entry->header);
    rest = rest.subspan(static_cast<std::size_t>(entry->size.value));
  }
  return headers;
}

// Every batch from `from` to the log end, by as many reads as it takes.
inline std::vector<record::BatchHeader> read_all(const PartitionLog& log, Offset from,
                                                 ReadLimit limit = ReadLimit::log_end) {
  std::vector<record::BatchHeader> headers;
  while (true) {
    auto read = log.read({from, ByteCount{700}, true, limit});
    EXPECT_TRUE(read.has_value()) << read.error().message();
    if (!read || read->range.size == ByteCount{0}) return headers;
    for (const record::BatchHeader& header : batches_in(read->range)) {
      headers.push_back(header);
      from = header.next_offset();
    }
  }
}

inline std::vector<std::string> names_in(io::FileSystem& fs, const io::Path& directory = kDirectory) {
  std::vector<std::string> names;
  auto entries = fs.list(directory);
  EXPECT_TRUE(entries.has_value());
  for (const io::DirectoryEntry& entry : *entries) names.push_back(entry.name);
  return names;
}

inline std::string content_of(io::FileSystem& fs, const io::Path& path) {
  auto bytes = io::read_file(fs, path);
  EXPECT_TRUE(bytes.has_value()) << path;
  return bytes ? std::string(as_text(*bytes)) : "";
}

inline void put(io::FileSystem& fs, const io::Path& path, std::string_view content) {
  ASSERT_TRUE(fs.create_directories(io::Path(io::parent_of(path))).has_value());
  auto file = fs.open(path, io::OpenMode::truncate);
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE((*file)->write_at(FilePosition{0}, as_bytes(content)).has_value());
}

// All files below a directory with their contents.
inline std::vector<std::pair<std::string, std::string>> files_in(io::FileSystem& fs, const io::Path& directory = kDirectory) {
  std::vector<std::pair<std::string, std::string>> files;
  auto entries = fs.list(directory);
  EXPECT_TRUE(entries.has_value());
  for (const io::DirectoryEntry& entry : *entries) {
    const io::Path path = io::join(directory, entry.name);
    if (entry.kind == io::DirectoryEntry::Kind::directory) {
      for (auto& [name, content] : files_in(fs, path)) files.emplace_back(io::join(entry.name, name), std::move(content));
    } else {
      files.emplace_back(entry.name, content_of(fs, path));
    }
  }
  return files;
}

}  // namespace cordwood::storage::testing_support
