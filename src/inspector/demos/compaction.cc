// What the cleaner leaves of a compacted topic: the newest record of each key, and a tombstone for a while.
#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "inspector/demos/scripts.h"
#include "inspector/demos/stage.h"
#include "storage/cleaner/cleanable.h"
#include "storage/cleaner/log_cleaner.h"

namespace cordwood::inspector::demos {
namespace {

const TopicPartition kAddresses{"addresses", PartitionId{0}};

storage::OpenOptions compacted_options() {
  storage::OpenOptions options;
  options.last_stop = storage::StopKind::clean;
  storage::LogConfig& config = options.config;
  config.segment_bytes = {400};
  config.segment_index_bytes = {400};
  config.index_interval_bytes = {150};
  config.cleanup_compact = true;
  config.cleanup_delete = false;
  config.cleanup_policy_source = storage::SettingSource::topic;
  config.min_cleanable_dirty_ratio = 0.3;
  config.delete_retention_ms = {60'000};
  config.file_delete_delay_ms = {0};
  return options;
}

// The engine's cleaner, for one log, run by hand.
class HandCleaner {
 public:
  HandCleaner(Stage& stage, std::shared_ptr<storage::PartitionLog> log)
      : stage_(stage), log_(std::move(log)), cleaner_(stage.environment(), {kLogDirectory}, options(), owner()) {}

  Result<storage::CleaningVerdict> verdict() {
    const storage::CleanableFacts facts = TRY(log_->cleanable_facts(cleaner_.checkpoint(0, log_->partition())));
    return storage::judge(facts, log_->config(), stage_.clock.now());
  }
  // Errors: invalid when nothing was due; that of the run.
  Result<storage::PassStatistics> run() {
    if (!cleaner_.clean_once()) return Error{Errc::invalid, "the cleaner had nothing to do"};
    const std::optional<storage::CleanerStatus> status = cleaner_.status(log_->partition());
    if (!status || !status->last_run) return Error{Errc::invalid, "the cleaner has not run"};
    if (status->last_error) return *status->last_error;
    TRY(log_->remove_retired_files());
    return status->last_run->statistics;
  }
  std::optional<Offset> checkpoint() { return cleaner_.checkpoint(0, log_->partition()); }

 private:
  static storage::CleanerOptions options() {
    storage::CleanerOptions options;
    options.dedupe_buffer_size = {64 * KiB};
    options.io_buffer_size = {64 * KiB};
    return options;
  }
  storage::LogCleaner::Owner owner() {
    storage::LogCleaner::Owner owner;
    owner.logs = [this] { return std::vector<storage::LogCleaner::ManagedLog>{{log_, 0}}; };
    owner.directory_failed = [](std::size_t, const Error&) {};
    owner.wait = [](DurationNs) {};
    return owner;
  }

  Stage& stage_;
  const std::shared_ptr<storage::PartitionLog> log_;
  storage::LogCleaner cleaner_;
};

// What one has who reads the whole log into a table: the last value of each key, and no row for a tombstone.
std::vector<api::Fact> table_of(const api::DemoLog& log) {
  std::map<std::string, std::string> table;
  for (const api::DemoSegment& segment : log.segments) {
    for (const api::DemoBatch& batch : segment.batches) {
      for (const api::DemoRecord& record : batch.records) {
        if (record.value) {
          table[record.key.value_or("")] = *record.value;
        } else {
          table.erase(record.key.value_or(""));
        }
      }
    }
  }
  std::vector<api::Fact> facts;
  for (const auto& [key, value] : table) facts.push_back(fact("table: " + key, value, "the whole log, read from its start"));
  return facts;
}

void add_verdict(api::DemoStep& step, const storage::CleaningVerdict& verdict) {
  step.facts.push_back(fact("dirty ratio", fmt::format("{:.2f}", verdict.dirty_ratio), "bytes above the cleaner's checkpoint, of closed segments"));
  step.facts.push_back(fact("decision", storage::explain(verdict), "min.cleanable.dirty.ratio"));
}

void add_run(api::DemoStep& step, const storage::PassStatistics& run) {
  step.facts.push_back(fact("records", fmt::format("{} of {} kept", run.records_kept, run.records_read), "the cleaner's run"));
  step.facts.push_back(fact("bytes", fmt::format("{} became {}", run.bytes_read, run.bytes_written), "the cleaner's run"));
  step.facts.push_back(fact("segments", fmt::format("{} became {}", run.segments_before, run.segments_after), "the cleaner's run"));
}

// The first record that is a tombstone, in its batch.
std::optional<std::pair<api::DemoBatch, api::DemoRecord>> find_tombstone(const api::DemoLog& log) {
  for (const api::DemoSegment& segment : log.segments) {
    for (const api::DemoBatch& batch : segment.batches) {
      for (const api::DemoRecord& record : batch.records) {
        if (record.kind == api::RecordKind::tombstone) return std::pair(batch, record);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Result<api::Demo> compaction() {
  Stage stage("compaction", "Compaction", "What is kept of a topic that is a table?");
  const storage::OpenOptions options = compacted_options();
  const storage::LogConfig& config = options.config;
  stage.demo().settings = {
      setting("cleanup.policy", std::string("compact"), "Of each key the newest record is kept, whatever its age."),
      setting("segment.bytes", config.segment_bytes.value, "A batch that would make the active segment longer starts a new one."),
      setting("min.cleanable.dirty.ratio", fmt::format("{}", config.min_cleanable_dirty_ratio),
              "The cleaner runs once more than this part of the log was written since its last run."),
      setting("delete.retention.ms", config.delete_retention_ms.value, "So long a tombstone is kept once the cleaner has seen it."),
  };
  const auto log = TRY(stage.open(kAddresses, options));
  HandCleaner cleaner(stage, log);
  const auto put = [&](const std::string& key, std::optional<std::string> value) -> Result<void> {
    stage.wait({1000});
    BatchToAppend batch;
    batch.records = {{key, std::move(value)}};
    batch.size = 100;
    TRY(stage.append(*log, batch));
    return {};
  };
  const auto show = [&](std::string title, std::string does, std::string says) -> Result<void> {
    TRY(stage.show(std::move(title), std::move(does), std::move(says)));
    stage.step().facts = table_of(stage.step().logs[0]);
    return {};
  };

  TRY(put("anna", "Oak St"));
  TRY(put("bert", "Elm St"));
  TRY(put("anna", "Ash St"));
  TRY(put("cleo", "Low Rd"));
  TRY(show("A topic that is a table", "append 4 records",
           "Each record says where somebody lives now. Whoever reads the log from its start and keeps the last value of each key has the table. anna's "
           "first address is of no use any more."));

  TRY(put("bert", "High Rd"));
  TRY(put("anna", "Fir St"));
  TRY(put("dora", "Bay 1"));
  TRY(put("bert", "Mill Ln"));
  TRY(put("anna", "Park 9"));
  TRY(show("Dirty", "append 5 records", ""));
  storage::CleaningVerdict verdict = TRY(cleaner.verdict());
  add_verdict(stage.step(), verdict);
  stage.step().says = fmt::format(
      "The closed segments were never cleaned: all their {} bytes are dirty, a ratio of {:.2f}. That is more than min.cleanable.dirty.ratio, "
      "{}, so the cleaner is due. The active segment it never touches.",
      verdict.cleanable_bytes, verdict.dirty_ratio, verdict.wanted_ratio);

  storage::PassStatistics run = TRY(cleaner.run());
  TRY(show("Compacted", "the cleaner runs", ""));
  add_run(stage.step(), run);
  stage.step().says = fmt::format(
      "The cleaner noted the last offset of each of {} keys and wrote the segments anew with only these records: {} of {} are left. They keep "
      "their offsets, so there are gaps now, and readers step over them. The table is the same as before.",
      run.keys, run.records_kept, run.records_read);

  TRY(put("cleo", std::nullopt));
  TRY(show("A tombstone", "append a record with key cleo and no value",
           "A record without a value deletes its key: a tombstone. cleo is not in the table any more, but her old record still is in the log."));

  TRY(put("dora", "Bay 2"));
  TRY(put("emil", "Hill 3"));
  TRY(put("bert", "Dock 4"));
  TRY(show("Dirty again", "append 3 records", ""));
  verdict = TRY(cleaner.verdict());
  add_verdict(stage.step(), verdict);
  stage.step().says = fmt::format(
      "{} bytes are clean, as the last run left them up to offset {}; {} bytes are dirty. The ratio is {:.2f}: the cleaner is due again.",
      verdict.clean_bytes, cleaner.checkpoint().value_or(Offset{0}), verdict.cleanable_bytes, verdict.dirty_ratio);

  run = TRY(cleaner.run());
  TRY(show("The tombstone stays at first", "the cleaner runs", ""));
  add_run(stage.step(), run);
  if (const auto found = find_tombstone(stage.step().logs[0])) {
    const auto& [batch, record] = *found;
    stage.step().says = fmt::format(
        "cleo's address is gone from the log. Her tombstone at offset {} is kept: a reader who is on the way must still learn that she was deleted. "
        "The cleaner wrote into the batch until when: second {}, now and delete.retention.ms.",
        record.offset, batch.delete_horizon_ms ? seconds_of({*batch.delete_horizon_ms}) : -1);
    stage.step().facts.push_back(fact("delete horizon", fmt::format("second {}", batch.delete_horizon_ms ? seconds_of({*batch.delete_horizon_ms}) : -1),
                                      "base timestamp of the tombstone's batch"));
  }

  stage.wait(config.delete_retention_ms);
  TRY(put("anna", "Dune 1"));
  TRY(put("dora", "Bay 3"));
  TRY(put("emil", "Hill 5"));
  TRY(put("bert", "Dock 6"));
  TRY(show("Its time is over", fmt::format("the clock moves {} s; append 4 records", config.delete_retention_ms.value / 1000), ""));
  verdict = TRY(cleaner.verdict());
  add_verdict(stage.step(), verdict);
  stage.step().says = fmt::format(
      "The tombstone's time is over, but nothing removes it by itself: that needs another run, and one is due, for the ratio is {:.2f}.",
      verdict.dirty_ratio);

  run = TRY(cleaner.run());
  TRY(show("Nothing is left of it", "the cleaner runs", ""));
  add_run(stage.step(), run);
  stage.step().says = fmt::format(
      "The tombstone went, and with it the last trace of cleo: {} of {} records are left. A reader who was away for longer than delete.retention.ms "
      "and starts in the middle never hears that she was deleted.",
      run.records_kept, run.records_read);
  return std::move(stage.demo());
}

}  // namespace cordwood::inspector::demos
