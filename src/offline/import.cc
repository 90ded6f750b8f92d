// import DIR PARTITION…: partition directories from elsewhere become topics of a stopped directory.
//
// Copied first, then named in the metadata log by the controller itself: a crash between the two leaves directories that nobody
// knows, which the next start keeps as strays. The logs are recovered from their first batch on before the command ends.
#include <algorithm>
#include <future>
#include <map>
#include <set>

#include "broker/metadata/adoption.h"
#include "broker/metadata/controller.h"
#include "cli/command.h"
#include "cli/help.h"
#include "offline/data_directory.h"
#include "offline/opened_logs.h"
#include "offline/rendering.h"
#include "storage/directory_files.h"
#include "storage/segment_file_name.h"

namespace cordwood::offline {
namespace {

namespace metadata = broker::metadata;
using cli::Options;
using cli::Session;

constexpr cli::OptionSpec kImportOptions[] = {
    {.name = "json", .help = "JSON lines"},
    {.name = "help", .help = "this text", .letter = 'h'},
};
constexpr cli::Positional kImportPositionals[] = {
    {.name = "DIR", .help = "the log directory that takes them, with its metadata log; its broker is stopped"},
    {.name = "PARTITION", .help = "a partition directory from elsewhere: …/orders-0", .repeatable = true},
};
constexpr cli::Grammar kImportGrammar{.habit = cli::Habit::own, .options = kImportOptions, .positionals = kImportPositionals};

struct Imported {
  io::Path from;
  TopicPartition partition;
  std::optional<Uuid> topic_id;  // as its directory has it
};

Result<std::vector<Imported>> import_sources(io::FileSystem& fs, const DataDirectory& data, const std::vector<std::string>& paths) {
  std::vector<Imported> sources;
  for (std::string path : paths) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const auto name = storage::parse_partition_directory(io::file_name(path));
    const bool usable = name && (name->kind == storage::PartitionDirectoryName::Kind::current ||
                                 name->kind == storage::PartitionDirectoryName::Kind::stray);
    if (!usable) return Error{Errc::invalid, fmt::format("{} is no partition directory", path)};
    if (!TRY(fs.status(path)).is_directory) return Error{Errc::invalid, fmt::format("{} is no directory", path)};
    Imported source{path, name->partition, TRY(storage::read_partition_metadata(fs, path))};
    if (data.image->topic(source.partition.topic) != nullptr) {
      return Error{Errc::exists, fmt::format("there is a topic {} already", source.partition.topic)};
    }
    if (source.topic_id && data.image->topic(*source.topic_id) != nullptr) {
      return Error{Errc::exists, fmt::format("the topic id {} of {} belongs to topic {} already", source.topic_id->to_string(), path,
                                             data.image->topic(*source.topic_id)->name)};
    }
    const io::Path target = io::join(data.log_dirs.front().path, source.partition.to_string());
    if (TRY(fs.exists(target))) return Error{Errc::exists, fmt::format("{} is there already", target)};
    for (const Imported& other : sources) {
      if (other.partition == source.partition) return Error{Errc::invalid, fmt::format("{} and {} are the same partition", other.from, path)};
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

Result<void> import_file(io::FileSystem& fs, const io::Path& from, const io::Path& to) {
  const auto source = TRY(fs.open(from, io::OpenMode::read));
  const auto target = TRY(fs.open(to, io::OpenMode::create_new));
  ByteVector window(static_cast<std::size_t>(1 * MiB));
  for (FilePosition at{0};;) {
    const std::size_t count = TRY(source->read_at(at, window));
    if (count == 0) break;
    TRY(target->write_at(at, BytesView(window).first(count)));
    at += ByteCount{static_cast<std::int64_t>(count)};
  }
  TRY(target->sync());
  return target->close();
}

// Batches, leader epochs and producers; indexes are made anew.
bool is_imported(std::string_view name) {
  const storage::SegmentFileName parsed = storage::parse_segment_file_name(name);
  if (parsed.state != storage::SegmentFileState::current) return false;
  if (parsed.kind == storage::SegmentFileKind::log || parsed.kind == storage::SegmentFileKind::snapshot) return parsed.offset.has_value();
  return name == storage::kLeaderEpochCheckpoint;
}

Result<void> copy_partitions(io::FileSystem& fs, const io::Path& log_dir, std::vector<Imported>& sources, Random& random) {
  std::map<std::string, Uuid> ids;
  for (const Imported& source : sources) {
    if (source.topic_id) ids.emplace(source.partition.topic, *source.topic_id);
  }
  for (Imported& source : sources) {
    const io::Path target = io::join(log_dir, source.partition.to_string());
    TRY(fs.create_directories(target));
    for (const io::DirectoryEntry& entry : TRY(fs.list(source.from))) {
      if (entry.kind == io::DirectoryEntry::Kind::file && is_imported(entry.name)) {
        TRY(import_file(fs, io::join(source.from, entry.name), io::join(target, entry.name)));
      }
    }
    if (!source.topic_id) source.topic_id = ids.try_emplace(source.partition.topic, Uuid::random(random)).first->second;
    TRY(storage::write_partition_metadata(fs, target, *source.topic_id));
    TRY(fs.sync_directory(target));
  }
  return fs.sync_directory(log_dir);
}

// Of what adoption would write for all directories, the part about these topics, in the versions of this cluster.
std::vector<metadata::MetadataRecord> records_about(const std::vector<metadata::MetadataRecord>& all, const std::vector<Imported>& sources,
                                                    std::int16_t metadata_version) {
  std::set<std::string> names;
  std::set<Uuid> ids;
  for (const Imported& source : sources) {
    names.insert(source.partition.topic);
    ids.insert(*source.topic_id);
  }
  std::vector<metadata::MetadataRecord> records;
  for (const metadata::MetadataRecord& record : all) {
    bool ours = false;
    if (const auto* topic = std::get_if<metadata::TopicRecord>(&record.body)) ours = names.contains(topic->name);
    if (const auto* config = std::get_if<metadata::ConfigRecord>(&record.body)) ours = names.contains(config->resource_name);
    if (const auto* partition = std::get_if<metadata::PartitionRecord>(&record.body)) ours = ids.contains(partition->topic_id);
    if (ours) records.push_back(metadata::record_for(metadata_version, record.body));
  }
  return records;
}

Result<void> commit_import(const storage::LogEnvironment& environment, storage::LogManager& manager, const DataDirectory& data,
                           const std::vector<Imported>& sources) {
  const auto adopted = TRY(metadata::adopted_records(*environment.fs, manager, data.config.node_id));
  metadata::ControllerOptions options;
  options.node_id = data.config.node_id;
  for (const LogDirOnDisk& log_dir : data.log_dirs) {
    const bool has_it = TRY(environment.fs->exists(io::join(log_dir.path, metadata::kMetadataPartition)));
    if (has_it && options.metadata_dir.empty()) options.metadata_dir = log_dir.path;
  }
  const auto controller = TRY(metadata::Controller::open(environment, manager, std::move(options)));
  std::promise<Result<void>> committed;
  controller->submit([&](const metadata::Image& image) {
    metadata::Controller::Decision decision;
    decision.records = records_about(adopted, sources, image.metadata_version());
    decision.done = [&](const Result<std::shared_ptr<const metadata::Image>>& outcome) {
      committed.set_value(outcome ? Result<void>() : Result<void>(outcome.error()));
    };
    return decision;
  });
  TRY(committed.get_future().get());
  TRY(controller->shut_down());
  return {};
}

Result<int> import_directories(const Options& options, Session& session) {
  if (options.words().size() < 2) return Error{Errc::invalid, "no partition directory is named"};
  io::FileSystem& fs = session.files;
  const DataDirectory data = TRY(open_data_directory(fs, options.words().front()));
  if (!data.has_metadata) return Error{Errc::invalid, "there is no metadata log here: a start takes over what lies in the directory by itself"};
  if (data.in_use()) return Error{Errc::locked, fmt::format("{} is in use by another process", data.log_dirs.front().path)};
  auto sources = TRY(import_sources(fs, data, {options.words().begin() + 1, options.words().end()}));
  const io::Path& log_dir = data.log_dirs.front().path;
  // Nothing is trusted of what comes from elsewhere: without the mark every log is checked from its recovery point on, these from
  // the first batch on.
  TRY(storage::remove_clean_shutdown(fs, log_dir));
  OpenedLogs::Wish wish;
  wish.before_load = [&](storage::LogManager& manager, const storage::LogEnvironment& environment) -> Result<void> {
    TRY(copy_partitions(fs, log_dir, sources, session.random));
    return commit_import(environment, manager, data, sources);
  };
  const auto logs = TRY(OpenedLogs::open(fs, session, data, std::move(wish)));
  for (const std::string& line : logs->complaints()) {
    if (!line.ends_with("missing: rebuilt")) session.err.print("cordwood import: {}\n", line);
  }
  for (const Imported& source : sources) {
    const auto log = TRY(logs->find(source.partition));
    if (options.has("json")) {
      std::string out;
      JsonLine line(out);
      line.text("topic", source.partition.topic).number("partition", source.partition.partition.value);
      line.text("topic_id", source.topic_id->to_string()).number("log_start_offset", log->log_start_offset().value);
      line.number("log_end_offset", log->log_end_offset().value).number("size_bytes", log->size().value);
      line.end();
      session.out.write(out);
    } else {
      session.out.print("{}: offsets {} to {}, {}, topic id {}\n", source.partition.to_string(), log->log_start_offset(),
                        log->log_end_offset(), human_size(log->size()), source.topic_id->to_string());
    }
  }
  TRY(logs->close());
  return 0;
}

int run_import(const cli::Command& self, const cli::Words& words, Session& session) { return cli::run_own(self, words, session, import_directories); }

}  // namespace

extern const cli::Command import_command{
    .name = "import",
    .summary = "make topics of partition directories from elsewhere",
    .details = "The directories are copied into the first log directory. The topics keep their ids, and all of their records until "
               "somebody sets a retention (retention.ms=-1). A topic of that name or id must not be there.",
    .grammar = &kImportGrammar,
    .run = run_import,
};

}  // namespace cordwood::offline
