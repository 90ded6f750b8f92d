// Runs histories (see histories.py for their language) over src/storage: LogManager, PartitionLog and what they own, on
// the file system of the machine, with a clock that only the history moves and no thread in the background.
//
//   log_driver <data directory>
//
// The same protocol as HistoryDriver.java. The file of a history is followed by lines "<line number> = <hex>": the bytes
// of its batches.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/executor.h"
#include "base/log.h"
#include "base/random.h"
#include "io/file_system.h"
#include "record/legacy.h"
#include "record/validation.h"
#include "record/walk.h"
#include "storage/damaged_files.h"
#include "storage/log_manager.h"

namespace cordwood::storage {
namespace {

using Words = std::vector<std::string>;
using Settings = std::map<std::string, std::string>;

const TopicPartition kPartition{"t", PartitionId{0}};
constexpr Uuid kTopicId{0x1111222233334444, 0x5555666677778888};

Words split(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Settings settings_of(const Words& words, std::size_t from) {
  Settings all;
  for (std::size_t i = from; i < words.size(); ++i) {
    const std::size_t at = words[i].find('=');
    all[words[i].substr(0, at)] = at == std::string::npos ? "1" : words[i].substr(at + 1);
  }
  return all;
}

ByteVector from_hex(std::string_view hex) {
  ByteVector bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(std::stoi(std::string(hex.substr(2 * i, 2)), nullptr, 16));
  }
  return bytes;
}

// What both sides call the same refusal. Only what a history can meet.
const char* name_of(record::ProduceFault fault) {
  switch (fault) {
    case record::ProduceFault::none: return "NONE";
    case record::ProduceFault::invalid_record: return "INVALID_RECORD";
    case record::ProduceFault::corrupt_message: return "CORRUPT_MESSAGE";
    case record::ProduceFault::message_too_large: return "MESSAGE_TOO_LARGE";
    case record::ProduceFault::invalid_timestamp: return "INVALID_TIMESTAMP";
    case record::ProduceFault::unsupported_compression: return "UNSUPPORTED_COMPRESSION_TYPE";
    case record::ProduceFault::unknown_server_error: return "UNKNOWN_SERVER_ERROR";
  }
  return "?";
}

const char* name_of(AppendFault fault) {
  switch (fault) {
    case AppendFault::none: return "NONE";
    case AppendFault::record_list_too_large: return "RECORD_LIST_TOO_LARGE";
    case AppendFault::out_of_order_sequence: return "OUT_OF_ORDER_SEQUENCE_NUMBER";
    case AppendFault::invalid_producer_epoch: return "INVALID_PRODUCER_EPOCH";
    case AppendFault::invalid_txn_state: return "INVALID_TXN_STATE";
    case AppendFault::transaction_coordinator_fenced: return "TRANSACTION_COORDINATOR_FENCED";
    case AppendFault::storage_error: return "KAFKA_STORAGE_ERROR";
    case AppendFault::offsets_out_of_order: return "OFFSETS_OUT_OF_ORDER";
  }
  return "?";
}

std::string refusal(const Error& error) {
  if (error.code == Errc::out_of_range) return "refused OFFSET_OUT_OF_RANGE";
  return "refused KAFKA_STORAGE_ERROR";
}

// The settings of one log as the history words them.
void apply_setting(LogConfig& config, const std::string& key, const std::string& value) {
  const auto number = [&] { return std::stoll(value); };
  if (key == "segment.bytes") config.segment_bytes = {number()};
  else if (key == "segment.ms") config.segment_ms = {number()};
  else if (key == "segment.index.bytes") config.segment_index_bytes = {number()};
  else if (key == "index.interval.bytes") config.index_interval_bytes = {number()};
  else if (key == "retention.ms") config.retention_ms = {number()};
  else if (key == "retention.bytes") config.retention_bytes = {number()};
  else if (key == "max.message.bytes") config.max_message_bytes = {number()};
  else if (key == "flush.messages") config.flush_messages = number();
  else if (key == "file.delete.delay.ms") config.file_delete_delay_ms = {number()};
  else if (key == "delete.retention.ms") config.delete_retention_ms = {number()};
  else if (key == "min.compaction.lag.ms") config.min_compaction_lag_ms = {number()};
  else if (key == "max.compaction.lag.ms") config.max_compaction_lag_ms = {number()};
  else if (key == "min.cleanable.dirty.ratio") config.min_cleanable_dirty_ratio = std::stod(value);
  else if (key == "message.timestamp.after.max.ms") config.message_timestamp_after_max_ms = {number()};
  else if (key == "message.timestamp.before.max.ms") config.message_timestamp_before_max_ms = {number()};
  else if (key == "message.timestamp.type") {
    config.message_timestamp_type =
        value == "LogAppendTime" ? record::TimestampType::log_append_time : record::TimestampType::create_time;
  } else if (key == "compression.type") {
    config.compression.reset();
    if (value != "producer") config.compression = record::CompressionSettings{*record::codec_from_name(value), std::nullopt};
  } else if (key == "cleanup.policy") {
    config.cleanup_delete = value.find("delete") != std::string::npos;
    config.cleanup_compact = value.find("compact") != std::string::npos;
  } else {
    std::cerr << "no such setting: " << key << "\n";
    std::exit(2);
  }
}

class Driver {
 public:
  explicit Driver(io::Path root) : root_(std::move(root)) {}

