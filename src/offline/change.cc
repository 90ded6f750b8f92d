// reindex, roll, retain, compact: on a stopped directory, what the broker would do now, by its own code; with --inspector the running
// broker itself is asked to do it (change_running.h).
//
// On a directory all take the .lock, open the logs as a start does (an unclean stop is recovered from), change the logs that are named,
// and close them cleanly. With --dry-run the changes stay in memory (io/overlay_file_system.h).
#include <algorithm>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/inspector_client.h"
#include "io/overlay_file_system.h"
#include "offline/change_report.h"
#include "offline/change_running.h"
#include "offline/data_directory.h"
#include "offline/opened_logs.h"
#include "storage/cleaner/cleanable.h"
#include "storage/cleaner/cleaner_checkpoints.h"
#include "storage/cleaner/cleaning_pass.h"
#include "storage/cleaner/log_cleaner.h"
#include "storage/cleaner/offset_map.h"
#include "storage/retention.h"
#include "storage/segment_file_name.h"

namespace cordwood::offline {
namespace {

using cli::Options;
using cli::Session;

constexpr cli::OptionSpec kChangeOptions[] = {
    {.name = "config", .argument = "FILE", .help = "server.properties of the broker, for settings that are given there", .letter = 'c'},
    {.name = "inspector", .argument = "URL", .help = "of a running Cordwood, which is asked to do it: http://HOST:PORT, as its first lines tell", .letter = 'i'},
    {.name = "token", .argument = "TOKEN", .help = "of that inspector, where it wants one"},
    {.name = "dry-run", .help = "say what would change, and change nothing", .letter = 'n'},
    {.name = "json", .help = "JSON lines"},
    {.name = "help", .help = "this text", .letter = 'h'},
};
constexpr cli::OptionSpec kCompactOptions[] = {
    {.name = "config", .argument = "FILE", .help = "server.properties of the broker, for settings that are given there", .letter = 'c'},
    {.name = "force", .help = "clean also what is not dirty enough", .letter = 'f'},
    {.name = "inspector", .argument = "URL", .help = "of a running Cordwood, which is asked to do it: http://HOST:PORT, as its first lines tell", .letter = 'i'},
    {.name = "token", .argument = "TOKEN", .help = "of that inspector, where it wants one"},
    {.name = "dry-run", .help = "say what would change, and change nothing", .letter = 'n'},
    {.name = "json", .help = "JSON lines"},
    {.name = "help", .help = "this text", .letter = 'h'},
};
constexpr cli::Positional kChangePositionals[] = {
    {.name = "DIR", .help = "a log directory, several with commas; all of one broker. Left out with --inspector", .required = false},
    {.name = "TOPIC", .help = "or TOPIC:PARTITION; a topic may end in *; all when absent", .required = false, .repeatable = true},
};
constexpr cli::Grammar kChangeGrammar{.habit = cli::Habit::own, .options = kChangeOptions, .positionals = kChangePositionals};
constexpr cli::Grammar kCompactGrammar{.habit = cli::Habit::own, .options = kCompactOptions, .positionals = kChangePositionals};

struct Changing : ChangeReport {
  const DataDirectory& data;
  OpenedLogs& logs;
  bool force = false;
};

Result<void> roll_log(const Changing& c, storage::PartitionLog& log, const PartitionOnDisk&) {
  const std::size_t before = log.segments().size();
  TRY(log.roll());
  const bool rolled = log.segments().size() > before;
  c.tell(log.partition(),
         rolled ? fmt::format("a new active segment at {}", log.log_end_offset()) : std::string("the active segment is empty and stays"),
         [&](JsonLine& line) { line.boolean("rolled", rolled).number("active_base_offset", log.segments().back().base_offset.value); });
  return {};
}

Result<void> retain_log(const Changing& c, storage::PartitionLog& log, const PartitionOnDisk&) {
  const auto gone = TRY(log.apply_retention(c.session.clock.now()));
  TRY(log.remove_retired_files());
  for (const storage::RetentionVerdict& verdict : gone) {
    c.tell(log.partition(), storage::describe(verdict), [&](JsonLine& line) {
      line.number("base_offset", verdict.segment.base_offset.value).number("removed_bytes", verdict.segment.size.value);
      line.text("rule", storage::to_string(verdict.rule));
    });
  }
  return {};
}

Result<void> compact_log(const Changing& c, storage::PartitionLog& log, const PartitionOnDisk& on_disk) {
  const storage::LogEnvironment& environment = c.logs.environment();
  std::vector<io::Path> directories;
  for (const LogDirOnDisk& log_dir : c.data.log_dirs) directories.push_back(log_dir.path);
  storage::CleanerCheckpoints checkpoints(*environment.fs, *environment.logger, directories);
  const auto facts = TRY(log.cleanable_facts(checkpoints.find(on_disk.log_dir, log.partition())));
  const storage::CleaningVerdict verdict = storage::judge(facts, log.config(), c.session.clock.now());
  const bool forced = c.force && verdict.decision == storage::CleaningDecision::not_dirty_enough;
  if (!verdict.is_due() && !forced) {
    if (verdict.decision != storage::CleaningDecision::not_compacted) {
      c.tell(log.partition(), storage::explain(verdict), [](JsonLine& line) { line.boolean("cleaned", false); });
    }
    return {};
  }
  const storage::CleanerOptions options;
  storage::OffsetMap map(options.dedupe_buffer_size, options.load_factor, *environment.random);
  const ByteCount before = log.size();
  storage::PassSettings settings;
  settings.between = [&](ByteCount) -> Result<void> {
    if (c.session.interrupted) return Error{Errc::closed, "interrupted"};
    return {};
  };
  const storage::PassResult pass = TRY(storage::clean_log(log, environment, verdict, map, settings));
  const auto is_live = [&](const TopicPartition& partition) { return c.logs.manager().find(partition) != nullptr; };
  TRY(checkpoints.set(on_disk.log_dir, log.partition(), pass.end, is_live));
  TRY(log.remove_retired_files());
  const storage::PassStatistics& s = pass.statistics;
  c.tell(log.partition(),
         fmt::format("clean up to offset {}: {} of {} records stay, {} became {}", pass.end, s.records_kept, s.records_read,
                     human_size(before), human_size(log.size())),
         [&](JsonLine& line) {
           line.boolean("cleaned", true).number("clean_to_offset", pass.end.value).number("records_read", s.records_read);
           line.number("records_kept", s.records_kept).number("bytes_before", before.value).number("bytes_after", log.size().value);
         });
  return {};
}

// The files were taken away before the log was opened, which has made them anew.
Result<void> tell_reindexed(const Changing& c, storage::PartitionLog& log, const PartitionOnDisk&) {
  TRY(log.flush());
  c.tell(log.partition(), fmt::format("the indexes of {} segments are made anew", log.segments().size()),
         [&](JsonLine& line) { line.number("segments", static_cast<std::int64_t>(log.segments().size())); });
  return {};
}

Result<void> remove_indexes(io::FileSystem& fs, const std::vector<const PartitionOnDisk*>& partitions) {
  for (const PartitionOnDisk* partition : partitions) {
    for (const SegmentOnDisk& segment : partition->segments) {
      for (std::string_view suffix : {storage::kOffsetIndexSuffix, storage::kTimeIndexSuffix}) {
        const auto removed = fs.remove_file(io::join(partition->directory, storage::segment_file_name(segment.base_offset, suffix)));
        if (!removed && removed.error().code != Errc::not_found) return removed.error();
      }
    }
  }
  return {};
}

using ChangeLog = Result<void> (*)(const Changing&, storage::PartitionLog&, const PartitionOnDisk&);

Result<int> change_directory(const Options& options, Session& outer, std::string_view command, ChangeLog change) {
  const auto config = options.value("config");
  if (!config) return Error{Errc::invalid, config.mistake().message};
  io::OverlayFileSystem overlay(outer.files, outer.clock);
  const bool dry = options.has("dry-run");
  io::FileSystem& files = dry ? static_cast<io::FileSystem&>(overlay) : outer.files;
  Session session{outer.clock, outer.random,   files,             outer.in,      outer.out,
                  outer.err,   outer.variable, outer.interrupted, outer.version, outer.commands};

  const DataDirectory data = TRY(open_data_directory(files, options.words().front(), *config));
  const std::vector<std::string> choices(options.words().begin() + 1, options.words().end());
  const auto partitions = TRY(choose(data, choices));
  for (const std::string& warning : data.warnings) session.err.print("cordwood {}: {}\n", command, warning);
  if (std::ranges::any_of(partitions, [](const PartitionOnDisk* p) { return p->partition.topic == "__cluster_metadata"; })) {
    return Error{Errc::invalid, "the metadata log is the controller's: it is not changed"};
  }
  // Settings that nobody knows would be taken for the defaults, and records would go that were to stay.
  if (!data.has_metadata && (command == "retain" || command == "compact")) {
    return Error{Errc::invalid, "there is no metadata log in these directories: the settings of the topics are not known"};
  }
  OpenedLogs::Wish wish;
  if (command == "reindex") wish.before_load = [&](storage::LogManager&, const storage::LogEnvironment&) { return remove_indexes(files, partitions); };
  auto opened = OpenedLogs::open(files, session, data, std::move(wish));
  if (!opened && opened.error().code == Errc::locked) {
    return Error{Errc::locked, fmt::format("{}; a running Cordwood does it when it is asked: cordwood {} --inspector http://HOST:PORT",
                                           opened.error().message(), command)};
  }
  const auto logs = TRY(std::move(opened));
  const Changing changing{{session, command, options.has("json")}, data, *logs, options.has("force")};
  int code = 0;
  for (const PartitionOnDisk* partition : partitions) {
    if (session.interrupted) break;
    const auto log = logs->find(partition->partition);
    Result<void> changed = log ? change(changing, **log, *partition) : Result<void>(log.error());
    if (!changed) {
      session.err.print("cordwood {}: {}: {}\n", command, partition->partition.to_string(), changed.error().message());
      code = 1;
    }
  }
  for (const std::string& line : logs->complaints()) {
    // That is what reindex is for.
    if (command == "reindex" && line.ends_with("missing: rebuilt")) continue;
    session.err.print("cordwood {}: {}\n", command, line);
  }
  TRY(logs->close());
  if (dry) session.err.print("cordwood {}: nothing was changed (--dry-run)\n", command);
  return code;
}

Result<int> ask_the_broker(const Options& options, Session& session, std::string_view command, const std::string& url) {
  const auto token = options.value("token");
  if (!token) return Error{Errc::invalid, token.mistake().message};
  if (options.has("config")) return Error{Errc::invalid, "--config is for directories: a running broker has its own settings"};
  RunningChange wanted{.command = command,
                       .inspector = TRY(cli::parse_inspector_address(url)),
                       .choices = options.words(),
                       .json = options.has("json"),
                       .force = command == "compact" && options.has("force"),
                       .dry_run = options.has("dry-run")};
  if (*token) wanted.inspector.token = **token;
  // Else a directory would be taken for a topic that is not there.
  if (!wanted.choices.empty() && wanted.choices.front().find('/') != std::string::npos) {
    return Error{Errc::invalid, fmt::format("no directory is named with --inspector, only topics: '{}' is none", wanted.choices.front())};
  }
  return change_running(wanted, session);
}

Result<int> change_anywhere(const Options& options, Session& session, std::string_view command, ChangeLog change) {
  const auto url = options.value("inspector");
  if (!url) return Error{Errc::invalid, url.mistake().message};
  if (*url) return ask_the_broker(options, session, command, **url);
  if (options.has("token")) return Error{Errc::invalid, "--token belongs to --inspector"};
  if (options.words().empty()) return Error{Errc::invalid, "a log directory is missing, or --inspector for a running broker"};
  return change_directory(options, session, command, change);
}

Result<int> roll_logs(const Options& options, Session& session) { return change_anywhere(options, session, "roll", roll_log); }
Result<int> retain_logs(const Options& options, Session& session) { return change_anywhere(options, session, "retain", retain_log); }
Result<int> compact_logs(const Options& options, Session& session) { return change_anywhere(options, session, "compact", compact_log); }
Result<int> reindex_logs(const Options& options, Session& session) { return change_anywhere(options, session, "reindex", tell_reindexed); }

int run_roll(const cli::Command& self, const cli::Words& words, Session& session) { return cli::run_own(self, words, session, roll_logs); }
int run_retain(const cli::Command& self, const cli::Words& words, Session& session) { return cli::run_own(self, words, session, retain_logs); }
int run_compact(const cli::Command& self, const cli::Words& words, Session& session) { return cli::run_own(self, words, session, compact_logs); }
int run_reindex(const cli::Command& self, const cli::Words& words, Session& session) { return cli::run_own(self, words, session, reindex_logs); }

constexpr std::string_view kChangeDetails =
    "Of a directory the broker must be stopped: the .lock of each directory is taken. Logs are opened and closed as a broker does it, so "
    "that a directory that was not stopped cleanly is recovered first. A running Cordwood does it itself when it is asked by --inspector, "
    "and was started without any settings or with cordwood.inspector.actions=true; Apache Kafka cannot be asked.";

}  // namespace

extern const cli::Command roll_command{.name = "roll", .kafka_name = {}, .summary = "begin a new segment in logs of a stopped directory or a running broker",
                                       .details = kChangeDetails, .grammar = &kChangeGrammar, .run = run_roll};
extern const cli::Command retain_command{.name = "retain", .kafka_name = {}, .summary = "remove what retention takes, of a stopped directory or a running broker",
                                         .details = kChangeDetails, .grammar = &kChangeGrammar, .run = run_retain};
extern const cli::Command compact_command{.name = "compact", .kafka_name = {}, .summary = "compact logs of a stopped directory or a running broker",
                                          .details = kChangeDetails, .grammar = &kCompactGrammar, .run = run_compact};
extern const cli::Command reindex_command{.name = "reindex", .kafka_name = {}, .summary = "make index files anew, of a stopped directory or a running broker",
                                          .details = kChangeDetails, .grammar = &kChangeGrammar, .run = run_reindex};

}  // namespace cordwood::offline
