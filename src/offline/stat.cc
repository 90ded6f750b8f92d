// stat DIR [TOPIC[:PARTITION]…]: what is in logs: records, keys, codecs, batches, producers, times; live and dead bytes by key.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "cli/command.h"
#include "cli/help.h"
#include "offline/data_directory.h"
#include "offline/record_walk.h"
#include "offline/rendering.h"
#include "record/record_walk.h"
#include "storage/cleaner/key_hash.h"
#include "storage/retention.h"

namespace cordwood::offline {
namespace {

using cli::Options;
using cli::Session;

constexpr cli::OptionSpec kStatOptions[] = {
    {.name = "segments", .help = "a part for each segment too", .letter = 's'},
    {.name = "top", .argument = "N", .help = "the N keys with the most records of each partition", .letter = 't'},
    {.name = "json", .help = "JSON lines"},
    {.name = "help", .help = "this text", .letter = 'h'},
};
constexpr cli::Positional kStatPositionals[] = {
    {.name = "DIR", .help = "a log directory, several with commas, or a partition directory"},
    {.name = "TOPIC", .help = "or TOPIC:PARTITION; a topic may end in *; all but the metadata log when absent", .required = false, .repeatable = true},
};
constexpr cli::Grammar kStatGrammar{.habit = cli::Habit::own, .options = kStatOptions, .positionals = kStatPositionals};

// Keys of one partition that are told apart at a time, and producers of anything.
constexpr std::size_t kStatMostKeys = 4'000'000;
constexpr std::size_t kStatMostProducers = 10'000;

struct StatTotals {
  std::int64_t segments = 0, batches = 0, control_batches = 0, transactional_batches = 0, records = 0, tombstones = 0, without_key = 0;
  ByteCount bytes, damaged;
  ByteCount stored_compressed, inflated;  // records of compressed batches, as they lie and inflated
  ByteCount smallest_batch{INT64_MAX}, largest_batch;
  std::map<std::string, std::int64_t> batches_by_codec;
  std::map<std::int64_t, std::int64_t> records_by_producer;
  TimestampMs first_time{INT64_MAX}, last_time{INT64_MIN};
  TimestampMs previous_time{INT64_MIN};  // of the record before, for what is out of order
  std::int64_t out_of_order = 0, future = 0, without_time = 0;
  std::optional<Offset> first_offset, last_offset;

  void add_time(TimestampMs time, TimestampMs now) {
    if (time == kNoTimestamp) {
      ++without_time;
      return;
    }
    first_time = std::min(first_time, time);
    last_time = std::max(last_time, time);
    if (time < previous_time) ++out_of_order;
    if (time > now) ++future;
    previous_time = time;
  }
  // What comes behind this in the log. Of another log: `continues` is false.
  void add(const StatTotals& more, bool continues) {
    if (continues && more.first_seen && previous_time > *more.first_seen) ++out_of_order;
    if (!first_seen) first_seen = more.first_seen;
    segments += more.segments;
    batches += more.batches;
    control_batches += more.control_batches;
    transactional_batches += more.transactional_batches;
    records += more.records;
    tombstones += more.tombstones;
    without_key += more.without_key;
    bytes += more.bytes;
    damaged += more.damaged;
    stored_compressed += more.stored_compressed;
    inflated += more.inflated;
    smallest_batch = std::min(smallest_batch, more.smallest_batch);
    largest_batch = std::max(largest_batch, more.largest_batch);
    for (const auto& [codec, count] : more.batches_by_codec) batches_by_codec[codec] += count;
    for (const auto& [producer, count] : more.records_by_producer) {
      if (records_by_producer.size() < kStatMostProducers || records_by_producer.contains(producer)) records_by_producer[producer] += count;
    }
    first_time = std::min(first_time, more.first_time);
    last_time = std::max(last_time, more.last_time);
    if (more.previous_time.value != INT64_MIN) previous_time = more.previous_time;
    out_of_order += more.out_of_order;
    future += more.future;
    without_time += more.without_time;
    if (!continues) return;  // offsets of different logs have nothing to do with each other
    if (!first_offset) first_offset = more.first_offset;
    if (more.last_offset) last_offset = more.last_offset;
  }
  std::optional<TimestampMs> first_seen;  // the first record's time
};

struct StatKeyed {
  storage::KeyHash hash;
  std::int64_t size = 0;
  bool tombstone = false;
  std::string key;  // with --top only
};

struct StatPart {
  StatTotals totals;
  std::vector<StatKeyed> keyed;
  std::optional<Error> error;
  std::vector<Damage> damage;
};

class StatWork {
 public:
  StatWork(const storage::KeyHasher& hasher, TimestampMs now, bool keeps_keys) : hasher_(hasher), now_(now), keeps_keys_(keeps_keys) {}

