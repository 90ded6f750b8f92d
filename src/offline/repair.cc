// cordwood repair: damaged log directories or partition directories mended, in place with the originals in a quarantine, or as a copy.
//
// Exit code 0: nothing is damaged, or all is mended and nothing lost. 1: mended, and something could not be read. 2: something
// could not be mended or looked at. With --dry-run the code that it would have.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "cli/command.h"
#include "cli/help.h"
#include "offline/data_directory.h"
#include "offline/file_copy.h"
#include "offline/partition_repair.h"
#include "offline/rendering.h"
#include "offline/session_clock.h"
#include "storage/checkpoint_file.h"
#include "storage/directory_files.h"
#include "storage/segment_file_name.h"

namespace cordwood::offline {
namespace {

using cli::Options;
using cli::Session;
using storage::segment_file_name;

constexpr cli::OptionSpec kRepairOptions[] = {
    {.name = "config", .argument = "FILE", .help = "server.properties of the broker, for settings that are given there", .letter = 'c'},
    {.name = "deep", .help = "leave out batches whose checksum is right and whose records are not"},
    {.name = "dry-run", .help = "say what would be done, and change nothing", .letter = 'n'},
    {.name = "help", .help = "this text", .letter = 'h'},
    {.name = "json", .help = "JSON lines"},
    {.name = "output", .argument = "DIR", .help = "mend a copy, made here; absent or empty", .letter = 'o'},
    {.name = "quarantine", .argument = "DIR", .help = "where originals go; by default beside the log directory, under its name with .quarantine behind"},
};
constexpr cli::Positional kRepairPlaces[] = {{.name = "DIR|PARTITION", .help = "a log directory, or partition directories", .repeatable = true}};
constexpr cli::Grammar kRepairGrammar{.options = kRepairOptions, .positionals = kRepairPlaces};

constexpr const char* kCheckpoints[] = {storage::kRecoveryPointCheckpoint, storage::kLogStartCheckpoint, storage::kReplicationCheckpoint,
                                        storage::kCleanerCheckpoint};
constexpr std::string_view kMetadataLog = "__cluster_metadata";
constexpr std::string_view kReport = "repair.jsonl";

// A log directory with the partitions of it that are looked at.
struct Place {
  io::Path log_dir;
  bool is_whole = false;  // the directory itself was named
  std::vector<io::Path> partitions;
};

struct CheckpointState {
  storage::OffsetsByPartition offsets;
  std::string mistake;  // why the file cannot be read; empty: it can
  bool is_changed = false;
};

// The lines of a damaged checkpoint that make sense by themselves.
storage::OffsetsByPartition readable_lines(std::string_view text) {
  storage::OffsetsByPartition found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t second = line.rfind(' ');
    const std::size_t first = second == std::string_view::npos || second == 0 ? std::string_view::npos : line.rfind(' ', second - 1);
    if (first == std::string_view::npos || first == 0) continue;
    std::int32_t partition = -1;
    std::int64_t offset = -1;
    const auto whole = [](std::string_view digits, auto& number) {
      const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      return error == std::errc() && stop == digits.data() + digits.size();
    };
    if (!whole(line.substr(first + 1, second - first - 1), partition) || !whole(line.substr(second + 1), offset)) continue;
    if (partition >= 0 && offset >= 0) found[{std::string(line.substr(0, first)), PartitionId{partition}}] = Offset{offset};
  }
  return found;
}

class Repair {
 public:
  Repair(const Options& options, Session& session) : options_(options), session_(session), fs_(session.files) {}