  void run_history(const std::string& path) {
    fs_.remove_directory_tree(root_).value();
    fs_.create_directories(root_).value();
    clock_.set({1'700'000'000'000});
    config_ = LogConfig();
    config_.retention_ms = {-1};
    producer_ = ProducerStateConfig();
    cleaner_ = CleanerOptions();
    cleaner_.dedupe_buffer_size = {1 * MiB};
    cleaner_.io_buffer_size = {128 * KiB};
    batches_.clear();
    std::vector<std::string> lines;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      const Words words = split(line);
      if (words.size() == 3 && words[1] == "=") batches_[std::stoul(words[0])] = from_hex(words[2]);
      lines.push_back(line);
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Words words = split(lines[i]);
      if (words.empty() || words[0].starts_with("#") || (words.size() == 3 && words[1] == "=")) continue;
      const std::string answer = run(i + 1, words);
      if (executor_) executor_->run_ready();
      if (log_) leave_gap();
      std::cout << i + 1 << " " << answer << "\n";
    }
    if (manager_) die();
    std::cout << "end" << std::endl;
  }

 private:
  // --- the life of the directory ---

  std::string open() {
    if (manager_) return "open already";
    LogManagerOptions options;
    options.log_dirs = {root_};
    options.recovery_threads_per_dir = 1;
    options.producer = producer_;
    options.cleaner = cleaner_;
    // What repeats is left to the operations of the history.
    options.recovery_point_checkpoint_interval = options.log_start_checkpoint_interval =
        options.high_watermark_checkpoint_interval = options.retention_check_interval = options.producer_expiration_check_interval = DurationMs{INT64_MAX};
    const auto opened = [&]() -> Result<void> {
      manager_ = TRY(LogManager::open({&fs_, &clock_, &random_, &logger_}, options));
      LogManager::LoadCallbacks callbacks;
      callbacks.config_of = [this](const std::string&) { return config_; };
      TRY(manager_->load(callbacks));
      executor_ = std::make_unique<ManualExecutor>(clock_);
      manager_->start_background(*executor_);
      log_ = TRY(manager_->get_or_create(kPartition, kTopicId, config_));
      return {};
    }();
    if (opened) return "ok";
    std::cerr << "open: " << opened.error().message() << "\n";
    if (manager_) die();
    return "refused";
  }

  void let_go() {
    log_.reset();
    manager_.reset();
    executor_.reset();
  }

  void die() {
    manager_->abandon();
    let_go();
  }

  std::string stop(const std::string& how) {
    if (how == "clean") {
      if (Result<void> stopped = manager_->shut_down(7); !stopped) return refusal(stopped.error());
      let_go();
    } else {
      die();
    }
    return "ok " + files();
  }

  std::string files() {
    std::vector<std::string> lines;
    list(root_, "", lines);
    std::ranges::sort(lines);
    return fmt::format("{}", fmt::join(lines, " "));
  }

  void list(const io::Path& directory, const std::string& prefix, std::vector<std::string>& into) {
    const std::vector<io::DirectoryEntry> entries = fs_.list(directory).value();
    for (const io::DirectoryEntry& entry : entries) {
      const io::Path path = io::join(directory, entry.name);
      // Kafka keeps nothing of what it cuts off.
      if (entry.name == kDamagedDirectory) continue;
      if (entry.kind == io::DirectoryEntry::Kind::directory) {
        list(path, prefix + entry.name + "/", into);
      } else if (entry.name != ".lock") {
        const ByteVector bytes = io::read_file(fs_, path).value();
        // The room that an index has in reserve is in its size alone.
        BytesView used = bytes;
        while (entry.name.ends_with("index") && !used.empty() && used.back() == std::byte{0}) used = used.first(used.size() - 1);
        into.push_back(fmt::format("{}{}={}:{:08x}", prefix, entry.name, bytes.size(), crc32c(used)));
      }
    }
  }

