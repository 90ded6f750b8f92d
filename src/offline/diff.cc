// diff A B [TOPIC[:PARTITION]…]: which records of two directories differ, offset by offset. How they are batched, compressed and
// led does not count, unless --bytes asks for the batches themselves.
#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "base/random.h"
#include "cli/command.h"
#include "cli/help.h"
#include "offline/data_directory.h"
#include "offline/record_walk.h"
#include "offline/rendering.h"
#include "storage/cleaner/key_hash.h"

namespace cordwood::offline {
namespace {

using cli::Options;
using cli::Session;

constexpr cli::OptionSpec kDiffOptions[] = {
    {.name = "bytes", .help = "compare batches byte by byte instead of records", .letter = 'b'},
    {.name = "limit", .argument = "N", .help = "print at most so many differences of a partition", .letter = 'n', .default_text = "20"},
    {.name = "json", .help = "JSON lines"},
    {.name = "help", .help = "this text", .letter = 'h'},
};
constexpr cli::Positional kDiffPositionals[] = {
    {.name = "A", .help = "a log directory, several with commas, or a partition directory"},
    {.name = "B", .help = "the other one"},
    {.name = "TOPIC", .help = "or TOPIC:PARTITION; a topic may end in *; all when absent", .required = false, .repeatable = true},
};
constexpr cli::Grammar kDiffGrammar{.habit = cli::Habit::own, .options = kDiffOptions, .positionals = kDiffPositionals};

// What is compared: of a record its parts, of a batch (--bytes) its bytes as one.
struct DiffItem {
  Offset offset;
  std::int64_t timestamp = 0;
  std::uint64_t key = 0;
  std::uint64_t value = 0;
  std::uint64_t headers = 0;
  bool operator==(const DiffItem&) const = default;
};

// The items of one partition in the order of the log, a piece at a time.
class DiffStream {
 public:
  DiffStream(io::FileSystem& fs, const PartitionOnDisk* partition, const storage::KeyHasher& hasher, bool bytes)
      : plan_(fs, partition == nullptr ? std::vector<const PartitionOnDisk*>() : std::vector{partition}), hasher_(hasher), bytes_(bytes) {}

  const DiffItem* peek() {
    while (at_ == items_.size() && fill()) {
    }
    return at_ < items_.size() ? &items_[at_] : nullptr;
  }
  void pop() { ++at_; }
  // Reads what peek() would need next.
  void prepare() { peek(); }
  ByteCount damaged() const { return damaged_; }
  const std::vector<std::string>& warnings() const { return plan_.warnings(); }

 private:
  std::uint64_t hash(std::optional<BytesView> bytes) const { return bytes ? hasher_(*bytes).low : 0; }

  bool fill() {
    const std::optional<Piece> piece = plan_.next();
    if (!piece) return false;
    items_.clear();
    at_ = 0;
    const auto look = [&](BytesView entry, const record::EntryInfo& info, FilePosition) {
      if (bytes_) {
        items_.push_back({info.base_offset, info.last_offset.value, hash(entry), 0, 0});
        return record::Walk::go_on;
      }
      const auto walked = walk_records_of(entry, info, [&](const record::RecordView& record) {
        add(record);
        return record::Walk::go_on;
      });
      if (!walked) damaged_ += info.size;
      return record::Walk::go_on;
    };
    const auto damage = walk_entries(*piece->file, piece->from, piece->end, piece->on_disk().base_offset, look);
    if (damage) {
      for (const Damage& one : *damage) damaged_ += one.size;
    } else {
      damaged_ += piece->end - piece->from;
    }
    return true;
  }

  void add(const record::RecordView& record) {
    DiffItem item{record.offset, record.timestamp.value, hash(record.key), hash(record.value), 0};
    if (!record.headers.empty()) {
      ByteWriter all;
      for (const record::HeaderView& header : record.headers) {
        all.i64(static_cast<std::int64_t>(header.key.size()));
        all.text(header.key);
        all.i64(header.value ? static_cast<std::int64_t>(header.value->size()) : -1);
        if (header.value) all.bytes(*header.value);
      }
      item.headers = hash(all.view());
    }
    items_.push_back(item);
  }

  PiecePlan plan_;
  const storage::KeyHasher& hasher_;
  const bool bytes_;
  std::vector<DiffItem> items_;
  std::size_t at_ = 0;
  ByteCount damaged_{0};
};

struct Difference {
  Offset offset;
  std::string what;
};

struct PartitionDifference {
  std::vector<Difference> shown;
  std::int64_t count = 0;
  std::int64_t compared = 0;
  ByteCount damaged_a, damaged_b;
};

std::string parts_that_differ(const DiffItem& a, const DiffItem& b, bool bytes) {
  if (bytes) return "the batch differs";
  std::vector<std::string_view> parts;
  if (a.timestamp != b.timestamp) parts.push_back("timestamp");
  if (a.key != b.key) parts.push_back("key");
  if (a.value != b.value) parts.push_back("value");
  if (a.headers != b.headers) parts.push_back("headers");
  return fmt::format("differs: {}", fmt::join(parts, ", "));
}

PartitionDifference compare(DiffStream& a, DiffStream& b, bool bytes, std::size_t limit, const std::atomic<bool>& interrupted) {
  PartitionDifference result;
  const auto note = [&](Offset offset, std::string what) {
    ++result.count;
    if (result.shown.size() < limit) result.shown.push_back({offset, std::move(what)});
  };
  while (!interrupted) {
    const DiffItem* in_a = a.peek();
    const DiffItem* in_b = b.peek();
    if (in_a == nullptr && in_b == nullptr) break;
    ++result.compared;
    if (in_b == nullptr || (in_a != nullptr && in_a->offset < in_b->offset)) {
      note(in_a->offset, "only in A");
      a.pop();
    } else if (in_a == nullptr || in_b->offset < in_a->offset) {
      note(in_b->offset, "only in B");
      b.pop();
    } else {
      if (*in_a != *in_b) note(in_a->offset, parts_that_differ(*in_a, *in_b, bytes));
      a.pop();
      b.pop();
    }
  }
  result.damaged_a = a.damaged();
  result.damaged_b = b.damaged();
  return result;
}

class Comparison {
 public:
  Comparison(Session& session, bool bytes, std::size_t limit, bool json)
      : session_(session), hasher_(session.random), bytes_(bytes), limit_(limit), json_(json) {}