  Result<int> run() {
    if (options_.words().empty()) return Error{Errc::invalid, "no directory is named"};
    const auto config = options_.value("config");
    const auto output_word = options_.value("output");
    const auto quarantine_word = options_.value("quarantine");
    if (!config) return Error{Errc::invalid, config.mistake().message};
    if (!output_word) return Error{Errc::invalid, output_word.mistake().message};
    if (!quarantine_word) return Error{Errc::invalid, quarantine_word.mistake().message};
    const std::optional<std::string> output = *output_word;
    quarantine_ = *quarantine_word;
    if (output && quarantine_) return Error{Errc::invalid, "a copy needs no quarantine: --output or --quarantine"};
    config_ = *config;
    for (const std::string& word : options_.words()) TRY(add_place(word));
    if (output && !is_dry_) TRY(copy_to(*output));
    makes_copy_ = output.has_value();
    for (const Place& place : places_) TRY(mend(place));
    if (!is_json_) say_in_the_end();
    if (has_failed_) return 2;
    return has_lost_ ? 1 : 0;
  }

 private:
  Result<void> add_place(const std::string& named) {
    io::Path path = named;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (!TRY(fs_.status(path)).is_directory) return Error{Errc::invalid, fmt::format("{} is no directory", path)};
    const auto entries = TRY(fs_.list(path));
    const bool is_partition = std::ranges::any_of(entries, [](const io::DirectoryEntry& entry) {
      return entry.kind == io::DirectoryEntry::Kind::file && storage::parse_segment_file_name(entry.name).offset.has_value();
    });
    if (is_partition) {
      const io::Path log_dir(io::parent_of(path));
      if (!storage::parse_partition_directory(io::file_name(path))) return Error{Errc::invalid, fmt::format("{} is not called TOPIC-PARTITION", path)};
      const auto at = std::ranges::find_if(places_, [&](const Place& place) { return place.log_dir == log_dir && !place.is_whole; });
      if (at != places_.end()) {
        at->partitions.push_back(path);
      } else {
        places_.push_back({log_dir, false, {path}});
      }
      return {};
    }
    Place place{path, true, {}};
    for (const io::DirectoryEntry& entry : entries) {
      const auto name = storage::parse_partition_directory(entry.name);
      const bool is_directory = entry.kind == io::DirectoryEntry::Kind::directory || entry.kind == io::DirectoryEntry::Kind::symlink_to_directory;
      if (is_directory && name && name->kind == storage::PartitionDirectoryName::Kind::current) place.partitions.push_back(io::join(path, entry.name));
    }
    places_.push_back(std::move(place));
    return {};
  }

  // --- the copy ---

  // From here on the copy is what is mended.
  Result<void> copy_to(const io::Path& to) {
    if (places_.size() != 1) return Error{Errc::invalid, "--output takes one log directory, or partitions of one"};
    if (TRY(fs_.exists(to)) && !TRY(fs_.list(to)).empty()) return Error{Errc::exists, fmt::format("{} is not empty", to)};
    Place& place = places_.front();
    ByteCount total;
    const std::vector<io::Path> roots = place.is_whole ? std::vector{place.log_dir} : place.partitions;
    for (const io::Path& root : roots) total += TRY(size_below(root));
    Progress progress(session_, "copy", total);
    for (const io::Path& root : roots) TRY(copy_tree(root, place.is_whole ? to : io::join(to, io::file_name(root)), progress));
    for (io::Path& partition : place.partitions) partition = io::join(to, io::file_name(partition));
    place.log_dir = to;
    return {};
  }

  Result<ByteCount> size_below(const io::Path& directory) {
    ByteCount size;
    for (const io::DirectoryEntry& entry : TRY(fs_.list(directory))) {
      const io::Path path = io::join(directory, entry.name);
      if (entry.kind == io::DirectoryEntry::Kind::file) {
        const io::FileStatus status = TRY(fs_.status(path));
        size += status.size;
      } else {
        size += TRY(size_below(path));
      }
    }
    return size;
  }

  Result<void> copy_tree(const io::Path& from, const io::Path& to, Progress& progress) {
    TRY(fs_.create_directories(to));
    for (const io::DirectoryEntry& entry : TRY(fs_.list(from))) {
      if (session_.interrupted) return Error{Errc::closed, "interrupted: the copy is not complete"};
      const io::Path source = io::join(from, entry.name);
      const io::Path target = io::join(to, entry.name);
      if (entry.kind != io::DirectoryEntry::Kind::file) {
        TRY(copy_tree(source, target, progress));
      } else if (entry.name != storage::kLockFile) {
        const io::FileStatus status = TRY(fs_.status(source));
        const CopiedFile copied = TRY(copy_file(fs_, source, target, ByteCount{INT64_MAX}));
        TRY(fs_.set_modified(target, status.modified));
        progress.advance(copied.size);
      }
    }
    return fs_.sync_directory(to);
  }