  StatPart operator()(const Piece& piece) const {
    StatPart part;
    part.totals.bytes = piece.end - piece.from;
    if (piece.from == FilePosition{0}) part.totals.segments = 1;
    auto damage = walk_entries(*piece.file, piece.from, piece.end, piece.on_disk().base_offset,
                               [&](BytesView entry, const record::EntryInfo& info, FilePosition position) {
                                 if (const auto read = entry_of(entry, info, part); !read) {
                                   part.damage.push_back({position, info.size, read.error().what});
                                 }
                                 return record::Walk::go_on;
                               });
    if (damage) {
      part.damage.insert(part.damage.end(), damage->begin(), damage->end());
    } else {
      part.error = damage.error();
    }
    for (const Damage& one : part.damage) part.totals.damaged += one.size;
    return part;
  }

 private:
  Result<void> entry_of(BytesView entry, const record::EntryInfo& info, StatPart& part) const {
    StatTotals& t = part.totals;
    ++t.batches;
    t.smallest_batch = std::min(t.smallest_batch, info.size);
    t.largest_batch = std::max(t.largest_batch, info.size);
    if (!t.first_offset) t.first_offset = info.base_offset;
    t.last_offset = info.last_offset;
    const record::BatchHeader* header = info.header ? &*info.header : nullptr;
    if (header != nullptr) {
      const auto codec = record::codec_from_bits(header->codec_bits());
      ++t.batches_by_codec[codec ? record::to_string(*codec) : "unknown"];
      if (header->is_transactional()) ++t.transactional_batches;
      if (header->is_control()) {
        ++t.control_batches;
        return {};
      }
      if (header->has_producer_id()) t.records_by_producer[header->producer_id] += header->record_count;
    } else {
      ++t.batches_by_codec["legacy"];
    }
    ByteCount plain{0};
    TRY(walk_records_of(entry, info, [&](const record::RecordView& record) {
      const std::size_t bytes = (record.key ? record.key->size() : 0) + (record.value ? record.value->size() : 0);
      plain += ByteCount{static_cast<std::int64_t>(bytes)};
      ++t.records;
      if (!t.first_seen && record.timestamp != kNoTimestamp) t.first_seen = record.timestamp;
      t.add_time(record.timestamp, now_);
      if (!record.value) ++t.tombstones;
      if (!record.key) {
        ++t.without_key;
        return record::Walk::go_on;
      }
      StatKeyed& keyed = part.keyed.emplace_back();
      keyed.hash = hasher_(*record.key);
      keyed.size = static_cast<std::int64_t>(bytes);
      keyed.tombstone = !record.value;
      if (keeps_keys_) keyed.key = std::string(as_text(*record.key).substr(0, 200));
      return record::Walk::go_on;
    }));
    if (header != nullptr && header->codec_bits() != 0) {
      t.stored_compressed += info.size;
      t.inflated += plain;
    }
    return {};
  }

  const storage::KeyHasher& hasher_;
  const TimestampMs now_;
  const bool keeps_keys_;
};

// The last record of each key of one partition: what a complete compaction would leave.
class StatKeys {
 public:
  explicit StatKeys(std::size_t top) : top_(top) {}

