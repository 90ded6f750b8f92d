// cordwood verify: whether log directories, partition directories or single files are what they should be. Reads only.
//
// Exit code 0: nothing is damaged. 1: something is. 2: something could not be looked at.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "cli/help.h"
#include "offline/dump/java_text.h"
#include "offline/rendering.h"
#include "storage/check/partition_check.h"
#include "storage/checkpoint_file.h"
#include "storage/directory_files.h"
#include "storage/segment_file_name.h"

namespace cordwood::offline {
namespace {

using storage::CheckFinding;

constexpr cli::OptionSpec kVerifyOptions[] = {
    {.name = "deep", .help = "look at every record too; compressed batches are inflated"},
    {.name = "help", .help = "this text", .letter = 'h'},
    {.name = "json", .help = "a JSON object a line: one for each thing found, one for each partition"},
    {.name = "threads", .argument = "N", .help = "look at so many partitions at a time; as many as there are cores by default"},
};
constexpr cli::Positional kVerifyPlaces[] = {{.name = "DIR|FILE", .help = "a log directory, a partition directory, or a file of one", .repeatable = true}};
constexpr cli::Grammar kVerifyGrammar{.options = kVerifyOptions, .positionals = kVerifyPlaces};

struct VerifyTask {
  io::Path directory;
  std::string only_file;  // empty: all
  storage::CheckContext context;
};

struct VerifyOutcome {
  Result<storage::PartitionCheck> check = storage::PartitionCheck();
  bool is_done = false;
};

// What one log directory tells of all its partitions.
struct DirectoryFacts {
  bool is_in_use = false;
  storage::StopKind last_stop = storage::StopKind::unclean;
  storage::OffsetsByPartition recovery_points;
};

std::string json_of(const io::Path& directory, const CheckFinding& finding) {
  std::string text = "{\"directory\":";
  append_json_string(text, directory);
  text += ",\"file\":";
  append_json_string(text, finding.file);
  text += fmt::format(",\"weight\":\"{}\",\"finding\":\"{}\"", finding.weight == CheckFinding::Weight::damage ? "damage" : "note",
                      storage::to_string(finding.finding));
  if (finding.position) text += fmt::format(",\"position\":\"{}\",\"bytes\":\"{}\"", *finding.position, finding.bytes);
  if (finding.first_offset) text += fmt::format(",\"first_offset\":\"{}\"", *finding.first_offset);
  if (finding.end_offset) text += fmt::format(",\"end_offset\":\"{}\"", *finding.end_offset);
  text += fmt::format(",\"at_next_start\":\"{}\",\"why\":", storage::to_string(finding.at_next_start));
  append_json_string(text, finding.why);
  text += ",\"kafka\":";
  append_json_string(text, finding.kafka);
  return text + "}\n";
}

constexpr const char* kFilesOfALogDir[] = {storage::kMetaProperties, storage::kRecoveryPointCheckpoint, storage::kLogStartCheckpoint,
                                           storage::kReplicationCheckpoint, storage::kCleanerCheckpoint};

bool is_file_of_a_log_dir(std::string_view name) { return std::ranges::find(kFilesOfALogDir, name) != std::end(kFilesOfALogDir); }

bool is_file_of_a_log(std::string_view name) {
  return storage::parse_segment_file_name(name).kind != storage::SegmentFileKind::other || name == storage::kPartitionMetadata ||
         name == storage::kLeaderEpochCheckpoint;
}

class Verify {
 public:
  Verify(const cli::Options& options, cli::Session& session) : options_(options), session_(session), is_json_(options.has("json")) {}

  Result<int> run() {
    if (options_.words().empty()) return Error{Errc::invalid, "no directory and no file is named"};
    auto threads = options_.int_value("threads");
    if (!threads) return Error{Errc::invalid, threads.mistake().message};
    if (threads->has_value() && **threads < 1) return Error{Errc::invalid, "--threads must be 1 or more"};
    for (const std::string& place : options_.words()) add_place(place);
    const auto cores = static_cast<std::int32_t>(std::max(1u, std::thread::hardware_concurrency()));
    look(threads->value_or(cores));
    for (std::size_t i = 0; i < tasks_.size(); ++i) tell(tasks_[i], outcomes_[i]);
    if (!is_json_) {
      session_.out.print("{} partitions, {} batches, {} bytes: {}\n", tasks_.size(), batches_, bytes_,
                         damages_ > 0 ? fmt::format("{} damaged places", damages_) : could_not_look_ ? "not all could be looked at" : "no damage");
    }
    if (damages_ > 0 && !is_json_) session_.err.print("cordwood verify: `cordwood repair --dry-run` says what of it can be kept\n");
    if (could_not_look_) return 2;
    return damages_ > 0 ? 1 : 0;
  }

 private:
  void fail(const io::Path& place, const Error& error) {
    session_.err.print("cordwood verify: {}: {}\n", place, error.message());
    could_not_look_ = true;
  }

