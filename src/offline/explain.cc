// explain WHAT DIR [TOPIC[:PARTITION]…]: why segments stay or go, why a log is compacted or not, how an offset or a time is looked up, what a
// start would do.
//
// The broker's own code decides, on the directory as it lies with all changes kept in memory (io/overlay_file_system.h); what
// is printed are its verdicts.
#include <algorithm>
#include <array>

#include "broker/metadata/directory_identity.h"
#include "cli/command.h"
#include "cli/help.h"
#include "io/overlay_file_system.h"
#include "offline/data_directory.h"
#include "offline/opened_logs.h"
#include "offline/rendering.h"
#include "storage/cleaner/cleanable.h"
#include "storage/lookup_trace.h"
#include "storage/recovery_verdict.h"
#include "storage/retention.h"

namespace cordwood::offline {
namespace {

using cli::Options;
using cli::Session;

constexpr cli::OptionSpec kExplainOptions[] = {
    {.name = "config", .argument = "FILE", .help = "server.properties of the broker, for settings that are given there", .letter = 'c'},
    {.name = "at", .argument = "TIME", .help = "as if it were this time: 2026-01-31T23:59:59Z, or milliseconds"},
    {.name = "offset", .argument = "OFFSET", .help = "lookup: the offset that a reader asks for"},
    {.name = "timestamp", .argument = "TIME", .help = "lookup: the time whose first record is wanted, written as for --at"},
    {.name = "json", .help = "JSON lines"},
    {.name = "help", .help = "this text", .letter = 'h'},
};
constexpr cli::Positional kExplainPositionals[] = {
    {.name = "WHAT", .help = "retention, compaction, lookup or start"},
    {.name = "DIR", .help = "a log directory, several with commas"},
    {.name = "TOPIC", .help = "or TOPIC:PARTITION; a topic may end in *; all when absent", .required = false, .repeatable = true},
};
constexpr cli::Grammar kExplainGrammar{.habit = cli::Habit::own, .options = kExplainOptions, .positionals = kExplainPositionals};

// Tells the time that was asked for; what waits and measures goes on as it does.
class ExplainClock final : public Clock {
 public:
  ExplainClock(const Clock& real, std::optional<TimestampMs> told) : real_(real), told_(told) {}
  TimestampMs now() const override { return told_.value_or(real_.now()); }
  MonotonicNs monotonic() const override { return real_.monotonic(); }