  void add(StatKeyed&& keyed) {
    auto at = last_.find(keyed.hash.low);
    if (at == last_.end()) {
      if (last_.size() >= kStatMostKeys) {
        beyond_ += keyed.size;
        return;
      }
      at = last_.emplace(keyed.hash.low, Last{}).first;
    } else {
      dead_ += at->second.size;
      live_ -= at->second.size;
    }
    Last& last = at->second;
    last.size = keyed.size;
    last.tombstone = keyed.tombstone;
    ++last.count;
    live_ += keyed.size;
    if (top_ > 0) offer(keyed, last.count);
  }
  std::size_t keys() const { return last_.size(); }
  std::int64_t live() const { return live_; }
  std::int64_t dead() const { return dead_; }
  std::int64_t beyond() const { return beyond_; }  // bytes of keys that did not fit into memory
  std::size_t deleted() const {
    return static_cast<std::size_t>(std::ranges::count_if(last_, [](const auto& entry) { return entry.second.tombstone; }));
  }
  std::vector<std::pair<std::string, std::int64_t>> top() const {
    std::vector<std::pair<std::string, std::int64_t>> sorted;
    for (const auto& [hash, entry] : candidates_) sorted.push_back(entry);
    std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
    if (sorted.size() > top_) sorted.resize(top_);
    return sorted;
  }

 private:
  struct Last {
    std::int64_t size = 0;
    std::int64_t count = 0;
    bool tombstone = false;
  };
  // A key gets into the list when its count passes that of the least of them: with its next record then.
  void offer(StatKeyed& keyed, std::int64_t count) {
    if (const auto known = candidates_.find(keyed.hash.low); known != candidates_.end()) {
      known->second.second = count;
      return;
    }
    if (candidates_.size() < top_) {
      candidates_.emplace(keyed.hash.low, std::pair(std::move(keyed.key), count));
      return;
    }
    const auto least = std::ranges::min_element(candidates_, {}, [](const auto& entry) { return entry.second.second; });
    if (least->second.second >= count) return;
    candidates_.erase(least);
    candidates_.emplace(keyed.hash.low, std::pair(std::move(keyed.key), count));
  }

  const std::size_t top_;
  std::unordered_map<std::uint64_t, Last> last_;
  std::map<std::uint64_t, std::pair<std::string, std::int64_t>> candidates_;
  std::int64_t live_ = 0, dead_ = 0, beyond_ = 0;
};

class StatReport {
 public:
  StatReport(Session& session, Progress& progress, std::size_t top, bool per_segment, bool json)
      : session_(session), progress_(progress), top_(top), per_segment_(per_segment), json_(json) {}

  void take(const Piece& piece, StatPart part) {
    progress_.advance(piece.end - piece.from);
    if (partition_ != piece.partition) {
      end_partition();
      partition_ = piece.partition;
      keys_ = std::make_unique<StatKeys>(top_);
    }
    tell_damage(piece, part);
    for (StatKeyed& keyed : part.keyed) keys_->add(std::move(keyed));
    segment_.add(part.totals, true);
    of_partition_.add(part.totals, true);
    if (piece.is_last_of_segment) {
      if (per_segment_) print("segment", fmt::format("{} segment {}", partition_->partition.to_string(), piece.on_disk().base_offset), segment_, nullptr);
      segment_ = {};
    }
  }
  void finish() {
    end_partition();
    for (const auto& [topic, totals] : by_topic_) {
      if (partitions_of_[topic] > 1) print("topic", topic, totals, nullptr);
    }
    if (by_topic_.size() > 1) print("directory", "all", all_, nullptr);
  }

 private:
  void end_partition() {
    if (partition_ == nullptr) return;
    print("partition", partition_->partition.to_string(), of_partition_, keys_.get());
    const std::string& topic = partition_->partition.topic;
    by_topic_[topic].add(of_partition_, false);
    ++partitions_of_[topic];
    all_.add(of_partition_, false);
    of_partition_ = {};
    segment_ = {};
    partition_ = nullptr;
  }

