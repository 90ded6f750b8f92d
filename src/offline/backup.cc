// backup DIR TO, backup --verify TO, restore BACKUP DIR [TOPIC…]: log directories copied with a manifest, checked, and put back.
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include "cli/command.h"
#include "cli/help.h"
#include "offline/backup_manifest.h"
#include "offline/data_directory.h"
#include "offline/file_copy.h"
#include "offline/record_walk.h"
#include "offline/rendering.h"
#include "storage/checkpoint_file.h"
#include "storage/directory_files.h"
#include "storage/segment_file_name.h"

namespace cordwood::offline {
namespace {

using cli::Options;
using cli::Session;

constexpr cli::OptionSpec kBackupOptions[] = {
    {.name = "verify", .help = "check a backup against its manifest instead; the one word is the backup"},
    {.name = "copy", .help = "copy closed segments too, where else they are linked on the same file system"},
    {.name = "json", .help = "JSON lines"},
    {.name = "help", .help = "this text", .letter = 'h'},
};
constexpr cli::Positional kBackupPositionals[] = {
    {.name = "DIR", .help = "a log directory, several with commas; all of one broker"},
    {.name = "TO", .help = "where the backup is made: absent or empty", .required = false},
};
constexpr cli::Grammar kBackupGrammar{.habit = cli::Habit::own, .options = kBackupOptions, .positionals = kBackupPositionals};

constexpr cli::OptionSpec kRestoreOptions[] = {
    {.name = "with-groups", .help = "with topics: the positions of all groups too"},
    {.name = "json", .help = "JSON lines"},
    {.name = "help", .help = "this text", .letter = 'h'},
};
constexpr cli::Positional kRestorePositionals[] = {
    {.name = "BACKUP", .help = "what backup has made"},
    {.name = "DIR", .help = "where it goes: absent or empty; as many, with commas, as were backed up"},
    {.name = "TOPIC", .help = "only these; without the metadata, so that the broker takes them over", .required = false, .repeatable = true},
};
constexpr cli::Grammar kRestoreGrammar{.habit = cli::Habit::own, .options = kRestoreOptions, .positionals = kRestorePositionals};

Result<void> expect_nothing_at(io::FileSystem& fs, const io::Path& path) {
  if (!TRY(fs.exists(path))) return {};
  const auto entries = TRY(fs.list(path));
  if (entries.empty()) return {};
  return Error{Errc::exists, fmt::format("{} is not empty", path)};
}

// Runs `work(i)` for 0 … count-1 on all cores until one fails; answers the first failure.
template <class Work>
Result<void> on_all_cores(std::size_t count, Work work) {
  std::atomic<std::size_t> next{0};
  std::mutex mu;
  std::optional<Error> failure;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      if (Result<void> done = work(i); !done) {
        const std::lock_guard lock(mu);
        if (!failure) failure = done.error();
        next = count;
      }
    }
  };
  std::vector<std::thread> crew;
  for (int i = 1; i < walking_threads(); ++i) crew.emplace_back(run);
  run();
  for (std::thread& thread : crew) thread.join();
  if (failure) return *failure;
  return {};
}

class Backup {
 public:
  Backup(Session& session, const DataDirectory& data, io::Path to, bool may_link)
      : session_(session), data_(data), to_(std::move(to)), may_link_(may_link) {}

  Result<int> run(bool json) {
    TRY(expect_nothing_at(session_.files, to_));
    for (std::size_t i = 0; i < data_.log_dirs.size(); ++i) TRY(list(data_.log_dirs[i].path, fmt::format("{}", i), i, 0));
    ByteCount total{0};
    for (const Task& task : tasks_) total += task.size;
    Progress progress(session_, "backup", total);
    std::mutex mu;
    const auto work = [&](std::size_t i) -> Result<void> {
      TRY(do_task(tasks_[i]));
      const std::lock_guard lock(mu);
      progress.advance(tasks_[i].size);
      if (session_.interrupted) return Error{Errc::closed, "interrupted: the backup has no manifest and counts as none"};
      return {};
    };
    TRY(on_all_cores(tasks_.size(), work));
    BackupManifest manifest;
    manifest.created = session_.clock.now();
    manifest.log_dirs = static_cast<int>(data_.log_dirs.size());
    manifest.clean = !data_.in_use() && std::ranges::all_of(data_.log_dirs, &LogDirOnDisk::clean);
    if (data_.log_dirs.front().meta) manifest.cluster_id = data_.log_dirs.front().meta->cluster_id;
    std::int64_t linked = 0;
    ByteCount bytes{0};
    for (const Task& task : tasks_) {
      if (task.is_gone) continue;
      manifest.files.push_back({task.name, task.result.size, task.result.crc});
      bytes += task.result.size;
      if (task.was_linked) ++linked;
    }
    progress.clear();
    TRY(io::write_file_atomically(session_.files, io::join(to_, kManifest), as_bytes(to_text(manifest))));
    const auto files = static_cast<std::int64_t>(manifest.files.size());
    if (json) {
      std::string out;
      JsonLine line(out);
      line.text("backup", to_).number("files", files).number("bytes", bytes.value).number("linked_files", linked).boolean("clean", manifest.clean);
      line.end();
      session_.out.write(out);
    } else {
      session_.out.print("{} files, {}, {} of them links; the directories were {}\n", files, human_size(bytes), linked,
                         manifest.clean ? "stopped cleanly" : "not stopped cleanly: a start on the backup recovers");
    }
    return 0;
  }