  // Partitions are compared side by side and told in their order. Answers whether anything differs.
  bool run(const std::map<TopicPartition, std::pair<const PartitionOnDisk*, const PartitionOnDisk*>>& pairs) {
    std::vector<std::pair<TopicPartition, std::pair<const PartitionOnDisk*, const PartitionOnDisk*>>> work(pairs.begin(), pairs.end());
    std::vector<PartitionDifference> results(work.size());
    std::atomic<std::size_t> next{0};
    const auto worker = [&] {
      for (std::size_t i = next++; i < work.size(); i = next++) {
        DiffStream a(session_.files, work[i].second.first, hasher_, bytes_);
        DiffStream b(session_.files, work[i].second.second, hasher_, bytes_);
        results[i] = compare(a, b, bytes_, limit_, session_.interrupted);
      }
    };
    std::vector<std::thread> crew;
    const auto threads = std::min<std::size_t>(static_cast<std::size_t>(walking_threads()), work.size());
    for (std::size_t i = 1; i < threads; ++i) crew.emplace_back(worker);
    worker();
    for (std::thread& thread : crew) thread.join();
    bool differs = false;
    for (std::size_t i = 0; i < work.size(); ++i) {
      tell(work[i].first, results[i]);
      differs = differs || results[i].count > 0;
    }
    return differs;
  }

 private:
  void tell(const TopicPartition& partition, const PartitionDifference& result) {
    for (const auto& [name, damaged] : {std::pair("A", result.damaged_a), std::pair("B", result.damaged_b)}) {
      if (damaged > ByteCount{0}) {
        session_.err.print("cordwood diff: {} in {}: {} bytes could not be read and count as absent\n", partition.to_string(), name, damaged);
      }
    }
    for (const Difference& difference : result.shown) {
      if (json_) {
        std::string out;
        JsonLine line(out);
        line.text("topic", partition.topic).number("partition", partition.partition.value);
        line.number("offset", difference.offset.value).text("says", difference.what);
        line.end();
        session_.out.write(out);
      } else {
        session_.out.print("{}@{}: {}\n", partition.to_string(), difference.offset, difference.what);
      }
    }
    if (json_) return;
    const auto hidden = result.count - static_cast<std::int64_t>(result.shown.size());
    if (hidden > 0) session_.out.print("{}: {} more differences\n", partition.to_string(), hidden);
  }

  Session& session_;
  storage::KeyHasher hasher_;
  const bool bytes_;
  const std::size_t limit_;
  const bool json_;
};

Result<int> diff_directories(const Options& options, Session& session) {
  if (options.words().size() < 2) return Error{Errc::invalid, "two directories are compared"};
  auto limit = options.long_value("limit");
  if (!limit) return Error{Errc::invalid, limit.mistake().message};
  const std::vector<std::string> choices(options.words().begin() + 2, options.words().end());
  std::map<TopicPartition, std::pair<const PartitionOnDisk*, const PartitionOnDisk*>> pairs;
  const DataDirectory a = TRY(open_data_directory(session.files, options.words()[0]));
  const DataDirectory b = TRY(open_data_directory(session.files, options.words()[1]));
  const bool in_a_alone = !choose(b, choices).has_value();
  const bool in_b_alone = !choose(a, choices).has_value();
  if (in_a_alone && in_b_alone) return choose(a, choices).error();
  if (!in_b_alone) {
    const auto partitions = TRY(choose(a, choices));
    for (const PartitionOnDisk* partition : partitions) pairs[partition->partition].first = partition;
  }
  if (!in_a_alone) {
    const auto partitions = TRY(choose(b, choices));
    for (const PartitionOnDisk* partition : partitions) pairs[partition->partition].second = partition;
  }
  std::int64_t one_sided = 0;
  for (const auto& [partition, pair] : pairs) {
    if (pair.first != nullptr && pair.second != nullptr) continue;
    ++one_sided;
    session.out.print("{}", options.has("json") ? "" : fmt::format("{}: only in {}\n", partition.to_string(), pair.first != nullptr ? "A" : "B"));
  }
  Comparison comparison(session, options.has("bytes"), static_cast<std::size_t>(std::max<std::int64_t>(0, (*limit).value_or(20))),
                        options.has("json"));
  const bool differs = comparison.run(pairs);
  if (session.interrupted) return 2;
  return differs || one_sided > 0 ? 1 : 0;
}

int run_diff(const cli::Command& self, const cli::Words& words, Session& session) {
  return cli::run_own(self, words, session, diff_directories, 2);
}

}  // namespace

extern const cli::Command diff_command{
    .name = "diff",
    .summary = "which records of two directories differ",
    .details = "Exit codes: 0 nothing differs, 1 something does, 2 it could not be told.",
    .grammar = &kDiffGrammar,
    .run = run_diff,
};

}  // namespace cordwood::offline