  void tell_damage(const Piece& piece, const StatPart& part) {
    const io::Path file = piece.partition->log_file(piece.on_disk());
    if (!part.damage.empty() || part.error) progress_.clear();
    for (const Damage& damage : part.damage) {
      session_.err.print("cordwood stat: passed over: {} bytes of {} at {}: {}\n", damage.size, file, damage.position, damage.why);
    }
    if (part.error) session_.err.print("cordwood stat: passed over: {}: {}\n", file, part.error->message());
  }

  void print(const char* level, const std::string& name, const StatTotals& t, const StatKeys* keys) {
    progress_.clear();
    json_ ? print_json(level, name, t, keys) : print_text(name, t, keys);
  }

  void print_text(const std::string& name, const StatTotals& t, const StatKeys* keys) {
    cli::Output& out = session_.out;
    out.print("{}\n", name);
    out.print("  size         {} in {} segments, {} batches\n", human_size(t.bytes), t.segments, t.batches);
    if (t.first_offset) out.print("  offsets      {} to {}\n", *t.first_offset, *t.last_offset);
    out.print("  records      {}; {} without a value, {} without a key\n", t.records, t.tombstones, t.without_key);
    if (t.control_batches + t.transactional_batches > 0) {
      out.print("  transactions {} batches, {} of them markers\n", t.transactional_batches, t.control_batches);
    }
    if (t.batches > 0) {
      out.print("  batches      {} to {} bytes, {:.1f} records each\n", t.smallest_batch, t.largest_batch,
                static_cast<double>(t.records) / static_cast<double>(std::max<std::int64_t>(1, t.batches - t.control_batches)));
    }
    for (const auto& [codec, count] : t.batches_by_codec) out.print("  codec        {}: {} batches\n", codec, count);
    if (t.stored_compressed > ByteCount{0}) {
      out.print("  compressed   {} bytes of keys and values in {} ({:.2f} to 1)\n", t.inflated, t.stored_compressed,
                static_cast<double>(t.inflated.value) / static_cast<double>(t.stored_compressed.value));
    }
    if (t.last_time.value != INT64_MIN) {
      out.print("  times        {} to {}; {} out of order, {} in the future, {} without\n", storage::describe_time(t.first_time),
                storage::describe_time(t.last_time), t.out_of_order, t.future, t.without_time);
    }
    if (!t.records_by_producer.empty()) out.print("  producers    {}\n", t.records_by_producer.size());
    if (keys != nullptr && keys->keys() > 0) {
      out.print("  keys         {}, {} of them deleted; {} bytes live, {} superseded\n", keys->keys(), keys->deleted(), keys->live(), keys->dead());
      if (keys->beyond() > 0) out.print("               {} bytes of further keys were not looked at: too many for the memory\n", keys->beyond());
      for (const auto& [key, count] : keys->top()) {
        std::string shown;
        append_escaped(shown, as_bytes(key));
        out.print("  top key      {}: {} records\n", shown, count);
      }
    }
    if (t.damaged > ByteCount{0}) out.print("  damaged      {} bytes\n", t.damaged);
  }

