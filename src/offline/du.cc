// du DIR: what takes the room in log directories, by topic and kind of file.
#include <algorithm>
#include <map>

#include "cli/command.h"
#include "cli/help.h"
#include "offline/data_directory.h"
#include "offline/rendering.h"
#include "storage/segment_file_name.h"

namespace cordwood::offline {
namespace {

using cli::Options;
using cli::Session;

constexpr cli::OptionSpec kDuOptions[] = {
    {.name = "partitions", .help = "a line for each partition instead of each topic", .letter = 'p'},
    {.name = "bytes", .help = "sizes in bytes", .letter = 'b'},
    {.name = "json", .help = "JSON lines"},
    {.name = "help", .help = "this text", .letter = 'h'},
};
constexpr cli::Positional kDuPositionals[] = {{.name = "DIR", .help = "a log directory, several with commas"}};
constexpr cli::Grammar kDuGrammar{.habit = cli::Habit::own, .options = kDuOptions, .positionals = kDuPositionals};

// Bytes by what they are for.
struct DuSizes {
  ByteCount log, index, snapshots, leaving, other;
  std::int64_t partitions = 0;
  std::int64_t segments = 0;

  ByteCount total() const { return log + index + snapshots + leaving + other; }
  DuSizes& operator+=(const DuSizes& more) {
    log += more.log;
    index += more.index;
    snapshots += more.snapshots;
    leaving += more.leaving;
    other += more.other;
    partitions += more.partitions;
    segments += more.segments;
    return *this;
  }
};

// `leaving`: what a later step of the broker removes: -delete directories, .deleted, .cleaned and .swap files.
ByteCount& du_place(DuSizes& sizes, std::string_view name, bool directory_leaves) {
  const storage::SegmentFileName parsed = storage::parse_segment_file_name(name);
  if (directory_leaves || parsed.state != storage::SegmentFileState::current) return sizes.leaving;
  switch (parsed.kind) {
    case storage::SegmentFileKind::log:
      return sizes.log;
    case storage::SegmentFileKind::offset_index:
    case storage::SegmentFileKind::time_index:
    case storage::SegmentFileKind::txn_index:
      return sizes.index;
    case storage::SegmentFileKind::snapshot:
      return sizes.snapshots;
    case storage::SegmentFileKind::other:
      return sizes.other;
  }
  return sizes.other;
}

void du_add_files(io::FileSystem& fs, const io::Path& directory, bool leaves, DuSizes& sizes, std::vector<std::string>& warnings) {
  const auto entries = fs.list(directory);
  if (!entries) {
    warnings.push_back(entries.error().message());
    return;
  }
  for (const io::DirectoryEntry& entry : *entries) {
    const io::Path path = io::join(directory, entry.name);
    if (entry.kind == io::DirectoryEntry::Kind::directory) {
      DuSizes below;
      du_add_files(fs, path, leaves, below, warnings);
      (leaves ? sizes.leaving : sizes.other) += below.total();
      continue;
    }
    const auto status = fs.status(path);
    if (status) du_place(sizes, entry.name, leaves) += status->size;
  }
}

Result<int> du_directory(const Options& options, Session& session) {
  DataDirectory data = TRY(open_data_directory(session.files, options.words().front()));
  std::map<std::string, DuSizes> by_name;
  DuSizes all;
  for (const PartitionOnDisk& partition : data.partitions) {
    using Kind = storage::PartitionDirectoryName::Kind;
    DuSizes sizes;
    sizes.partitions = 1;
    sizes.segments = static_cast<std::int64_t>(partition.segments.size());
    du_add_files(session.files, partition.directory, partition.kind == Kind::deleted, sizes, data.warnings);
    const bool moving = partition.kind == Kind::future;
    const bool stray = partition.kind == Kind::stray;
    std::string name = options.has("partitions") ? partition.partition.to_string() : partition.partition.topic;
    if (stray) name += " (stray)";
    if (moving) name += " (a move under way)";
    by_name[name] += sizes;
    all += sizes;
  }
  for (const std::string& warning : data.warnings) session.err.print("cordwood du: {}\n", warning);
  std::vector<std::pair<std::string, DuSizes>> sorted(by_name.begin(), by_name.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), [](const auto& entry) { return entry.second.total(); });
  const bool bytes = options.has("bytes");
  const auto shown = [&](ByteCount size) { return bytes ? fmt::format("{}", size) : human_size(size); };
  if (!options.has("json")) {
    session.out.print("{:>12} {:>12} {:>12} {:>12} {:>12} {:>12}  {}\n", "TOTAL", "LOG", "INDEX", "SNAPSHOTS", "LEAVING", "OTHER", "NAME");
    sorted.emplace_back(fmt::format("all: {} partitions, {} segments", all.partitions, all.segments), all);
  }
  for (const auto& [name, sizes] : sorted) {
    if (options.has("json")) {
      std::string out;
      JsonLine line(out);
      line.text("name", name).number("total_bytes", sizes.total().value).number("log_bytes", sizes.log.value);
      line.number("index_bytes", sizes.index.value).number("snapshot_bytes", sizes.snapshots.value);
      line.number("leaving_bytes", sizes.leaving.value).number("other_bytes", sizes.other.value);
      line.number("partitions", sizes.partitions).number("segments", sizes.segments);
      line.end();
      session.out.write(out);
    } else {
      session.out.print("{:>12} {:>12} {:>12} {:>12} {:>12} {:>12}  {}\n", shown(sizes.total()), shown(sizes.log), shown(sizes.index),
                        shown(sizes.snapshots), shown(sizes.leaving), shown(sizes.other), name);
    }
  }
  for (const LogDirOnDisk& log_dir : data.log_dirs) {
    const auto space = session.files.space(log_dir.path);
    if (!space || options.has("json")) continue;
    session.out.print("{}: {} of {} are free\n", log_dir.path, shown(space->available), shown(space->total));
  }
  return 0;
}

int run_du(const cli::Command& self, const cli::Words& words, Session& session) { return cli::run_own(self, words, session, du_directory); }

}  // namespace

extern const cli::Command du_command{
    .name = "du",
    .summary = "what takes the room in log directories",
    .details = "LEAVING is what the broker removes by itself later: -delete directories, .deleted, .cleaned and .swap files.",
    .grammar = &kDuGrammar,
    .run = run_du,
};

}  // namespace cordwood::offline