  // --- a log directory ---

  Result<void> mend(const Place& place) {
    const bool is_log_dir = place.is_whole || TRY(fs_.exists(io::join(place.log_dir, storage::kMetaProperties)));
    std::unique_ptr<io::FileLock> lock;
    const bool has_lock_file = TRY(fs_.exists(io::join(place.log_dir, storage::kLockFile)));
    if (is_log_dir && !is_dry_ && !makes_copy_) {
      auto taken = fs_.lock(io::join(place.log_dir, storage::kLockFile));
      if (!taken && taken.error().code == Errc::locked) return Error{Errc::locked, fmt::format("a broker uses {}: stop it, or mend a copy with --output", place.log_dir)};
      lock = TRY(std::move(taken));
    } else if (has_lock_file && !makes_copy_) {
      const auto taken = fs_.lock(io::join(place.log_dir, storage::kLockFile));
      if (!taken && taken.error().code == Errc::locked) session_.err.print("cordwood repair: {} is in use: what is being written may look damaged\n", place.log_dir);
    }
    quarantine_root_.reset();
    std::map<std::string, CheckpointState> checkpoints;
    DataDirectory data;
    data.image = std::make_shared<const broker::metadata::Image>();
    if (is_log_dir) {
      if (auto read = open_data_directory(fs_, place.log_dir, config_)) {
        data = *std::move(read);
      } else {
        session_.err.print("cordwood repair: settings of topics are not known, the defaults are taken: {}\n", read.error().message());
      }
      TRY(look_at_meta_properties(place.log_dir));
      for (const char* name : kCheckpoints) checkpoints[name] = TRY(read_checkpoint(io::join(place.log_dir, name)));
    }
    ByteCount total;
    for (const io::Path& partition : place.partitions) total += TRY(size_below(partition));
    Progress progress(session_, "check", total);
    for (const io::Path& partition : place.partitions) {
      if (session_.interrupted) return Error{Errc::closed, "interrupted: partitions that were not told were not looked at"};
      const Result<void> mended = mend_partition(place, partition, data, checkpoints, progress);
      if (!mended) fail(partition, mended.error());
      progress.advance(TRY(size_below(partition)));
    }
    progress.clear();
    for (auto& [name, state] : checkpoints) TRY(mend_checkpoint(place, name, state));
    if (quarantine_root_) {
      const auto report = TRY(fs_.open(io::join(*quarantine_root_, kReport), io::OpenMode::truncate));
      TRY(report->write_at(FilePosition{0}, as_bytes(report_)));
      TRY(report->sync());
      TRY(fs_.sync_directory(*quarantine_root_));
    }
    return {};
  }

  Result<CheckpointState> read_checkpoint(const io::Path& path) {
    CheckpointState state;
    auto read = storage::read_offset_checkpoint(fs_, path);
    if (read) {
      state.offsets = *std::move(read);
      return state;
    }
    if (read.error().code != Errc::corrupt && read.error().code != Errc::limit) return read.error();
    state.mistake = read.error().what;
    const auto text = io::read_file(fs_, path);
    if (text) state.offsets = readable_lines(as_text(*text));
    return state;
  }

  // Whose log this is nobody else can tell: it is left to kafka-storage.
  Result<void> look_at_meta_properties(const io::Path& log_dir) {
    const auto meta = storage::read_meta_properties(fs_, log_dir);
    if (meta) return {};
    fail(log_dir, Error{Errc::corrupt, fmt::format("{}: brokers refuse to start; write it anew with the cluster id and node id of the "
                                                   "broker (cordwood storage format), which repair cannot know", meta.error().what)});
    return {};
  }