 private:
  struct Task {
    io::Path from;
    std::string name;  // in the backup
    ByteCount size;    // at the time of the listing
    bool may_link = false;
    bool is_gone = false;  // it left the directory meanwhile
    bool was_linked = false;
    CopiedFile result;
  };

  Result<void> list(const io::Path& directory, const std::string& name, std::size_t log_dir, int depth) {
    TRY(session_.files.create_directories(io::join(to_, name)));
    const auto entries = session_.files.list(directory);
    if (!entries && entries.error().code == Errc::not_found && depth > 0) return {};
    if (!entries) return entries.error();
    std::optional<Offset> active;
    for (const io::DirectoryEntry& entry : *entries) {
      const storage::SegmentFileName parsed = storage::parse_segment_file_name(entry.name);
      if (parsed.kind == storage::SegmentFileKind::log && parsed.offset) active = std::max(active.value_or(*parsed.offset), *parsed.offset);
    }
    for (const io::DirectoryEntry& entry : *entries) {
      const io::Path path = io::join(directory, entry.name);
      const std::string to = name + "/" + entry.name;
      if (entry.kind == io::DirectoryEntry::Kind::directory) {
        const auto partition = storage::parse_partition_directory(entry.name);
        const bool leaves = depth == 0 && partition && partition->kind != storage::PartitionDirectoryName::Kind::current;
        if (!leaves) TRY(list(path, to, log_dir, depth + 1));
        continue;
      }
      if (entry.kind != io::DirectoryEntry::Kind::file) continue;
      const storage::SegmentFileName parsed = storage::parse_segment_file_name(entry.name);
      if (parsed.state != storage::SegmentFileState::current || entry.name.ends_with(".tmp")) continue;
      if (depth == 0 && (entry.name == storage::kLockFile || (entry.name == storage::kCleanShutdown && data_.log_dirs[log_dir].in_use))) continue;
      const auto status = session_.files.status(path);
      if (!status) continue;
      const bool closed = parsed.kind == storage::SegmentFileKind::log && parsed.offset && active && *parsed.offset < *active;
      tasks_.push_back({path, to, status->size, closed && may_link_, false, false, {}});
    }
    return {};
  }

  Result<void> do_task(Task& task) {
    const io::Path to = io::join(to_, task.name);
    Result<CopiedFile> done = Error{Errc::io, ""};
    task.was_linked = task.may_link && ::link(task.from.c_str(), to.c_str()) == 0;
    if (task.was_linked) {
      done = copy_file(session_.files, to, {}, task.size);
    } else {
      done = copy_file(session_.files, task.from, to, task.size);
    }
    if (!done && done.error().code == Errc::not_found) {
      task.is_gone = true;
      return {};
    }
    task.result = TRY(std::move(done));
    return {};
  }

  Session& session_;
  const DataDirectory& data_;
  const io::Path to_;
  const bool may_link_;
  std::vector<Task> tasks_;
};