  std::string damage(const Words& words) {
    if (manager_) return "open already";
    std::vector<std::pair<std::string, io::Path>> found;
    for (const io::Path& directory : {root_, io::join(root_, "t-0")}) {
      const auto entries = fs_.list(directory);
      if (!entries) continue;
      for (const io::DirectoryEntry& entry : *entries) {
        if (entry.kind != io::DirectoryEntry::Kind::file) continue;
        if (entry.name == words[1] || entry.name.ends_with("." + words[1])) {
          found.emplace_back(entry.name, io::join(directory, entry.name));
        }
      }
    }
    std::ranges::sort(found);
    const std::size_t back = std::stoul(words[2]);
    if (back >= found.size()) return "none";
    const io::Path& path = found[found.size() - 1 - back].second;
    if (words[3] == "remove") {
      fs_.remove_file(path).value();
      return "done";
    }
    ByteVector bytes = io::read_file(fs_, path).value();
    if (words[3] == "append") {
      const ByteVector more = from_hex(words[4]);
      bytes.insert(bytes.end(), more.begin(), more.end());
    } else {
      const std::size_t n = std::stoul(words[4]);
      if (n > bytes.size() || n < 1) return "none";
      const std::size_t at = bytes.size() - n;
      if (words[3] == "cut") {
        bytes.resize(at);
      } else if (words[3] == "flip") {
        bytes[at] ^= std::byte{1};
      } else {
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), at + std::stoul(words[5]))), std::byte{0});
      }
    }
    const auto file = fs_.open(path, io::OpenMode::truncate).value();
    file->write_at(FilePosition{0}, bytes).value();
    return "done";
  }

  // --- the words of an operation ---

  Offset offset(const std::string& text) const {
    const std::size_t sign = text.find_last_of("+-");
    const std::string name = text.substr(0, sign);
    std::int64_t delta = 0;
    if (sign != std::string::npos) delta = std::stoll(text.substr(text[sign] == '+' ? sign + 1 : sign));
    std::int64_t base = 0;
    if (name == "end") base = log_->log_end_offset().value;
    else if (name == "hw") base = high_watermark().value;
    else if (name == "lso") base = last_stable().value;
    else if (name == "start") base = log_->log_start_offset().value;
    else base = std::stoll(name);
    return {std::max<std::int64_t>(0, base + delta)};
  }

  // The high watermark lies between batches, as replication moves it.
  Offset start_of_batch(Offset offset) const {
    const Offset from = std::max(offset, log_->log_start_offset());
    const Offset end = log_->log_end_offset();
    if (from >= end) return end;
    const Result<ReadResult> found = log_->read({from, ByteCount{1}, true, ReadLimit::log_end});
    if (!found || found->range.size == ByteCount{0}) return end;
    ByteVector bytes(static_cast<std::size_t>(found->range.size.value));
    if (found->range.source->read_at(found->range.position, bytes).value() != bytes.size()) return end;
    return base_of(bytes);
  }

  static Offset base_of(BytesView entry) {
    const record::EntryPrefix prefix = record::read_prefix(entry).value();
    return prefix.magic < 2 ? record::legacy_base_offset(entry).value() : prefix.offset;
  }

  // Kafka moves a high watermark that lies in a gap of the offsets to the next batch, once it has looked it up.
  void leave_gap() { log_->set_high_watermark(start_of_batch(log_->high_watermark())); }

  // As HistoryDriver.java tells them.
  Offset high_watermark() const { return start_of_batch(log_->high_watermark()); }
  Offset last_stable() const {
    return std::max(start_of_batch(log_->last_stable_offset()), log_->log_start_offset());
  }

  std::string append_as_leader(std::size_t number, const Words& words) {
    const Settings options = settings_of(words, 1);
    const LeaderEpoch epoch{options.contains("epoch") ? std::stoi(options.at("epoch")) : 0};
    ByteVector bytes = batches_.at(number);
    MutableBytesView batch(bytes);
    record::ValidatedBatch validated;
    const bool marker = words[0] == "marker";
    if (!marker) {
      record::ValidationRules rules;
      rules.topic_partition = kPartition.to_string();
      rules.compacted = config_.cleanup_compact;
      rules.timestamp_type = config_.message_timestamp_type;
      rules.timestamp_before_max = config_.message_timestamp_before_max_ms;
      rules.timestamp_after_max = config_.message_timestamp_after_max_ms;
      rules.max_message_bytes = config_.max_message_bytes;
      rules.target_compression = config_.compression;
      rules.now = clock_.now();
      validated = record::validate_produce(batch, rules);
      if (validated.fault != record::ProduceFault::none) return std::string("refused ") + name_of(validated.fault);
      batch = validated.batch;
    }
    TransactionRules transactions;
    transactions.marker_bumps_epoch = options.contains("tv") && options.at("tv") == "2";
    return told(log_->append_as_leader(batch, epoch, marker ? AppendOrigin::coordinator : AppendOrigin::client, transactions));
  }

  std::string append_as_follower(BytesView batches) {
    AppendResult result = log_->append_as_follower(batches);
    // Of a wrapper the log knows its last offset only.
    if (result.fault == AppendFault::none) result.base_offset = base_of(batches);
    return told(result);
  }

  static std::string told(const AppendResult& result) {
    if (result.fault != AppendFault::none) return std::string("refused ") + name_of(result.fault);
    if (!result.duplicate) return fmt::format("ok {} {}", result.base_offset, result.last_offset);
    return fmt::format("duplicate {} {} {}", result.base_offset, result.last_offset, result.duplicate_timestamp);
  }

  std::string read(const Words& words) {
    const Settings options = settings_of(words, 2);
    ReadOptions what;
    what.from = offset(words[1]);
    what.max_bytes = {options.contains("max") ? std::stoll(options.at("max")) : 100'000};
    what.at_least_one_batch = options.contains("one");
    const std::string to = options.contains("to") ? options.at("to") : "end";
    what.limit = to == "hw" ? ReadLimit::high_watermark : to == "lso" ? ReadLimit::last_stable : ReadLimit::log_end;
    const Result<ReadResult> result = log_->read(what);
    if (!result) return refusal(result.error());
    std::string text = "read";
    ByteVector bytes(static_cast<std::size_t>(result->range.size.value));
    if (!bytes.empty() && result->range.source->read_at(result->range.position, bytes).value() != bytes.size()) {
      return "short read";
    }
    for (BytesView rest = bytes; rest.size() >= record::kMagicPrefix;) {
      const record::EntryPrefix prefix = record::read_prefix(rest).value();
      const auto size = static_cast<std::size_t>(prefix.total_size().value);
      if (size > rest.size()) break;  // torn, and shown by neither side
      if (prefix.magic < 2) {
        text += fmt::format(" {}-{}@-1:{}:{:x}", base_of(rest.first(size)), prefix.offset, size,
                            record::parse_legacy_header(rest).value().crc);
      } else {
        const record::BatchHeader header = record::BatchView(rest).header();
        text += fmt::format(" {}-{}@{}:{}:{:x}", header.base_offset, header.last_offset(), header.partition_leader_epoch, size,
                            header.crc);
      }
      rest = rest.subspan(size);
    }
    if (result->first_entry_incomplete) text += " incomplete";
    if (what.limit == ReadLimit::last_stable) {
      std::vector<std::string> aborted;
      for (const AbortedTransaction& one : result->aborted) {
        aborted.push_back(fmt::format("{}@{}", one.producer_id, one.first_offset));
      }
      std::ranges::sort(aborted);
      text += fmt::format(" aborted={}", fmt::join(aborted, ","));
    }
    return text;
  }

  static std::string told(const Result<std::optional<FoundRecord>>& found) {
    if (!found) return refusal(found.error());
    if (!*found) return "found nothing";
    return fmt::format("found {} {} {}", (*found)->offset, (*found)->timestamp,
                       (*found)->epoch ? fmt::format("{}", (*found)->epoch->value) : "-");
  }

  static std::string told(const Result<void>& done) { return done ? "ok" : refusal(done.error()); }

  std::string offsets() const {
    std::vector<std::string> epochs;
    for (const EpochEntry& entry : log_->epochs()) {
      epochs.push_back(fmt::format("{}@{}", entry.epoch, entry.start_offset));
    }
    const std::vector<SegmentInfo> segments = log_->segments();
    if (segments.empty()) return "failed";
    return fmt::format("start={} end={} hw={} lso={} recovery={} segments={} active={} size={} epochs={}",
                       log_->log_start_offset(), log_->log_end_offset(), high_watermark(), last_stable(),
                       log_->recovery_point(), segments.size(),
                       segments.back().base_offset, log_->size().value, fmt::join(epochs, ","));
  }

  std::string producers() const {
    std::vector<ProducerEntry> entries = log_->active_producers();
    std::ranges::sort(entries, {}, &ProducerEntry::producer_id);
    std::string text = "producers";
    for (const ProducerEntry& entry : entries) {
      text += fmt::format(" {}:{}:{}:{}:{}:{}", entry.producer_id, entry.epoch, entry.last_sequence(),
                          entry.last_timestamp, entry.coordinator_epoch,
                          entry.current_txn_first_offset ? entry.current_txn_first_offset->value : -1);
    }
    return text;
  }

  std::string run(std::size_t number, const Words& words) {
    const std::string& what = words[0];
    if (what == "broker") {
      for (const auto& [key, value] : settings_of(words, 1)) {
        if (key == "producer.id.expiration.ms") producer_.expiration_ms = {std::stoll(value)};
        if (key == "dedupe") cleaner_.dedupe_buffer_size = {std::stoll(value)};
      }
      return "ok";
    }
    if (what == "config") {
      for (const auto& [key, value] : settings_of(words, 1)) apply_setting(config_, key, value);
      if (log_) log_->update_config(config_);
      return "ok";
    }
    if (what == "clock") {
      clock_.advance({std::stoll(words[1])});
      return "ok";
    }
    if (what == "open") return open();
    if (what == "damage") return damage(words);
    if (what == "files") return "ok " + files();
    if (!manager_) return "closed";
    if ((what == "append" || what == "marker" || what == "follow") && !batches_.contains(number)) return "no batch";
    if (what == "append" || what == "marker") return append_as_leader(number, words);
    if (what == "follow") return append_as_follower(batches_.at(number));
    if (what == "epoch") return told(log_->begin_leader_epoch(LeaderEpoch{std::stoi(words[1])}));
    if (what == "hw") {
      log_->set_high_watermark(start_of_batch(offset(words[1])));
      return fmt::format("hw {}", high_watermark());
    }
    if (what == "retention") {
      manager_->check_retention();
      return "ok";
    }
    if (what == "roll") return told(log_->roll());
    if (what == "delete-records") return told(log_->advance_log_start(offset(words[1])));
    if (what == "truncate" || what == "truncate-fully") {
      const Result<void> done = what == "truncate"
                                    ? manager_->truncate_to(kPartition, offset(words[1]))
                                    : manager_->truncate_fully_and_start_at(kPartition, offset(words[1]));
      // The other side writes the high watermarks behind a truncation as well.
      return told(done ? manager_->write_checkpoints() : done);
    }
    if (what == "compact") {
      const bool cleaned = manager_->cleaner().clean_once();
      const std::optional<CleanerStatus> status = manager_->cleaner().status(kPartition);
      return fmt::format("{}{}", cleaned ? "cleaned" : "nothing", status && status->last_error ? " uncleanable" : "");
    }
    if (what == "expire") {
      log_->expire_producers();
      return "ok";
    }
    if (what == "flush") return told(words.size() > 1 ? log_->flush_up_to(offset(words[1])) : log_->flush());
    if (what == "checkpoint") return told(manager_->write_checkpoints());
    if (what == "stop") return stop(words[1]);
    if (what == "read") return read(words);
    if (what == "time") return told(log_->find_by_timestamp({clock_.now().value + std::stoll(words[1])}));
    if (what == "max-time") return told(log_->find_max_timestamp());
    if (what == "epoch-end") {
      const EpochEndOffset end = log_->end_offset_for_epoch(std::stoi(words[1]));
      if (end.end_offset < Offset{0}) return "epoch unknown";
      return fmt::format("epoch {} ends {}", end.epoch, end.end_offset);
    }
    if (what == "offsets") return offsets();
    if (what == "producers") return producers();
    return "unsupported";
  }

  const io::Path root_;
  io::PosixFileSystem fs_;
  ManualClock clock_;
  SeededRandom random_{1};
  MemoryLogger logger_;
  LogConfig config_;
  ProducerStateConfig producer_;
  CleanerOptions cleaner_;
  std::map<std::size_t, ByteVector> batches_;  // by line
  std::unique_ptr<ManualExecutor> executor_;
  std::unique_ptr<LogManager> manager_;
  std::shared_ptr<PartitionLog> log_;
};

}  // namespace
}  // namespace cordwood::storage

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: log_driver <data directory>\n";
    return 2;
  }
  cordwood::storage::Driver driver(argv[1]);
  const std::string run = "run ";
  for (std::string line; std::getline(std::cin, line);) driver.run_history(line.substr(run.size()));
  return 0;
}