  // What a damaged checkpoint says of partitions that are there, where it can be; and of mended ones no more than they hold.
  Result<void> mend_checkpoint(const Place& place, const std::string& name, CheckpointState& state) {
    if (!state.mistake.empty()) {
      std::erase_if(state.offsets, [&](const auto& entry) {
        const auto end = log_ends_.find(entry.first);
        return end == log_ends_.end() || entry.second > end->second;
      });
      const std::string why = state.mistake;
      tell(place.log_dir, fmt::format("{}: {}: written anew with the {} entries that make sense", name, why, state.offsets.size()),
           [&](JsonLine& line) { line.text("action", "write").text("file", name).text("why", why).number("entries", static_cast<std::int64_t>(state.offsets.size())); });
      ++mended_;
      state.is_changed = true;
    }
    if (!state.is_changed || is_dry_) return {};
    const io::Path path = io::join(place.log_dir, name);
    const std::optional<io::Path> kept = TRY(quarantine(place, ""));
    if (kept) TRY(copy_file(fs_, path, io::join(*kept, name), ByteCount{INT64_MAX}));
    return storage::write_offset_checkpoint(fs_, path, state.offsets);
  }

  // --- a partition ---

  Result<void> mend_partition(const Place& place, const io::Path& directory, const DataDirectory& data, std::map<std::string, CheckpointState>& checkpoints,
                              Progress& progress) {
    const TopicPartition partition = storage::parse_partition_directory(io::file_name(directory))->partition;
    storage::CheckContext context;
    context.depth = options_.has("deep") ? storage::CheckDepth::records : storage::CheckDepth::batches;
    const PartitionRepair plan = TRY(plan_repair(fs_, directory, partition, context));
    ++looked_at_;
    log_ends_[partition] = plan.is_needed() ? plan.salvage.log_end : plan.check.log_end;
    if (!plan.is_needed()) return {};
    progress.clear();
    tell_plan(plan);
    has_lost_ = has_lost_ || plan.loses_something();
    if (partition.topic == kMetadataLog) return Error{Errc::unsupported, "the metadata log is the controller's, and a gap in it is a loss that no broker expects: it is not changed"};
    ++mended_;
    const auto lower = [&](const char* name) {
      CheckpointState& state = checkpoints[name];
      const auto at = state.offsets.find(partition);
      if (at == state.offsets.end() || at->second <= plan.salvage.log_end) return;
      at->second = plan.salvage.log_end;
      state.is_changed = true;
      tell(directory, fmt::format("{}: the log ends at {}", name, plan.salvage.log_end),
           [&](JsonLine& line) { line.text("action", "write").text("file", name).number("offset", plan.salvage.log_end.value); });
    };
    const bool has_checkpoints = !checkpoints.empty();
    if (has_checkpoints) {
      for (const char* name : {storage::kRecoveryPointCheckpoint, storage::kReplicationCheckpoint, storage::kCleanerCheckpoint}) lower(name);
    }
    if (is_dry_) return {};
    MemoryLogger logger;
    RepairSettings settings;
    SessionClock clock(session_.clock);
    settings.environment = {.fs = &fs_, .clock = &clock, .random = &session_.random, .logger = &logger};
    settings.config = data.config_of(partition.topic);
    if (has_checkpoints) {
      const auto& starts = checkpoints[storage::kLogStartCheckpoint].offsets;
      if (const auto start = starts.find(partition); start != starts.end() && start->second <= plan.salvage.log_end) settings.log_start = start->second;
    }
    const auto topic = data.image->topic(partition.topic);
    if (topic != nullptr) settings.topic_id = topic->id;
    settings.quarantine = TRY(quarantine(place, std::string(io::file_name(directory))));
    const Repaired repaired = TRY(carry_out(plan, settings));
    log_ends_[partition] = repaired.log_end;
    for (const storage::CheckFinding& finding : repaired.check.findings) {
      if (finding.weight != storage::CheckFinding::Weight::damage) continue;
      fail(directory, Error{Errc::corrupt, fmt::format("still damaged: {}", storage::describe(finding))});
    }
    tell(directory,
         fmt::format("mended: offsets {} to {}, {} records in {} batches, {} segments", repaired.log_start, repaired.log_end, repaired.check.records,
                     repaired.check.batches, repaired.check.segments),
         [&](JsonLine& line) {
           line.text("action", "mended").number("log_start", repaired.log_start.value).number("log_end", repaired.log_end.value);
           line.number("records", repaired.check.records).number("batches", repaired.check.batches).number("segments", repaired.check.segments);
         });
    return {};
  }

