#include "offline/dump/segment_dump.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "offline/dump/kafka_records.h"
#include "storage/forward_reader.h"

namespace cordwood::offline {
namespace {

// Offsets over all entries, whoever printed them.
class OffsetRun {
 public:
  explicit OffsetRun(OffsetPairs& gaps) : gaps_(gaps) {}

  void add(const EntryPrinter& printer) {
    if (!printer.first_offset()) return;
    if (last_ + 1 != *printer.first_offset()) gaps_[last_] = *printer.first_offset();
    for (const auto& [offset, found] : printer.gaps()) gaps_[offset] = found;
    last_ = *printer.last_offset();
  }

 private:
  OffsetPairs& gaps_;
  std::int64_t last_ = -1;
};

// Entries that lie one behind the other, and what was made of them.
struct DumpBlock {
  ByteVector bytes;
  std::size_t size = 0;  // of `bytes`, those of whole entries
  FilePosition position;
  TextWriter text;
  std::unique_ptr<EntryPrinter> printer;
  Result<void> outcome;
  bool done = false;
};

// How many bytes of `bytes` are whole entries in which nothing is odd.
std::size_t ordinary_entries(BytesView bytes) {
  std::size_t at = 0;
  while (bytes.size() - at >= record::kHeaderSize) {
    const auto length = load_be<std::int32_t>(bytes, at + record::kBatchLength);
    if (length < record::kSmallestLength) break;
    const std::size_t size = static_cast<std::size_t>(length) + record::kLogOverhead;
    if (size < record::kHeaderSize || size > bytes.size() - at) break;
    at += size;
  }
  return at;
}

Result<void> print_block(DumpBlock& block) {
  const BytesView bytes(block.bytes.data(), block.size);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = static_cast<std::size_t>(load_be<std::int32_t>(bytes, at + record::kBatchLength)) + record::kLogOverhead;
    const BytesView entry = bytes.subspan(at, size);
    const FilePosition position = block.position + ByteCount{static_cast<std::int64_t>(at)};
    if (load_be<std::int8_t>(entry, record::kMagic) < 2) {
      TRY(block.printer->legacy_entry(entry, position));
    } else {
      TRY(block.printer->batch(entry, entry, position));
    }
    at += size;
  }
  return {};
}

// Threads that print blocks. The one that made it reads the file, hands blocks in and takes them out in the same order.
class DumpCrew {
 public:
  explicit DumpCrew(int threads) {
    for (int i = 0; i < threads; ++i) crew_.emplace_back([this] { work(); });
  }
  ~DumpCrew() {
    {
      std::unique_lock lock(mu_);
      over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : crew_) thread.join();
  }

  void hand_in(DumpBlock& block) {
    {
      std::unique_lock lock(mu_);
      block.done = false;
      waiting_.push_back(&block);
    }
    changed_.notify_all();
  }
  void wait_for(const DumpBlock& block) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return block.done; });
  }

 private:
  void work() {
    std::unique_lock lock(mu_);
    while (true) {
      changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
      if (over_) return;
      DumpBlock* const block = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      Result<void> outcome = print_block(*block);
      lock.lock();
      block->outcome = std::move(outcome);
      block->done = true;
      changed_.notify_all();
    }
  }

  Mutex mu_;  // over all that follows, and over `done` and `outcome` of blocks that were handed in
  ConditionVariable changed_;
  std::deque<DumpBlock*> waiting_;
  bool over_ = false;
  std::vector<std::thread> crew_;
};

class SegmentDump {
 public:
  // Headers are read beyond `end` when they must.
  SegmentDump(const io::File& file, const std::string& path, ByteCount size, FilePosition end, const SegmentDumpOptions& options,
              const RecordDecoder& decoder, OffsetPairs& gaps, TextWriter& out)
      : file_(file), reader_(file, FilePosition{size.value}), path_(path), end_(end), options_(options), decoder_(decoder), run_(gaps),
        out_(out) {}

  // As far as all entries are ordinary ones.
  Result<void> run_in_parallel() {
    std::vector<std::unique_ptr<DumpBlock>> free;
    std::deque<std::unique_ptr<DumpBlock>> under_way;  // longer than the crew, which works on them
    const std::size_t ahead = 2 * static_cast<std::size_t>(options_.threads);
    DumpCrew crew(options_.threads);
    FilePosition next = position_;
    bool at_end = false;
    while (!out_.failed()) {
      while (!at_end && under_way.size() < ahead) {
        std::unique_ptr<DumpBlock> block;
        if (free.empty()) {
          block = std::make_unique<DumpBlock>();
          block->printer = std::make_unique<EntryPrinter>(options_, decoder_, block->text);
        } else {
          block = std::move(free.back());
          free.pop_back();
        }
        TRY(fill(*block, next));
        at_end = block->size == 0;
        if (at_end) break;
        next += ByteCount{static_cast<std::int64_t>(block->size)};
        crew.hand_in(*block);
        under_way.push_back(std::move(block));
      }
      if (under_way.empty()) break;
      std::unique_ptr<DumpBlock> block = std::move(under_way.front());
      under_way.pop_front();
      crew.wait_for(*block);
      out_.text(block->text.gathered());
      run_.add(*block->printer);
      position_ = block->position + ByteCount{static_cast<std::int64_t>(block->size)};
      TRY(std::move(block->outcome));
      free.push_back(std::move(block));
    }
    return {};
  }

