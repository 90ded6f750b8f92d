// What is left of records after a kill and after a power cut, and what the next start makes of it.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inspector/demos/example.h"
#include "inspector/demos/scripts.h"
#include "inspector/demos/stage.h"
#include "storage/checkpoint_file.h"

namespace cordwood::inspector::demos {
namespace {

using LogPointer = std::shared_ptr<storage::PartitionLog>;

// Of the outcomes that a power cut may have, one is looked for that shows a torn batch.
constexpr std::uint64_t kMostSeeds = 2000;

io::Path checkpoint_path() { return io::join(kLogDirectory, storage::kRecoveryPointCheckpoint); }

// What a broker does each minute, and when a segment was closed: all that was written goes to the disk, and the file says so.
Result<void> flush_and_checkpoint(Stage& stage, storage::PartitionLog& log) {
  TRY(log.flush());
  return storage::write_offset_checkpoint(stage.fs(), checkpoint_path(), {{log.partition(), log.recovery_point_to_checkpoint()}});
}

Result<Offset> recovery_checkpoint(Stage& stage) {
  const storage::OffsetsByPartition offsets = TRY(storage::read_offset_checkpoint(stage.fs(), checkpoint_path()));
  const auto at = offsets.find(kExamplePartition);
  return at == offsets.end() ? Offset{0} : at->second;
}

void end_process(Stage& stage, LogPointer& log) {
  log->close_abruptly();
  stage.forget_logs();
  log.reset();
}

Result<api::DemoLog> look_at_disk(Stage& stage) {
  return look_at_files(stage.fs(), stage.directory_of(kExamplePartition), kExamplePartition, TRY(recovery_checkpoint(stage)));
}

Result<LogPointer> start_again(Stage& stage, storage::RecoveryReport& report) {
  storage::OpenOptions options = example_options();
  options.last_stop = storage::StopKind::unclean;
  options.recovery_point_checkpoint = TRY(recovery_checkpoint(stage));
  options.high_watermark_checkpoint = options.recovery_point_checkpoint;
  LogPointer log = TRY(stage.open(kExamplePartition, options, &report));
  log->set_high_watermark(log->log_end_offset());
  return log;
}

// The machine loses its power: a disk that holds what was synced, and of the rest just so much that the last batch is torn.
Result<void> cut_power(Stage& stage, Offset log_end) {
  for (std::uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
    std::unique_ptr<io::MemFileSystem> after = stage.disk->crash_clone(seed);
    const auto left = look_at_files(*after, stage.directory_of(kExamplePartition), kExamplePartition, {0});
    if (!left || left->segments.empty()) continue;
    if (left->log_end != log_end.value || left->segments.back().torn_bytes == 0) continue;
    stage.disk = std::move(after);
    return {};
  }
  return Error{Errc::invalid, "no power cut tore a batch"};
}

std::string list_of_files(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

std::vector<api::Fact> facts_of(const storage::RecoveryReport& report) {
  std::vector<api::Fact> facts{
      fact("segments checked", report.segments_recovered, "the report of the recovery"),
      fact("bytes cut", report.bytes_cut, "the report of the recovery"),
      fact("files made anew", list_of_files(report.rebuilt_files), "the report of the recovery"),
  };
  for (const storage::RecoveryVerdict& verdict : report.verdicts) facts.push_back(fact("verdict", storage::describe(verdict), verdict.file));
  return facts;
}

}  // namespace

Result<api::Demo> crash_and_recovery() {
  Stage stage("crash_and_recovery", "Crash and recovery", "What is lost when a broker dies?");
  stage.demo().settings = example_settings();
  LogPointer log = TRY(stage.open(kExamplePartition, example_options()));
  const auto show_disk = [&](std::string title, std::string does, std::string says) -> Result<void> {
    TRY(stage.show(std::move(title), std::move(does), std::move(says)));
    stage.step().logs.push_back(TRY(look_at_disk(stage)));
    stage.step().facts.push_back(fact("checkpoint", TRY(recovery_checkpoint(stage)), storage::kRecoveryPointCheckpoint));
    return {};
  };

  TRY(append_example(stage, *log, 0, 6));
  TRY(stage.show("Written", "append 6 records",
                 fmt::format("All {} are acknowledged, but none of them is surely on the disk: they are in the operating system's page cache. The "
                             "recovery point, below which everything is on the disk, is {}.",
                             count_of(log->log_end_offset().value, "record"), log->recovery_point())));

  TRY(flush_and_checkpoint(stage, *log));
  const Offset written = TRY(recovery_checkpoint(stage));
  TRY(stage.show("Flushed", "flush; write the checkpoint",
                 fmt::format("All {} are synced now, and for the next start {} says {}: the last one is left out, so that its segment, whose index "
                             "files are not synced, is looked at again after a crash.",
                             count_of(log->recovery_point().value, "record"), storage::kRecoveryPointCheckpoint, written),
                 {fact("recovery point", log->recovery_point(), "the log"),
                  fact("checkpoint", written, storage::kRecoveryPointCheckpoint)}));

  TRY(append_example(stage, *log, 6, 9));
  TRY(stage.show("More, not flushed", "append 3 records",
                 fmt::format("Offsets {} to {} went to a new segment. They are acknowledged as well, and they are above the recovery point {}.", 6,
                             log->log_end_offset().value - 1, log->recovery_point())));

  std::unique_ptr<io::MemFileSystem> after = stage.disk->process_crash_clone();
  end_process(stage, log);
  stage.disk = std::move(after);
  TRY(show_disk("Killed", "kill -9", ""));
  stage.step().says = fmt::format(
      "The process is gone, the operating system is not: what was in its page cache is still there, all {} records. The index files have not been "
      "cut to their entries, and no mark of a clean stop was left.",
      stage.step().logs[0].log_end);

  storage::RecoveryReport report;
  log = TRY(start_again(stage, report));
  TRY(stage.show("The start after it", "open the log",
                 fmt::format("Without the mark, the broker checks every batch of the segments that reach beyond the recovery point, here {}, and makes "
                             "their indexes anew. Segments wholly below it are trusted. Nothing was lost: the log ends at {}.",
                             count_of(report.segments_recovered, "segment"), log->log_end_offset()),
                 facts_of(report)));

  TRY(flush_and_checkpoint(stage, *log));
  TRY(append_example(stage, *log, 9, 11));
  TRY(stage.show("On it goes", "flush; append 2 records",
                 fmt::format("Everything below offset {} is on the disk. Offsets {} and {} are acknowledged and in the page cache only.", log->recovery_point(),
                             log->log_end_offset().value - 2, log->log_end_offset().value - 1)));

  const Offset acknowledged = log->log_end_offset();
  end_process(stage, log);
  TRY(cut_power(stage, {acknowledged.value - 1}));
  TRY(show_disk("The power fails", "a power cut", ""));
  {
    const api::DemoLog& disk = stage.step().logs[0];
    stage.step().says = fmt::format(
        "The page cache is lost. The disk had taken some of it in an order of its own: one of the two records is whole, of the last one {} bytes are "
        "there that are no batch. Its length or its checksum does not fit.",
        disk.segments.back().torn_bytes);
  }

  report = {};
  log = TRY(start_again(stage, report));
  TRY(stage.show("The torn tail is cut", "open the log",
                 fmt::format("The check met the batch that does not fit, and nothing readable behind it: {} bytes were cut off. The log ends at {}, and "
                             "{} that was acknowledged is lost.",
                             report.bytes_cut, log->log_end_offset(), count_of(acknowledged.value - log->log_end_offset().value, "record")),
                 facts_of(report)));

  TRY(stage.append(*log, one_order(log->log_end_offset(), 650)));
  TRY(stage.show("An offset is given again", "append 1 record",
                 fmt::format("The new record got offset {}, which the lost one had. Kafka's answer to this are replicas on other machines and acks=all: "
                             "the page caches of several machines are seldom lost at once.",
                             log->log_end_offset().value - 1)));

  storage::LogConfig careful = log->config();
  careful.flush_messages = 1;
  log->update_config(careful);
  TRY(stage.append(*log, one_order(log->log_end_offset(), 400)));
  TRY(stage.show("Or the disk, each time", "set flush.messages to 1; append 1 record",
                 fmt::format("With flush.messages=1 a record is acknowledged only once it is on the disk: the recovery point moved with it, to {}. That "
                             "costs a sync for each append, or for several at once.",
                             log->recovery_point())));

  const Offset durable = log->log_end_offset();
  TRY(storage::write_offset_checkpoint(stage.fs(), checkpoint_path(), {{log->partition(), log->recovery_point_to_checkpoint()}}));
  after = stage.disk->crash_clone(1);
  end_process(stage, log);
  stage.disk = std::move(after);
  report = {};
  log = TRY(start_again(stage, report));
  TRY(stage.show("Another power cut", "a power cut; open the log",
                 fmt::format("The log ends at {}, as it did before: {} bytes were cut. What was on the disk is there.", durable, report.bytes_cut), facts_of(report)));
  if (log->log_end_offset() != durable) return Error{Errc::corrupt, "a record that was synced is gone"};
  return std::move(stage.demo());
}

}  // namespace cordwood::inspector::demos