 private:
  const Clock& real_;
  const std::optional<TimestampMs> told_;
};

struct Explaining {
  Session& session;
  const DataDirectory& data;
  OpenedLogs& logs;
  TimestampMs now;
  bool json = false;
};

void print_heading(const Explaining& e, const storage::PartitionLog& log) {
  e.session.out.print("{}: log start {}, high watermark {}, log end {}, {} in {} segments\n", log.partition().to_string(),
                      log.log_start_offset(), log.high_watermark(), log.log_end_offset(), human_size(log.size()),
                      log.segments().size());
}

JsonLine explain_line(std::string& out, const char* what, const TopicPartition& partition) {
  JsonLine line(out);
  line.text("explains", what).text("topic", partition.topic).number("partition", partition.partition.value);
  return line;
}

Result<void> explain_retention_of(const Explaining& e, const storage::PartitionLog& log) {
  const auto verdicts = TRY(log.explain_retention(e.now));
  if (!e.json) {
    print_heading(e, log);
    for (const storage::RetentionVerdict& verdict : verdicts) {
      e.session.out.print("  {}  {}\n", verdict.goes ? "goes " : "stays", storage::describe(verdict));
    }
    return {};
  }
  for (const storage::RetentionVerdict& verdict : verdicts) {
    std::string out;
    JsonLine line = explain_line(out, "retention", log.partition());
    line.number("base_offset", verdict.segment.base_offset.value).number("next_offset", verdict.segment.next_offset.value);
    line.number("size_bytes", verdict.segment.size.value).boolean("active", verdict.segment.active);
    line.boolean("goes", verdict.goes).text("rule", storage::to_string(verdict.rule)).text("hold", storage::to_string(verdict.hold));
    line.number("retention_ms", verdict.limits.retention_ms.value);
    line.text("retention_ms_source", storage::to_string(verdict.limits.retention_ms_source));
    line.number("retention_bytes", verdict.limits.retention_bytes.value);
    line.text("retention_bytes_source", storage::to_string(verdict.limits.retention_bytes_source));
    line.text("cleanup_policy_source", storage::to_string(verdict.limits.cleanup_policy_source));
    line.optional("goes_at_ms", verdict.goes_at ? std::optional(verdict.goes_at->value) : std::nullopt);
    line.optional("goes_after_bytes", verdict.goes_after ? std::optional(verdict.goes_after->value) : std::nullopt);
    line.text("says", storage::describe(verdict));
    line.end();
    e.session.out.write(out);
  }
  return {};
}

// Of one segment, by the bounds that the verdict names.
const char* cleaning_standing(const storage::CleaningVerdict& verdict, Offset base, bool active) {
  if (base < verdict.first_dirty) return "clean";
  if (base < verdict.first_uncleanable) return verdict.is_due() ? "is cleaned" : "dirty";
  return active ? "active, never cleaned" : "not yet: too young, or a transaction is open in it or below";
}

Result<void> explain_compaction_of(const Explaining& e, const storage::PartitionLog& log, const PartitionOnDisk& on_disk) {
  const storage::CleanableFacts facts = TRY(log.cleanable_facts(on_disk.cleaned_to));
  const storage::CleaningVerdict verdict = storage::judge(facts, log.config(), e.now);
  const std::vector<storage::SegmentInfo> segments = log.segments();
  if (e.json) {
    std::string out;
    JsonLine line = explain_line(out, "compaction", log.partition());
    line.text("decision", storage::to_string(verdict.decision)).boolean("due", verdict.is_due());
    line.number("first_dirty_offset", verdict.first_dirty.value);
    line.number("first_uncleanable_offset", verdict.first_uncleanable.value);
    line.number("clean_bytes", verdict.clean_bytes.value).number("cleanable_bytes", verdict.cleanable_bytes.value);
    line.real("dirty_ratio", verdict.dirty_ratio).real("wanted_ratio", verdict.wanted_ratio);
    line.optional("checkpoint", on_disk.cleaned_to ? std::optional(on_disk.cleaned_to->value) : std::nullopt);
    line.text("says", storage::explain(verdict));
    line.end();
    e.session.out.write(out);
    return {};
  }
  print_heading(e, log);
  e.session.out.print("  {}\n", storage::explain(verdict));
  if (verdict.decision == storage::CleaningDecision::not_compacted) return {};
  e.session.out.print("  cleaner-offset-checkpoint: {}\n", on_disk.cleaned_to ? fmt::format("{}", *on_disk.cleaned_to) : "none");
  for (const storage::SegmentInfo& segment : segments) {
    e.session.out.print("  segment {}: {} bytes, {}\n", segment.base_offset, segment.size,
                        cleaning_standing(verdict, segment.base_offset, segment.active));
  }
  return {};
}

void explain_start_of(const Explaining& e, const storage::PartitionLog& log, const PartitionOnDisk& on_disk) {
  const storage::RecoveryReport& report = log.recovery();
  if (e.json) {
    std::string verdicts = "[";
    for (const storage::RecoveryVerdict& verdict : report.verdicts) {
      if (verdicts.size() > 1) verdicts += ',';
      JsonLine one(verdicts);
      one.text("file", verdict.file).text("finding", storage::to_string(verdict.finding));
      one.text("action", storage::to_string(verdict.action)).number("bytes", verdict.bytes.value);
      one.optional("position", verdict.position ? std::optional(verdict.position->value) : std::nullopt);
      one.optional("first_lost_offset", verdict.offset ? std::optional(verdict.offset->value) : std::nullopt);
      one.text("kept_as", verdict.kept_as).text("says", storage::describe(verdict));
      one.end_inner();
    }
    std::string out;
    JsonLine line = explain_line(out, "start", log.partition());
    line.number("log_start_offset", log.log_start_offset().value).number("log_end_offset", log.log_end_offset().value);
    line.number("segments_recovered", report.segments_recovered).number("bytes_cut", report.bytes_cut.value);
    line.raw("verdicts", verdicts + "]");
    line.end();
    e.session.out.write(out);
    return;
  }
  const bool clean = e.data.log_dirs[on_disk.log_dir].clean;
  const std::string how = report.segments_recovered > 0
                              ? fmt::format("{} segments are checked from the recovery point on", report.segments_recovered)
                          : clean ? std::string("opened as it is: it was stopped cleanly")
                                  : std::string("nothing lies above the recovery point");
  e.session.out.print("{}: log start {}, log end {}; {}\n", log.partition().to_string(), log.log_start_offset(),
                      log.log_end_offset(), how);
  for (const storage::RecoveryVerdict& verdict : report.verdicts) e.session.out.print("  {}\n", storage::describe(verdict));
  for (const std::string& file : report.rebuilt_files) e.session.out.print("  {} is made anew\n", file);
  for (const std::string& file : report.removed_files) e.session.out.print("  {} goes\n", file);
}

// What a reader asks for: one of the two.
struct LookupTarget {
  std::optional<Offset> offset;
  std::optional<TimestampMs> timestamp;
};

void print_trace(const Explaining& e, const storage::PartitionLog& log, const storage::LookupTrace& trace, const std::string& says) {
  print_heading(e, log);
  for (const storage::LookupStep& step : trace.steps()) {
    if (step.kind == storage::LookupStepKind::answer) continue;
    e.session.out.print("  {}{}\n", storage::describe(step),
                        step.reads > 0 ? fmt::format(" ({} bytes in {} reads)", step.bytes, step.reads) : std::string());
  }
  e.session.out.print("  answer: {}\n", says);
}

std::string trace_as_json(const storage::LookupTrace& trace) {
  std::string list = "[";
  for (const storage::LookupStep& step : trace.steps()) {
    if (list.size() > 1) list += ',';
    JsonLine one(list);
    one.text("kind", storage::to_string(step.kind)).text("file", step.file);
    one.optional("segment", step.segment ? std::optional(step.segment->value) : std::nullopt);
    one.optional("entry", step.entry);
    one.optional("offset", step.offset ? std::optional(step.offset->value) : std::nullopt);
    one.optional("timestamp_ms", step.timestamp ? std::optional(step.timestamp->value) : std::nullopt);
    one.optional("from", step.from ? std::optional(step.from->value) : std::nullopt);
    one.optional("to", step.to ? std::optional(step.to->value) : std::nullopt);
    one.number("bytes_read", step.bytes.value).number("reads", step.reads).text("says", storage::describe(step));
    one.end_inner();
  }
  return list + "]";
}

// The search is the log's, and it tells what it does.
Result<void> explain_lookup_of(const Explaining& e, const storage::PartitionLog& log, const LookupTarget& target) {
  storage::LookupTrace trace;
  std::string says;
  std::optional<record::BatchHeader> batch;
  bool in_range = true;
  std::optional<storage::FoundRecord> record;
  if (target.timestamp) {
    record = TRY(log.find_by_timestamp(*target.timestamp, &trace));
    says = record ? fmt::format("offset {}, whose time is {}", record->offset, storage::describe_time(record->timestamp))
                  : fmt::format("no record is as late as {}", storage::describe_time(*target.timestamp));
  } else {
    storage::ReadOptions read;
    read.from = *target.offset;
    read.max_bytes = ByteCount{1};
    read.at_least_one_batch = true;
    const auto answer = log.read(read, &trace);
    in_range = answer.has_value();
    if (!answer) {
      says = answer.error().message();
    } else if (answer->range.size > ByteCount{0}) {
      std::array<std::byte, record::kHeaderSize> header{};
      const std::size_t count = TRY(answer->range.source->read_at(answer->range.position, header));
      if (count == header.size() && header[record::kMagic] == std::byte{2}) batch = TRY(record::read_header(header));
      says = fmt::format("a batch of {} bytes at position {}", answer->range.size, answer->range.position);
      if (batch) says += fmt::format(", offsets {} to {}", batch->base_offset, batch->last_offset());
    } else {
      says = fmt::format("nothing: readers see what is below {}", answer->high_watermark);
    }
  }
  if (!e.json) {
    print_trace(e, log, trace, says);
    return {};
  }
  std::string out;
  JsonLine line = explain_line(out, "lookup", log.partition());
  line.optional("offset", target.offset ? std::optional(target.offset->value) : std::nullopt);
  line.optional("timestamp_ms", target.timestamp ? std::optional(target.timestamp->value) : std::nullopt);
  line.boolean("in_range", in_range).raw("steps", trace_as_json(trace));
  line.number("bytes_read", trace.bytes().value).number("reads", trace.reads());
  line.optional("base_offset", batch ? std::optional(batch->base_offset.value) : std::nullopt);
  line.optional("last_offset", batch ? std::optional(batch->last_offset().value) : std::nullopt);
  line.optional("found_offset", record ? std::optional(record->offset.value) : std::nullopt);
  line.optional("found_timestamp_ms", record ? std::optional(record->timestamp.value) : std::nullopt);
  line.text("says", says);
  line.end();
  e.session.out.write(out);
  return {};
}

// What the metadata makes of the directories as a whole: whether a start is refused, what is adopted.
void explain_identity(const Explaining& e) {
  broker::metadata::ControllerOptions options;
  options.node_id = e.data.config.node_id;
  options.metadata_dir = e.data.config.metadata_log_dir.empty() ? e.data.log_dirs.front().path : e.data.config.metadata_log_dir;
  const auto identity = broker::metadata::identify_directories(e.logs.environment(), e.logs.manager(), options);
  std::string text;
  if (!identity) {
    text = fmt::format("a start is refused: {}", identity.error().message());
  } else if (!identity->adopted.empty()) {
    text = "there is no metadata log: topics and partitions are taken over from their directories";
  } else {
    text = fmt::format("node {} of cluster {}, metadata in {}", options.node_id, identity->cluster_id, identity->metadata_dir);
  }
  if (e.json) {
    std::string out;
    JsonLine line(out);
    line.text("explains", "start").boolean("refused", !identity.has_value()).text("says", text);
    line.end();
    e.session.out.write(out);
  } else {
    e.session.out.print("{}\n", text);
  }
}

Result<int> explain_directory(const Options& options, Session& outer) {
  const std::string& what = options.words().front();
  if (what != "retention" && what != "compaction" && what != "lookup" && what != "start") {
    return Error{Errc::invalid, fmt::format("'{}' is none of retention, compaction, lookup, start", what)};
  }
  if (options.words().size() < 2) return Error{Errc::invalid, "no directory is named"};
  const auto config = options.value("config");
  const auto at = options.value("at");
  const auto offset = options.long_value("offset");
  if (!config || !at) return Error{Errc::invalid, "an option is given twice"};
  if (!offset) return Error{Errc::invalid, offset.mistake().message};
  const auto timestamp = options.value("timestamp");
  if (!timestamp) return Error{Errc::invalid, "an option is given twice"};
  LookupTarget target;
  if (*offset) target.offset = Offset{**offset};
  if (*timestamp) target.timestamp = TRY(parse_time(**timestamp, outer.clock.now()));
  if (what == "lookup" && target.offset.has_value() == target.timestamp.has_value()) {
    return Error{Errc::invalid, "explain lookup needs --offset or --timestamp, and not both"};
  }
  std::optional<TimestampMs> told;
  if (*at) told = TRY(parse_time(**at, outer.clock.now()));
  const ExplainClock clock(outer.clock, told);
  io::OverlayFileSystem overlay(outer.files, clock);
  Session session{clock,          outer.random, overlay,           outer.in,      outer.out,
                  outer.err,      outer.variable, outer.interrupted, outer.version, outer.commands};

  const DataDirectory data = TRY(open_data_directory(overlay, options.words()[1], *config));
  const std::vector<std::string> choices(options.words().begin() + 2, options.words().end());
  const auto partitions = TRY(choose(data, choices));
  for (const std::string& warning : data.warnings) session.err.print("cordwood explain: {}\n", warning);
  if (!data.has_metadata && what != "start") {
    session.err.print("cordwood explain: there is no metadata log here: settings of topics are not known, the broker's are taken\n");
  }
  if (data.in_use()) session.err.print("cordwood explain: a broker is using the directory: this is how it lies on the disk now\n");
  const auto logs = TRY(OpenedLogs::open(overlay, session, data, {.before_load = {}, .judge_strays = what == "start"}));
  const Explaining explaining{session, data, *logs, clock.now(), options.has("json")};
  if (what == "start") explain_identity(explaining);
  for (const PartitionOnDisk* partition : partitions) {
    if (session.out.failed() || session.interrupted) break;
    auto log = logs->find(partition->partition);
    if (!log && what == "start") {
      session.out.print("{}\n", fmt::format("{}: the cluster does not know it: it becomes a stray", partition->partition.to_string()));
      continue;
    }
    Result<void> explained;
    if (!log) {
      explained = log.error();
    } else if (what == "retention") {
      explained = explain_retention_of(explaining, **log);
    } else if (what == "lookup") {
      explained = explain_lookup_of(explaining, **log, target);
    } else if (what == "compaction") {
      explained = explain_compaction_of(explaining, **log, *partition);
    } else {
      explain_start_of(explaining, **log, *partition);
    }
    if (!explained) session.err.print("cordwood explain: passed over: {}\n", explained.error().message());
  }
  if (what == "start" && !explaining.json) {
    for (const std::string& line : logs->complaints()) session.out.print("it would log: {}\n", line);
  }
  return 0;
}

int run_explain(const cli::Command& self, const cli::Words& words, Session& session) {
  return cli::run_own(self, words, session, explain_directory);
}

}  // namespace

extern const cli::Command explain_command{
    .name = "explain",
    .summary = "why segments stay or go, logs are compacted or not, how an offset or a time is found, what a start does",
    .details = "The broker's own rules are run on the directory, and nothing on the disk is changed; what they decide is printed with "
               "the setting that decides it and where that was given.",
    .grammar = &kExplainGrammar,
    .run = run_explain,
};

}  // namespace cordwood::offline