  void print_json(const char* level, const std::string& name, const StatTotals& t, const StatKeys* keys) {
    std::string out;
    JsonLine line(out);
    line.text("level", level).text("name", name).number("size_bytes", t.bytes.value).number("segments", t.segments);
    line.number("batches", t.batches).number("control_batches", t.control_batches).number("transactional_batches", t.transactional_batches);
    line.number("records", t.records).number("tombstones", t.tombstones).number("records_without_key", t.without_key);
    line.optional("first_offset", t.first_offset ? std::optional(t.first_offset->value) : std::nullopt);
    line.optional("last_offset", t.last_offset ? std::optional(t.last_offset->value) : std::nullopt);
    if (t.batches > 0) line.number("smallest_batch_bytes", t.smallest_batch.value).number("largest_batch_bytes", t.largest_batch.value);
    std::string codecs;
    JsonLine inner(codecs);
    for (const auto& [codec, count] : t.batches_by_codec) inner.number(codec, count);
    inner.end_inner();
    line.raw("batches_by_codec", codecs);
    line.number("compressed_bytes", t.stored_compressed.value).number("inflated_bytes", t.inflated.value);
    if (t.last_time.value != INT64_MIN) line.number("first_timestamp_ms", t.first_time.value).number("last_timestamp_ms", t.last_time.value);
    line.number("out_of_order", t.out_of_order).number("future", t.future).number("without_timestamp", t.without_time);
    std::string producers;
    JsonLine each(producers);
    for (const auto& [producer, count] : t.records_by_producer) each.number(fmt::format("{}", producer), count);
    each.end_inner();
    line.raw("records_by_producer", producers);
    if (keys != nullptr) {
      line.number("keys", static_cast<std::int64_t>(keys->keys())).number("deleted_keys", static_cast<std::int64_t>(keys->deleted()));
      line.number("live_bytes", keys->live()).number("dead_bytes", keys->dead()).number("bytes_of_further_keys", keys->beyond());
      std::string top = "[";
      for (const auto& [key, count] : keys->top()) {
        if (top.size() > 1) top += ',';
        JsonLine one(top);
        one.text("key", key).number("records", count);
        one.end_inner();
      }
      line.raw("top_keys", top + "]");
    }
    line.number("damaged_bytes", t.damaged.value);
    line.end();
    session_.out.write(out);
  }

  Session& session_;
  Progress& progress_;
  const std::size_t top_;
  const bool per_segment_;
  const bool json_;
  const PartitionOnDisk* partition_ = nullptr;
  std::unique_ptr<StatKeys> keys_;
  StatTotals segment_, of_partition_, all_;
  std::map<std::string, StatTotals> by_topic_;
  std::map<std::string, int> partitions_of_;
};

Result<int> stat_directory(const Options& options, Session& session) {
  const auto top = options.long_value("top");
  if (!top) return Error{Errc::invalid, top.mistake().message};
  const std::vector<std::string> choices(options.words().begin() + 1, options.words().end());
  const DataDirectory data = TRY(open_data_directory(session.files, options.words().front()));
  const auto partitions = TRY(choose(data, choices));
  for (const std::string& warning : data.warnings) session.err.print("cordwood stat: {}\n", warning);
  if (data.in_use()) session.err.print("cordwood stat: a broker is using the directory: what it writes meanwhile may be missing\n");
  PiecePlan plan(session.files, partitions);
  Progress progress(session, "stat", plan.total());
  const std::int64_t wanted = std::clamp<std::int64_t>((*top).value_or(0), 0, 1000);
  StatReport report(session, progress, static_cast<std::size_t>(wanted), options.has("segments"), options.has("json"));
  const storage::KeyHasher hasher(session.random);
  for_each_piece(plan, walking_threads(), session.interrupted, StatWork(hasher, session.clock.now(), wanted > 0),
                 [&](const Piece& piece, StatPart part) {
                   report.take(piece, std::move(part));
                   return session.out.failed() ? record::Walk::stop : record::Walk::go_on;
                 });
  report.finish();
  for (const std::string& warning : plan.warnings()) session.err.print("cordwood stat: passed over: {}\n", warning);
  return 0;
}

int run_stat(const cli::Command& self, const cli::Words& words, Session& session) { return cli::run_own(self, words, session, stat_directory); }

}  // namespace

extern const cli::Command stat_command{
    .name = "stat",
    .summary = "what is in logs: records, keys, codecs, producers, times",
    .details = "Live bytes are those of the last record of each key, superseded ones those of the others: what a complete compaction "
               "would remove. A partition without a record is left out.",
    .grammar = &kStatGrammar,
    .run = run_stat,
};

}  // namespace cordwood::offline