Result<int> verify_backup(Session& session, const io::Path& backup, bool json) {
  const BackupManifest manifest = TRY(read_manifest(session.files, backup));
  ByteCount total{0};
  for (const BackupFile& file : manifest.files) total += file.size;
  Progress progress(session, "verify", total);
  std::mutex mu;
  std::vector<std::string> wrong(manifest.files.size());
  const auto check = [&](std::size_t i) -> Result<void> {
    const BackupFile& file = manifest.files[i];
    const io::Path path = io::join(backup, file.name);
    const auto status = session.files.status(path);
    if (!status) {
      wrong[i] = status.error().message();
    } else if (status->size != file.size) {
      wrong[i] = fmt::format("{} bytes instead of {}", status->size, file.size);
    } else if (const auto read = copy_file(session.files, path, {}, file.size); !read) {
      wrong[i] = read.error().message();
    } else if (read->crc != file.crc || read->size != file.size) {
      wrong[i] = fmt::format("its checksum is {:#010x} instead of {:#010x}", read->crc, file.crc);
    }
    const std::lock_guard lock(mu);
    progress.advance(file.size);
    return {};
  };
  TRY(on_all_cores(manifest.files.size(), check));
  progress.clear();
  std::int64_t bad = 0;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    if (wrong[i].empty()) continue;
    ++bad;
    if (json) {
      std::string out;
      JsonLine line(out);
      line.text("file", manifest.files[i].name).text("says", wrong[i]);
      line.end();
      session.out.write(out);
    } else {
      session.out.print("{}: {}\n", manifest.files[i].name, wrong[i]);
    }
  }
  if (!json) session.out.print("{} files, {}: {} are not as they were\n", manifest.files.size(), human_size(total), bad);
  return bad == 0 ? 0 : 1;
}

Result<int> backup_directory(const Options& options, Session& session) {
  const std::vector<std::string>& words = options.words();
  if (options.has("verify")) {
    if (words.size() != 1) return Error{Errc::invalid, "--verify wants one word: the backup"};
    return verify_backup(session, words.front(), options.has("json"));
  }
  if (words.size() != 2) return Error{Errc::invalid, "it takes two words: what is backed up, and where to"};
  const DataDirectory data = TRY(open_data_directory(session.files, words.front()));
  for (const LogDirOnDisk& log_dir : data.log_dirs) {
    if (!log_dir.is_whole) return Error{Errc::invalid, fmt::format("a whole log directory is needed: {}", log_dir.path)};
  }
  for (const std::string& warning : data.warnings) session.err.print("cordwood backup: {}\n", warning);
  if (data.in_use()) session.err.print("cordwood backup: a broker is using the directory: the backup is as a crash of it would be\n");
  // Links are the kernel's: another file system under the session has none.
  const bool may_link = !options.has("copy") && dynamic_cast<io::PosixFileSystem*>(&session.files) != nullptr;
  return Backup(session, data, words[1], may_link).run(options.has("json"));
}

// What of the backup is wanted, and where it goes.
struct Restoring {
  std::vector<io::Path> to;
  std::vector<PartitionChoice> topics;  // none: everything
  bool with_groups = false;

  // Nothing: it stays away.
  std::optional<io::Path> place_of(const std::string& name) const {
    const std::size_t slash = name.find('/');
    std::size_t log_dir = 0;
    for (std::size_t i = 0; i < slash && i < name.size(); ++i) {
      if (name[i] < '0' || name[i] > '9') return {};
      log_dir = log_dir * 10 + static_cast<std::size_t>(name[i] - '0');
    }
    if (slash == std::string::npos || log_dir >= to.size()) return {};
    const std::string rest = name.substr(slash + 1);
    if (!topics.empty() && !is_wanted(rest)) return {};
    return io::join(to[log_dir], rest);
  }

 private:
  bool is_wanted(const std::string& rest) const {
    const std::size_t slash = rest.find('/');
    if (slash == std::string::npos) return rest == storage::kMetaProperties || rest == storage::kCleanShutdown;
    const auto partition = storage::parse_partition_directory(rest.substr(0, slash));
    if (!partition) return false;
    if (with_groups && partition->partition.topic == "__consumer_offsets") return true;
    return std::ranges::any_of(topics, [&](const PartitionChoice& choice) { return choice.matches(partition->partition); });
  }
};

// The lines of the partitions that are here, of the checkpoints that matter to them: without its log start a log would give back
// records that were deleted.
Result<void> restore_checkpoints(io::FileSystem& fs, const io::Path& backup, const Restoring& restoring) {
  for (std::size_t i = 0; i < restoring.to.size(); ++i) {
    for (const char* name : {storage::kLogStartCheckpoint, storage::kRecoveryPointCheckpoint, storage::kReplicationCheckpoint}) {
      const auto all = storage::read_offset_checkpoint(fs, io::join(io::join(backup, fmt::format("{}", i)), name));
      if (!all) return all.error();
      storage::OffsetsByPartition kept;
      for (const auto& [partition, offset] : *all) {
        if (TRY(fs.exists(io::join(restoring.to[i], partition.to_string())))) kept.emplace(partition, offset);
      }
      TRY(storage::write_offset_checkpoint(fs, io::join(restoring.to[i], name), kept));
    }
  }
  return {};
}