  void tell_plan(const PartitionRepair& plan) {
    const io::Path& directory = plan.directory;
    for (const storage::CheckFinding& finding : plan.check.findings) {
      if (finding.weight != storage::CheckFinding::Weight::damage) continue;
      tell(directory, storage::describe(finding, storage::Describe::finding),
           [&](JsonLine& line) { line.text("action", "found").text("file", finding.file).text("finding", storage::to_string(finding.finding)).text("why", finding.why); });
    }
    for (const storage::LeftOut& out : plan.salvage.left_out) {
      const std::string file = segment_file_name(out.file, storage::kLogSuffix);
      const std::string what = out.batches == 0 ? std::string("cannot be read")
                                                : fmt::format("{} whole batches, of offsets between {} and {}, that have no place here", out.batches, *out.first_offset, *out.last_offset);
      tell(directory, fmt::format("{}: bytes {} to {} are left out: {}", file, out.start, out.end, what), [&](JsonLine& line) {
        line.text("action", "leave-out").text("file", file).number("position", out.start.value).number("bytes", (out.end - out.start).value).number("batches", out.batches);
      });
    }
    for (const storage::LostOffsets& lost : plan.salvage.lost) {
      tell(directory, lost.end ? fmt::format("offsets {} to {} are lost: a gap stays", lost.first, Offset{lost.end->value - 1}) : fmt::format("offsets from {} on are lost", lost.first),
           [&](JsonLine& line) {
             line.text("action", "lose").number("first_offset", lost.first.value);
             line.optional("end_offset", lost.end ? std::optional(lost.end->value) : std::nullopt);
           });
    }
    for (const storage::SalvagedSegment& segment : plan.salvage.segments) {
      if (!segment.is_as_it_was) tell_segment(plan, segment);
    }
    for (const std::string& name : plan.set_aside) {
      const bool again = std::ranges::binary_search(plan.made_anew, name);
      tell(directory, fmt::format("{}: {}", name, again ? "made anew" : "removed"), [&](JsonLine& line) { line.text("action", again ? "make-anew" : "remove").text("file", name); });
    }
    for (const std::string& name : plan.made_anew) {
      if (std::ranges::binary_search(plan.set_aside, name)) continue;
      tell(directory, fmt::format("{}: made", name), [&](JsonLine& line) { line.text("action", "make").text("file", name); });
    }
  }

  void tell_segment(const PartitionRepair& plan, const storage::SalvagedSegment& segment) {
    const std::string file = segment_file_name(segment.base, storage::kLogSuffix);
    std::string text = fmt::format("{}: written anew, {} bytes", file, segment.size());
    std::string runs = "[";
    for (const storage::SalvagedRun& run : segment.runs) {
      const std::string source = segment_file_name(run.file, storage::kLogSuffix);
      text += fmt::format("; bytes {} to {}{}, offsets {} to {}, {} batches", run.start, run.end, run.file == segment.base ? "" : " of " + source, run.first_offset,
                          run.last_offset, run.batches);
      if (run.is_corrected) text += " (the offset in the file was damaged)";
      if (runs.size() > 1) runs += ',';
      JsonLine line(runs);
      line.text("file", source).number("position", run.start.value).number("bytes", (run.end - run.start).value).number("first_offset", run.first_offset.value);
      line.number("last_offset", run.last_offset.value).number("batches", run.batches).number("records", run.records);
      if (run.is_corrected) line.boolean("offset_corrected", true);
      line.end_inner();
    }
    runs += ']';
    tell(plan.directory, text, [&](JsonLine& line) { line.text("action", "write").text("file", file).number("bytes", segment.size().value).raw("from", runs); });
  }

