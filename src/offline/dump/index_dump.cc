#include "offline/dump/index_dump.h"

#include <fmt/format.h>

#include <map>

#include "base/crc32c.h"
#include "offline/dump/kafka_records.h"
#include "offline/records/message_json.h"
#include "storage/forward_reader.h"
#include "storage/txn_index.h"

namespace cordwood::offline {
namespace {

constexpr std::size_t kOffsetEntrySize = 8;
constexpr std::size_t kTimeEntrySize = 12;
constexpr ByteCount kLongestIndex{2 * GiB};

struct OffsetEntry {
  std::int64_t offset = 0;
  std::int32_t position = 0;
};
struct TimestampEntry {
  std::int64_t timestamp = 0;
  std::int64_t offset = 0;
};

// An index as Kafka maps it: whole entries, and a length of which the rest is looked at by the sanity check alone.
class OffsetIndexBytes {
 public:
  OffsetIndexBytes(ByteVector bytes, std::int64_t base) : bytes_(std::move(bytes)), base_(base) {}
  std::size_t length() const { return bytes_.size(); }
  std::size_t count() const { return bytes_.size() / kOffsetEntrySize; }
  OffsetEntry entry(std::size_t n) const {
    return {base_ + load_be<std::int32_t>(bytes_, n * kOffsetEntrySize), load_be<std::int32_t>(bytes_, n * kOffsetEntrySize + 4)};
  }

  // The search of Kafka, whose answer matters for entries that do not ascend as well: the newest 8 KiB first.
  OffsetEntry lookup(std::int64_t target) const {
    constexpr std::size_t kWarmEntries = 8192 / kOffsetEntrySize;
    if (count() == 0) return {base_, 0};
    const std::size_t last = count() - 1;
    const std::size_t first_hot = last > kWarmEntries ? last - kWarmEntries : 0;
    if (entry(first_hot).offset < target) return entry(search(first_hot, last, target));
    if (entry(0).offset > target) return {base_, 0};
    return entry(search(0, first_hot, target));
  }

 private:
  std::size_t search(std::size_t low, std::size_t high, std::int64_t target) const {
    while (low < high) {
      const std::size_t middle = (low + high + 1) / 2;
      const std::int64_t offset = entry(middle).offset;
      if (offset == target) return middle;
      if (offset > target) {
        high = middle - 1;
      } else {
        low = middle;
      }
    }
    return low;
  }

  ByteVector bytes_;
  std::int64_t base_;
};

// The batches of a .log as FileRecords.batches() walks them.
class LogBatches {
 public:
  LogBatches(std::shared_ptr<io::File> file, io::Path path, std::int64_t size)
      : file_(std::move(file)), path_(std::move(path)), size_(size), reader_(*file_, FilePosition{size}) {}

  std::int64_t size() const { return size_; }
  std::string described() const { return fmt::format("FileRecords(size={}, file={}, start=0, end={})", size_, path_, INT32_MAX); }

  Result<void> check_slice(std::int32_t position) const {
    if (position < 0) {
      return kafka_error(fmt::format("java.lang.IllegalArgumentException: Invalid position: {} in read from {}", position, described()));
    }
    if (position > size_) {
      return kafka_error(fmt::format("java.lang.IllegalArgumentException: Slice from position {} exceeds end position of {}", position, described()));
    }
    return {};
  }

  struct Batch {
    std::int64_t position = 0;
    std::int64_t size = 0;
    std::int8_t magic = 2;
    std::int64_t offset = 0;
  };
  // The one at `position` of a slice that ends at `end`. Nothing at the end. Errors: corrupt.
  Result<std::optional<Batch>> at(std::int64_t position, std::int64_t end) {
    if (position + static_cast<std::int64_t>(record::kMagicPrefix) >= end) return std::optional<Batch>();
    const std::optional<BytesView> prefix = TRY(reader_.bytes_at(FilePosition{position}, record::kMagicPrefix));
    if (!prefix) return std::optional<Batch>();
    const auto length = load_be<std::int32_t>(*prefix, record::kBatchLength);
    if (length < record::kSmallestLength) {
      return kafka_error(fmt::format("org.apache.kafka.common.errors.CorruptRecordException: Found record size {} smaller than minimum "
                                     "record overhead ({}) in file {}.", length, record::kSmallestLength, path_));
    }
    const std::int64_t size = static_cast<std::int64_t>(length) + static_cast<std::int64_t>(record::kLogOverhead);
    if (position + size > end) return std::optional<Batch>();
    return std::optional<Batch>({position, size, load_be<std::int8_t>(*prefix, record::kMagic), load_be<std::int64_t>(*prefix, 0)});
  }
  Result<std::int64_t> last_offset(const Batch& batch) {
    if (batch.magic < 2) return batch.offset;
    const std::optional<BytesView> header = TRY(reader_.bytes_at(FilePosition{batch.position}, record::kHeaderSize));
    if (!header) {
      return kafka_error(fmt::format("org.apache.kafka.common.KafkaException: Failed to load record batch at position {} from {}", batch.position, path_));
    }
    return record::BatchView(*header).header().last_offset().value;
  }
  Result<std::int64_t> max_record_timestamp(const Batch& batch) {
    std::int64_t newest = -1;
    const std::optional<BytesView> bytes = TRY(reader_.bytes_at(FilePosition{batch.position}, static_cast<std::size_t>(batch.size)));
    if (!bytes) return newest;
    record::ScratchBuffer scratch;
    if (batch.magic < 2) {
      for (const KafkaRecord& record : TRY(read_legacy_records(*bytes, scratch))) newest = std::max(newest, record.timestamp);
      return newest;
    }
    KafkaRecord record;
    KafkaRecordWalk walk = TRY(KafkaRecordWalk::begin(*bytes, scratch));
    while (TRY(walk.next(record))) newest = std::max(newest, record.timestamp);
    return newest;
  }