  Result<void> run() {
    EntryPrinter printer(options_, decoder_, out_);
    Result<void> outcome = print_entries(printer);
    run_.add(printer);
    return outcome;
  }

  FilePosition position() const { return position_; }

 private:
  static constexpr std::size_t kLongestBlock = 64 * MiB;

  // Whole ordinary entries from `from` on; none at the end of them, or where one is longer than a block may be.
  Result<void> fill(DumpBlock& block, FilePosition from) {
    block.position = from;
    block.size = 0;
    block.text.forget_gathered();
    block.printer->forget();
    const auto left = static_cast<std::size_t>(std::max<std::int64_t>((end_ - from).value, 0));
    std::size_t wanted = options_.block_bytes;
    while (true) {
      wanted = std::min(wanted, left);
      if (block.bytes.size() < wanted) block.bytes.resize(wanted);
      const std::size_t got = TRY(file_.read_at(from, MutableBytesView(block.bytes.data(), wanted)));
      block.size = ordinary_entries(BytesView(block.bytes.data(), got));
      if (block.size > 0 || got < wanted || wanted == left || got < record::kHeaderSize) return {};
      // The first one is longer, or odd.
      const auto length = load_be<std::int32_t>(block.bytes, record::kBatchLength);
      const std::size_t size = length < record::kSmallestLength ? 0 : static_cast<std::size_t>(length) + record::kLogOverhead;
      if (size <= wanted || size > kLongestBlock) return {};
      wanted = size;
    }
  }

  Result<void> print_entries(EntryPrinter& printer) {
    while (!out_.failed()) {
      if (position_ + ByteCount{record::kMagicPrefix} >= end_) break;
      const std::optional<BytesView> prefix = TRY(reader_.bytes_at(position_, record::kMagicPrefix));
      if (!prefix) break;
      const auto length = load_be<std::int32_t>(*prefix, record::kBatchLength);
      if (length < record::kSmallestLength) {
        return kafka_error(fmt::format("org.apache.kafka.common.errors.CorruptRecordException: Found record size {} smaller than minimum "
                                       "record overhead ({}) in file {}.", length, record::kSmallestLength, path_));
      }
      const std::size_t size = static_cast<std::size_t>(length) + record::kLogOverhead;
      if (position_ + ByteCount{static_cast<std::int64_t>(size)} > end_) break;
      const std::optional<BytesView> entry = TRY(reader_.bytes_at(position_, size));
      if (!entry) break;
      if (load_be<std::int8_t>(*entry, record::kMagic) < 2) {
        TRY(printer.legacy_entry(*entry, position_));
      } else if (entry->size() >= record::kHeaderSize) {
        TRY(printer.batch(*entry, *entry, position_));
      } else {
        TRY(short_batch(printer, ByteVector(entry->begin(), entry->end())));
      }
      position_ += ByteCount{static_cast<std::int64_t>(size)};
    }
    return {};
  }

  // The header is read from the file, whatever the length says of the batch.
  Result<void> short_batch(EntryPrinter& printer, const ByteVector& entry) {
    const std::optional<BytesView> header = TRY(reader_.bytes_at(position_, record::kHeaderSize));
    if (!header) {
      return kafka_error(fmt::format("org.apache.kafka.common.KafkaException: Failed to load record batch at position {} from {}", position_, path_));
    }
    return printer.batch(entry, *header, position_);
  }

  const io::File& file_;
  storage::ForwardReader reader_;
  const std::string& path_;
  FilePosition end_;
  FilePosition position_{0};
  const SegmentDumpOptions& options_;
  const RecordDecoder& decoder_;
  OffsetRun run_;
  TextWriter& out_;
};

}  // namespace

Result<void> dump_segment(io::File& file, const std::string& path, const SegmentDumpOptions& options,
                          const RecordDecoder& decoder, OffsetPairs& gaps, TextWriter& out) {
  const ByteCount size = TRY(file.size());
  const FilePosition end{std::min<std::int64_t>(size.value, options.max_bytes)};
  SegmentDump dump(file, path, size, end, options, decoder, gaps, out);
  // A thread costs more than a small file.
  const bool is_long = end.value > 4 * static_cast<std::int64_t>(options.block_bytes);
  if (options.threads > 1 && is_long && options.records && decoder.is_plain_text()) TRY(dump.run_in_parallel());
  TRY(dump.run());
  if (end > dump.position() && options.max_bytes == INT32_MAX) {
    out.text("Found ");
    out.number((end - dump.position()).value);
    out.text(" invalid bytes at the end of ");
    out.text(io::file_name(path));
    out.character('\n');
  }
  return {};
}

}  // namespace cordwood::offline