Result<int> restore_backup(const Options& options, Session& session) {
  const std::vector<std::string>& words = options.words();
  if (words.size() < 2) return Error{Errc::invalid, "it takes two words: the backup, and where it goes"};
  const io::Path& backup = words[0];
  const BackupManifest manifest = TRY(read_manifest(session.files, backup));
  Restoring restoring;
  restoring.with_groups = options.has("with-groups");
  std::string_view paths = words[1];
  while (!paths.empty()) {
    const std::size_t comma = std::min(paths.find(','), paths.size());
    restoring.to.emplace_back(paths.substr(0, comma));
    paths.remove_prefix(std::min(comma + 1, paths.size()));
  }
  if (restoring.to.size() != static_cast<std::size_t>(manifest.log_dirs)) {
    return Error{Errc::invalid, fmt::format("the backup is of {} log directories, and {} are named", manifest.log_dirs, restoring.to.size())};
  }
  for (std::size_t i = 2; i < words.size(); ++i) restoring.topics.push_back(TRY(parse_choice(words[i])));
  for (const io::Path& path : restoring.to) TRY(expect_nothing_at(session.files, path));

  std::vector<std::pair<const BackupFile*, io::Path>> tasks;
  std::set<io::Path> directories(restoring.to.begin(), restoring.to.end());
  ByteCount total{0};
  for (const BackupFile& file : manifest.files) {
    const auto place = restoring.place_of(file.name);
    if (!place) continue;
    directories.insert(io::Path(io::parent_of(*place)));
    tasks.emplace_back(&file, *place);
    total += file.size;
  }
  if (!restoring.topics.empty() && directories.size() == restoring.to.size()) return Error{Errc::not_found, "the backup has no such topic"};
  for (const io::Path& directory : directories) TRY(session.files.create_directories(directory));
  Progress progress(session, "restore", total);
  std::mutex mu;
  const auto put_back = [&](std::size_t i) -> Result<void> {
    const auto& [file, place] = tasks[i];
    const CopiedFile copied = TRY(copy_file(session.files, io::join(backup, file->name), place, file->size));
    if (copied.size != file->size || copied.crc != file->crc) {
      return Error{Errc::corrupt, fmt::format("{} is not what was backed up; nothing of {} is to be used", file->name, words[1])};
    }
    const std::lock_guard lock(mu);
    progress.advance(file->size);
    if (session.interrupted) return Error{Errc::closed, "interrupted: what was restored is not complete"};
    return {};
  };
  TRY(on_all_cores(tasks.size(), put_back));
  progress.clear();
  if (!restoring.topics.empty()) TRY(restore_checkpoints(session.files, backup, restoring));
  for (const io::Path& directory : directories) TRY(session.files.sync_directory(directory));
  if (options.has("json")) {
    std::string out;
    JsonLine line(out);
    line.text("restored", words[1]).number("files", static_cast<std::int64_t>(tasks.size())).number("bytes", total.value);
    line.end();
    session.out.write(out);
  } else {
    session.out.print("{} files, {} in {}\n", tasks.size(), human_size(total), words[1]);
  }
  return 0;
}

int run_backup(const cli::Command& self, const cli::Words& words, Session& session) { return cli::run_own(self, words, session, backup_directory); }
int run_restore(const cli::Command& self, const cli::Words& words, Session& session) { return cli::run_own(self, words, session, restore_backup); }

}  // namespace

extern const cli::Command backup_command{
    .name = "backup",
    .summary = "copy log directories with a manifest, or check such a copy",
    .details = "Closed segments are hard links where the file system allows it: they take no room until the broker removes its own name. "
               "A copy of a running broker's directory is what a crash at that time would leave.",
    .grammar = &kBackupGrammar,
    .run = run_backup,
};

extern const cli::Command restore_command{
    .name = "restore",
    .summary = "put a backup back, whole or some topics of it",
    .details = "Every file is compared with its checksum while it is copied. With topics, the metadata log stays away: Cordwood takes the "
               "partitions over when it starts, with the ids that they have, and keeps all records (retention.ms=-1).",
    .grammar = &kRestoreGrammar,
    .run = run_restore,
};

}  // namespace cordwood::offline