  // --- quarantine ---

  // A directory for originals, absent when a copy is mended. Not in the log directory: Kafka refuses to start over a directory whose
  // name is no partition's.
  Result<std::optional<io::Path>> quarantine(const Place& place, const std::string& below) {
    if (makes_copy_) return std::optional<io::Path>();
    if (!quarantine_root_) {
      const io::Path all = quarantine_ ? io::Path(*quarantine_) : place.log_dir + ".quarantine";
      for (int number = 1; !quarantine_root_; ++number) {
        io::Path candidate = io::join(all, fmt::format("{:06}", number));
        if (!TRY(fs_.exists(candidate))) quarantine_root_ = std::move(candidate);
      }
      TRY(fs_.create_directories(*quarantine_root_));
      TRY(fs_.sync_directory(all));
      tell(place.log_dir, fmt::format("originals go to {}", *quarantine_root_), [&](JsonLine& line) { line.text("action", "quarantine").text("path", *quarantine_root_); });
    }
    return std::optional(below.empty() ? *quarantine_root_ : io::join(*quarantine_root_, below));
  }

  // --- telling ---

  void tell(const io::Path& directory, std::string_view text, const std::function<void(JsonLine&)>& fields) {
    std::string json;
    JsonLine line(json);
    line.text("directory", directory);
    fields(line);
    line.text("says", text);
    line.end();
    report_ += json;
    if (is_json_) {
      session_.out.write(json);
    } else {
      session_.out.print("{}: {}\n", directory, text);
    }
  }

  void fail(const io::Path& place, const Error& error) {
    has_failed_ = true;
    session_.err.print("cordwood repair: {}: {}\n", place, error.message());
  }

  void say_in_the_end() {
    if (mended_ == 0) {
      session_.out.print("{} partitions: {}\n", looked_at_, has_failed_ ? "nothing could be mended" : "nothing is damaged");
    } else {
      session_.out.print("{} partitions, {} damaged: {}{}\n", looked_at_, mended_, is_dry_ ? "would be mended" : "mended",
                         has_lost_ ? "; what could not be read is lost" : "; nothing is lost");
    }
    if (is_dry_) session_.err.print("cordwood repair: nothing was changed (--dry-run)\n");
  }

  const Options& options_;
  Session& session_;
  io::FileSystem& fs_;
  const bool is_json_ = options_.has("json");
  const bool is_dry_ = options_.has("dry-run");
  bool makes_copy_ = false;
  std::optional<std::string> config_;
  std::optional<std::string> quarantine_;
  std::vector<Place> places_;
  std::optional<io::Path> quarantine_root_;  // of the place that is being mended
  std::map<TopicPartition, Offset> log_ends_;
  std::string report_;
  std::int64_t looked_at_ = 0;
  std::int64_t mended_ = 0;
  bool has_lost_ = false;
  bool has_failed_ = false;
};

Result<int> repair(const Options& options, Session& session) { return Repair(options, session).run(); }

int run_repair(const cli::Command& self, const cli::Words& words, Session& session) { return cli::run_own(self, words, session, repair, 2); }

}  // namespace

extern const cli::Command repair_command;
const cli::Command repair_command{
    .name = "repair",
    .summary = "mend damaged log directories or partition directories",
    .details = "First: cordwood repair --dry-run DIR, which says byte by byte and offset by offset what would be kept and what is lost. The broker "
               "must be stopped: the .lock is taken. Every batch that can be read stays, with its bytes and offsets; what cannot be read becomes a gap; "
               "indexes, transaction indexes, snapshots, epochs and checkpoints are made to fit. Originals go beside the log directory, into "
               "DIR.quarantine/000001/, or with --output a copy is mended. Exit code 0: nothing is damaged, or all is mended and nothing lost; 1: mended, "
               "and something could not be read; 2: something could not be mended or looked at.",
    .grammar = &kRepairGrammar,
    .run = run_repair,
};

}  // namespace cordwood::offline