  void add_place(const std::string& named) {
    const io::Path place = java_path(named);
    const auto status = session_.files.status(place);
    if (!status) return fail(place, status.error());
    if (!status->is_directory) {
      const io::Path directory(io::parent_of(place));
      if (is_file_of_a_log_dir(io::file_name(place))) return look_at_file_of_log_dir(directory, io::file_name(place));
      if (!is_file_of_a_log(io::file_name(place))) return fail(place, Error{Errc::invalid, "by its name no file of a log"});
      add_partition(directory, facts_of(io::Path(io::parent_of(directory)), Say::no), std::string(io::file_name(place)));
      return;
    }
    const auto entries = session_.files.list(place);
    if (!entries) return fail(place, entries.error());
    const bool is_partition = std::ranges::any_of(*entries, [](const io::DirectoryEntry& entry) {
      return entry.kind == io::DirectoryEntry::Kind::file && storage::parse_segment_file_name(entry.name).offset.has_value();
    });
    if (is_partition) {
      add_partition(place, facts_of(io::Path(io::parent_of(place)), Say::no), "");
      return;
    }
    const bool is_log_dir = std::ranges::any_of(*entries, [](const io::DirectoryEntry& entry) { return entry.name == storage::kMetaProperties; });
    if (!is_log_dir && std::ranges::none_of(*entries, [&](const io::DirectoryEntry& entry) { return is_partition_with_files(place, entry); })) {
      return fail(place, Error{Errc::not_found, "no log directory: it has neither meta.properties nor a partition with files of a log"});
    }
    const DirectoryFacts facts = facts_of(place, Say::yes);
    for (const io::DirectoryEntry& entry : *entries) {
      if (entry.kind == io::DirectoryEntry::Kind::file || entry.kind == io::DirectoryEntry::Kind::other) continue;
      if (storage::parse_partition_directory(entry.name)) add_partition(io::join(place, entry.name), facts, "");
    }
  }

  bool is_partition_with_files(const io::Path& log_dir, const io::DirectoryEntry& entry) const {
    if (entry.kind == io::DirectoryEntry::Kind::file || !storage::parse_partition_directory(entry.name)) return false;
    const auto files = session_.files.list(io::join(log_dir, entry.name));
    return files && std::ranges::any_of(*files, [](const io::DirectoryEntry& file) { return is_file_of_a_log(file.name); });
  }

  void add_partition(const io::Path& directory, const DirectoryFacts& facts, std::string only_file) {
    VerifyTask task{directory, std::move(only_file), {}};
    task.context.is_in_use = facts.is_in_use;
    task.context.last_stop = facts.last_stop;
    task.context.depth = options_.has("deep") ? storage::CheckDepth::records : storage::CheckDepth::batches;
    task.context.bytes_done = &bytes_done_;
    if (const auto name = storage::parse_partition_directory(io::file_name(directory))) {
      if (const auto point = facts.recovery_points.find(name->partition); point != facts.recovery_points.end()) {
        task.context.recovery_point = point->second;
      }
    }
    tasks_.push_back(std::move(task));
  }

  enum class Say { no, yes };

  DirectoryFacts facts_of(const io::Path& directory, Say say) {
    DirectoryFacts facts;
    const io::Path lock = io::join(directory, storage::kLockFile);
    if (session_.files.exists(lock).has_value() && *session_.files.exists(lock)) {
      const auto taken = session_.files.lock(lock);
      facts.is_in_use = !taken && taken.error().code == Errc::locked;
    }
    if (facts.is_in_use && say == Say::yes) {
      session_.err.print("cordwood verify: {} is in use: what is being written may look unfinished\n", directory);
    }
    const auto mark = storage::read_clean_shutdown(session_.files, directory);
    if (mark && mark->has_value()) facts.last_stop = storage::StopKind::clean;
    auto points = storage::read_offset_checkpoint(session_.files, io::join(directory, storage::kRecoveryPointCheckpoint));
    if (points) facts.recovery_points = *std::move(points);
    if (say == Say::no) return facts;
    for (const char* name : kFilesOfALogDir) look_at_file_of_log_dir(directory, name);
    return facts;
  }

  void look_at_file_of_log_dir(const io::Path& directory, std::string_view name) {
    if (name == storage::kMetaProperties) {
      const auto meta = storage::read_meta_properties(session_.files, directory);
      if (meta) return;
      found(directory, {.file = std::string(name), .finding = storage::RecoveryFinding::unreadable, .why = meta.error().what + "; the start is refused"});
      return;
    }
    const auto read = storage::read_offset_checkpoint(session_.files, io::join(directory, name));
    if (read || read.error().code == Errc::not_found) return;
    found(directory, {.file = std::string(name), .finding = storage::RecoveryFinding::unreadable, .why = read.error().what, .at_next_start = storage::RecoveryAction::rebuilt,
                      .kafka = "takes the log directory offline"});
  }