  // Kafka lists all batches from here to the end before it looks at one: an entry too short anywhere behind ends it all.
  Result<void> walk_to_end(std::int64_t position) {
    std::vector<std::int64_t> walked;
    while (!sound_.contains(position)) {
      const std::optional<Batch> batch = TRY(at(position, size_));
      if (!batch) break;
      walked.push_back(position);
      position += batch->size;
    }
    for (const std::int64_t one : walked) sound_[one] = true;
    return {};
  }

 private:
  std::shared_ptr<io::File> file_;
  io::Path path_;
  std::int64_t size_;
  storage::ForwardReader reader_;
  std::map<std::int64_t, bool> sound_;
};

Result<std::unique_ptr<LogBatches>> open_log(io::FileSystem& fs, const FileToDump& index) {
  const std::string name = fmt::format("{}.log", before_first_dot(io::file_name(index.absolute)));
  const io::Path path = io::join(io::parent_of(index.absolute), name);
  auto file = fs.open(path, io::OpenMode::read);
  if (!file) return java_open_error(file.error(), path);
  const ByteCount size = TRY((*file)->size());
  if (size.value > INT32_MAX) {
    return kafka_error(fmt::format("org.apache.kafka.common.KafkaException: The size of segment {} ({}) is larger than the maximum allowed "
                                   "segment size of {}", path, size, INT32_MAX));
  }
  return std::make_unique<LogBatches>(std::move(*file), path, size.value);
}

Result<ByteVector> read_index(io::FileSystem& fs, const io::Path& path) {
  auto bytes = io::read_file(fs, path, kLongestIndex);
  // Kafka would make an absent one here, and then refuse it.
  if (!bytes && bytes.error().code == Errc::not_found) {
    return kafka_error("java.lang.IllegalArgumentException: Invalid max index size: -1");
  }
  return bytes;
}

Error corrupt_index(std::string message) {
  return kafka_error("org.apache.kafka.storage.internals.log.CorruptIndexException: " + std::move(message));
}

void passed(const FileToDump& file, TextWriter& out) {
  out.text(file.opened);
  out.text(" passed sanity check.\n");
}

}  // namespace

Error java_open_error(const Error& error, const io::Path& path) {
  if (error.code == Errc::not_found) return kafka_error("java.nio.file.NoSuchFileException: " + path);
  if (error.sys_errno == 13) return kafka_error("java.nio.file.AccessDeniedException: " + path);
  return kafka_error("java.io.IOException: " + error.message());
}

Result<std::int64_t> offset_in_name(std::string_view name) {
  const std::string_view number = before_first_dot(name);
  if (const std::optional<std::int64_t> offset = parse_java_long(number)) return *offset;
  return kafka_error(fmt::format("java.lang.NumberFormatException: For input string: \"{}\"", number));
}

Result<void> dump_offset_index(io::FileSystem& fs, const FileToDump& file, IndexDumpMode mode, std::int32_t max_message_size,
                               OffsetPairs& mismatches, TextWriter& out) {
  const std::int64_t base = TRY(offset_in_name(io::file_name(file.opened)));
  const std::unique_ptr<LogBatches> log = TRY(open_log(fs, file));
  const OffsetIndexBytes index(TRY(read_index(fs, file.absolute)), base);
  if (index.count() == 0) {
    out.text(file.opened);
    out.text(" is empty.\n");
    return {};
  }
  if (mode == IndexDumpMode::sanity) {
    const std::int64_t last = index.entry(index.count() - 1).offset;
    if (last < base) {
      return corrupt_index(fmt::format("Corrupt index found, index file {} has non-zero size but the last offset is {} which is less than "
                                       "the base offset {}", file.absolute, last, base));
    }
    if (index.length() % kOffsetEntrySize != 0) {
      return corrupt_index(fmt::format("Index file {} is corrupt, found {} bytes which is neither positive nor a multiple of 8", file.absolute, index.length()));
    }
    passed(file, out);
    return {};
  }
  for (std::size_t i = 0; i < index.count(); ++i) {
    const OffsetEntry entry = index.entry(i);
    if (entry.offset == base && i > 0) return {};
    TRY(log->check_slice(entry.position));
    if (max_message_size < 0) {
      return kafka_error(fmt::format("java.lang.IllegalArgumentException: Invalid size: {} in read from {}", max_message_size, log->described()));
    }
    const std::int64_t end = std::min(log->size(), entry.position + std::int64_t{max_message_size});
    const auto batch = TRY(log->at(entry.position, end));
    if (!batch) return kafka_error("java.util.NoSuchElementException");
    const std::int64_t last_offset = TRY(log->last_offset(*batch));
    if (last_offset != entry.offset) mismatches[entry.offset] = last_offset;
    if (mode == IndexDumpMode::verify) continue;
    out.text("offset: ");
    out.number(entry.offset);
    out.text(" position: ");
    out.number(entry.position);
    out.character('\n');
  }
  return {};
}

Result<void> dump_time_index(io::FileSystem& fs, const FileToDump& file, IndexDumpMode mode, TimeIndexFaults& faults, TextWriter& out) {
  const std::int64_t base = TRY(offset_in_name(io::file_name(file.opened)));
  const std::unique_ptr<LogBatches> log = TRY(open_log(fs, file));
  const std::string stem(before_first_dot(io::file_name(file.absolute)));
  const OffsetIndexBytes offsets(TRY(read_index(fs, io::join(io::parent_of(file.absolute), stem + ".index"))), base);
  const ByteVector bytes = TRY(read_index(fs, file.absolute));
  const std::size_t count = bytes.size() / kTimeEntrySize;
  const auto entry_at = [&](std::size_t n) {
    return TimestampEntry{load_be<std::int64_t>(bytes, n * kTimeEntrySize), base + load_be<std::int32_t>(bytes, n * kTimeEntrySize + 8)};
  };
  if (mode == IndexDumpMode::sanity) {
    if (count > 0) {
      const TimestampEntry last = entry_at(count - 1);
      if (last.timestamp < entry_at(0).timestamp) {
        return corrupt_index(fmt::format("Corrupt time index found, time index file ({}) has non-zero size but the last timestamp is {} "
                                         "which is less than the first timestamp {}", file.absolute, last.timestamp, entry_at(0).timestamp));
      }
      if (last.offset < base) {
        return corrupt_index(fmt::format("Corrupt time index found, time index file ({}) has non-zero size but the last offset is {} which "
                                         "is less than the first offset {}", file.absolute, last.offset, base));
      }
    }
    if (bytes.size() % kTimeEntrySize != 0) {
      return corrupt_index(fmt::format("Time index file {} is corrupt, found {} bytes which is neither positive nor a multiple of 12",
                                       file.absolute, bytes.size()));
    }
    passed(file, out);
    return {};
  }
  std::int64_t previous = -1;
  for (std::size_t i = 0; i < count; ++i) {
    const TimestampEntry entry = entry_at(i);
    if (entry.offset == base && i > 0) return {};
    const std::int32_t position = offsets.lookup(entry.offset).position;
    TRY(log->check_slice(position));
    TRY(log->walk_to_end(position));
    std::optional<LogBatches::Batch> found;
    std::int64_t found_last = 0;
    for (std::int64_t at = position;;) {
      const auto batch = TRY(log->at(at, log->size()));
      if (!batch) break;
      found_last = TRY(log->last_offset(*batch));
      if (found_last >= entry.offset) {
        found = batch;
        break;
      }
      at += batch->size;
    }
    if (!found) {
      faults.wrong_offsets.emplace_back(entry.offset, -1);
    } else if (found_last != entry.offset) {
      faults.wrong_offsets.emplace_back(entry.offset, found_last);
    } else {
      const std::int64_t newest = TRY(log->max_record_timestamp(*found));
      if (newest != entry.timestamp) faults.wrong_timestamps.emplace_back(entry.timestamp, newest);
      if (previous >= entry.timestamp) faults.out_of_order.emplace_back(entry.timestamp, previous);
    }
    if (mode == IndexDumpMode::print) {
      out.text("timestamp: ");
      out.number(entry.timestamp);
      out.text(" offset: ");
      out.number(entry.offset);
      out.character('\n');
    }
    previous = entry.timestamp;
  }
  return {};
}

Result<void> dump_txn_index(io::FileSystem& fs, const FileToDump& file, TextWriter& out) {
  TRY(offset_in_name(io::file_name(file.opened)));
  auto bytes = io::read_file(fs, file.absolute, kLongestIndex);
  if (!bytes) {
    if (bytes.error().code == Errc::not_found) return {};
    return java_open_error(bytes.error(), file.opened);
  }
  constexpr auto kEntrySize = static_cast<std::size_t>(storage::TxnIndex::kEntrySize);
  // All entries are read before the first is shown.
  for (std::size_t at = 0; bytes->size() - at >= kEntrySize; at += kEntrySize) {
    if (const auto version = load_be<std::int16_t>(*bytes, at); version != 0) {
      return kafka_error(fmt::format("org.apache.kafka.common.KafkaException: Unexpected aborted transaction version {} in transaction index {}, "
                                     "supported version range is 0 to 0", version, file.absolute));
    }
  }
  for (std::size_t at = 0; bytes->size() - at >= kEntrySize; at += kEntrySize) {
    ByteReader in(BytesView(*bytes).subspan(at, kEntrySize));
    in.skip(2);
    out.text("version: 0 producerId: ");
    out.number(in.i64());
    out.text(" firstOffset: ");
    out.number(in.i64());
    out.text(" lastOffset: ");
    out.number(in.i64());
    out.text(" lastStableOffset: ");
    out.number(in.i64());
    out.character('\n');
  }
  return {};
}

Result<void> dump_producer_snapshot(io::FileSystem& fs, const FileToDump& file, TextWriter& out, TextWriter& complaints) {
  auto bytes = io::read_file(fs, file.absolute, kLongestIndex);
  if (!bytes) return java_open_error(bytes.error(), file.opened);
  FaultReader in(*bytes);
  const std::int16_t version = in.i16();
  const auto complain = [&](std::string what) {
    complaints.text(what);
    complaints.character('\n');
    return Result<void>();
  };
  if (!in.fault() && version != 1) return complain(fmt::format("Snapshot failed schema validation: Snapshot contained an unknown file version {}", version));
  struct Entry {
    std::int64_t producer_id;
    std::int16_t epoch;
    std::int32_t last_sequence;
    std::int64_t last_offset;
    std::int32_t offset_delta;
    std::int64_t timestamp;
    std::int32_t coordinator_epoch;
    std::int64_t first_offset;
  };
  const std::uint32_t stored_crc = in.u32();
  const std::int32_t count = in.i32();
  std::vector<Entry> entries;
  if (!in.fault() && count < 0) in.fail("", "non-nullable field producerEntries was serialized as null");
  if (!in.fault() && static_cast<std::size_t>(count) > in.remaining()) {
    in.fail("", fmt::format("Tried to allocate a collection of size {}, but there are only {} bytes remaining.", count, in.remaining()));
  }
  for (std::int32_t i = 0; i < count && !in.fault(); ++i) {
    // In the order of the bytes: each initializer is evaluated before the next.
    entries.push_back(Entry{in.i64(), in.i16(), in.i32(), in.i64(), in.i32(), in.i64(), in.i32(), in.i64()});
  }
  if (in.fault()) return complain(fmt::format("Snapshot failed schema validation: {}", in.fault()->message.value_or("null")));
  constexpr std::size_t kCountAt = 6;
  if (const std::uint32_t computed = crc32c(BytesView(*bytes).subspan(kCountAt)); computed != stored_crc) {
    return complain(fmt::format("Snapshot is corrupt (CRC is no longer valid). Stored crc: {}. Computed crc: {}", stored_crc, computed));
  }
  for (const Entry& entry : entries) {
    out.text("producerId: ");
    out.number(entry.producer_id);
    out.text(" producerEpoch: ");
    out.number(entry.epoch);
    out.text(" coordinatorEpoch: ");
    out.number(entry.coordinator_epoch);
    out.text(" currentTxnFirstOffset: ");
    if (entry.first_offset >= 0) {
      out.text("OptionalLong[");
      out.number(entry.first_offset);
      out.character(']');
    } else {
      out.text("OptionalLong.empty");
    }
    out.text(" lastTimestamp: ");
    out.number(entry.timestamp);
    if (entry.last_offset >= 0) {
      out.text(" firstSequence: ");
      out.number(record::subtract_sequence(entry.last_sequence, entry.offset_delta));
      out.text(" lastSequence: ");
      out.number(entry.last_sequence);
      out.text(" lastOffset: ");
      out.number(entry.last_offset);
      out.text(" offsetDelta: ");
      out.number(entry.offset_delta);
      out.text(" timestamp: ");
      out.number(entry.timestamp);
    }
    out.character('\n');
  }
  return {};
}

}  // namespace cordwood::offline