  void look(std::int32_t threads) {
    outcomes_.resize(tasks_.size());
    for (const VerifyTask& task : tasks_) bytes_to_do_ += size_of(task);
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      while (!session_.interrupted) {
        const std::size_t i = next++;
        if (i >= tasks_.size()) return;
        outcomes_[i].check = storage::check_partition(session_.files, tasks_[i].directory, tasks_[i].context);
        outcomes_[i].is_done = true;
      }
    };
    std::vector<std::jthread> crew;
    const std::size_t wanted = std::min<std::size_t>(static_cast<std::size_t>(threads), tasks_.size());
    for (std::size_t i = 1; i < wanted; ++i) crew.emplace_back(work);
    if (session_.err.is_terminal() && !is_json_) {
      show_progress(std::async(std::launch::async, work));
    } else {
      work();
    }
  }

  std::int64_t size_of(const VerifyTask& task) const {
    std::int64_t size = 0;
    const auto entries = session_.files.list(task.directory);
    if (!entries) return 0;
    for (const io::DirectoryEntry& entry : *entries) {
      if (!entry.name.ends_with(storage::kLogSuffix)) continue;
      if (const auto status = session_.files.status(io::join(task.directory, entry.name))) size += status->size.value;
    }
    return size;
  }

  void show_progress(std::future<void> finished) {
    const std::int64_t start = session_.clock.now().value;
    while (finished.wait_for(std::chrono::milliseconds(200)) == std::future_status::timeout) {
      const std::int64_t now_done = bytes_done_;
      const double seconds = static_cast<double>(session_.clock.now().value - start) / 1000;
      if (seconds < 1 || now_done == 0) continue;
      const double left = seconds * static_cast<double>(std::max<std::int64_t>(0, bytes_to_do_ - now_done)) / static_cast<double>(now_done);
      session_.err.print("\r{:5.1f} %  {:.2f} GB/s  {:.0f} s left \x1b[K", 100.0 * static_cast<double>(now_done) / static_cast<double>(std::max<std::int64_t>(1, bytes_to_do_)),
                         static_cast<double>(now_done) / seconds / 1e9, left);
      session_.err.flush();
    }
    session_.err.print("\r\x1b[K");
    session_.err.flush();
  }

  void tell(const VerifyTask& task, const VerifyOutcome& outcome) {
    if (!outcome.is_done) {
      could_not_look_ = true;
      return;
    }
    if (!outcome.check) return fail(task.directory, outcome.check.error());
    const storage::PartitionCheck& check = *outcome.check;
    batches_ += check.batches;
    bytes_ += check.bytes.value;
    const std::string_view stem = before_first_dot(task.only_file);
    for (const CheckFinding& finding : check.findings) {
      if (task.only_file.empty() || (task.only_file.ends_with(storage::kLogSuffix) ? before_first_dot(finding.file) == stem : finding.file == task.only_file)) {
        found(task.directory, finding);
      }
    }
    if (!is_json_) return;
    std::string line = "{\"directory\":";
    append_json_string(line, task.directory);
    session_.out.print("{},\"segments\":{},\"batches\":\"{}\",\"records\":\"{}\",\"bytes\":\"{}\",\"log_start\":\"{}\",\"log_end\":\"{}\",\"damaged\":{}}}\n",
                       line, check.segments, check.batches, check.records, check.bytes, check.log_start, check.log_end, check.is_damaged());
  }

  void found(const io::Path& directory, const CheckFinding& finding) {
    if (finding.weight == CheckFinding::Weight::damage) ++damages_;
    if (is_json_) {
      session_.out.write(json_of(directory, finding));
    } else {
      session_.out.print("{}/{}\n", directory, storage::describe(finding));
    }
  }

  const cli::Options& options_;
  cli::Session& session_;
  const bool is_json_;
  std::vector<VerifyTask> tasks_;
  std::vector<VerifyOutcome> outcomes_;
  std::atomic<std::int64_t> bytes_done_ = 0;
  std::int64_t bytes_to_do_ = 0;
  std::int64_t batches_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t damages_ = 0;
  bool could_not_look_ = false;
};

Result<int> verify(const cli::Options& options, cli::Session& session) { return Verify(options, session).run(); }

int run_verify(const cli::Command& self, const cli::Words& words, cli::Session& session) {
  return cli::run_own(self, words, session, verify, 2);
}

}  // namespace

extern const cli::Command verify_command;
const cli::Command verify_command{
    .name = "verify",
    .summary = "look for damage in log directories, partition directories or files",
    .details = "Reads only. Every batch's checksum and offsets, both indexes, producer snapshots, epochs and checkpoints; for each thing found "
               "it says what the next start would do about it. Exit code 0: no damage, 1: damage, 2: something could not be looked at.",
    .grammar = &kVerifyGrammar,
    .run = run_verify,
};

}  // namespace cordwood::offline
