#include "storage/damaged_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "storage/directory_files.h"
#include "storage/readable_batches.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

constexpr std::string_view kCutPrefix = "cut-";
constexpr std::string_view kTailMark = ".from-";
constexpr std::size_t kCopyChunk = 1 * MiB;

Result<bool> is_there(io::FileSystem& fs, const io::Path& path) { return fs.exists(path); }

std::string cut_name(std::int64_t number) { return fmt::format("{}/{}{:06}", kDamagedDirectory, kCutPrefix, number); }

// The largest number of a cut; 0 when there is none.
Result<std::int64_t> newest_cut(io::FileSystem& fs, const io::Path& directory) {
  Result<std::vector<io::DirectoryEntry>> entries = fs.list(io::join(directory, kDamagedDirectory));
  if (!entries) {
    if (entries.error().code == Errc::not_found) return std::int64_t{0};
    return entries.error();
  }
  std::int64_t newest = 0;
  for (const io::DirectoryEntry& entry : *entries) {
    if (!entry.name.starts_with(kCutPrefix)) continue;
    std::int64_t number = 0;
    const char* end = entry.name.data() + entry.name.size();
    const auto [stop, error] = std::from_chars(entry.name.data() + kCutPrefix.size(), end, number);
    if (error == std::errc{} && stop == end) newest = std::max(newest, number);
  }
  return newest;
}

Result<bool> has_report(io::FileSystem& fs, const io::Path& directory, std::int64_t cut) {
  return is_there(fs, io::join(io::join(directory, cut_name(cut)), kDamageReport));
}

Result<void> make_durable_directory(io::FileSystem& fs, const io::Path& path) {
  TRY(fs.create_directories(path));
  const io::Path parent(io::parent_of(path));
  TRY(fs.sync_directory(parent));
  return fs.sync_directory(io::Path(io::parent_of(parent)));
}

Result<void> copy_range(const io::File& from, FilePosition start, FilePosition end, io::File& to) {
  ByteVector buffer(kCopyChunk);
  for (FilePosition at = start; at < end;) {
    const auto wanted = std::min(kCopyChunk, static_cast<std::size_t>((end - at).value));
    const std::size_t size = TRY(from.read_at(at, MutableBytesView(buffer.data(), wanted)));
    if (size == 0) break;
    TRY(to.write_at(FilePosition{(at - start).value}, BytesView(buffer.data(), size)));
    at += ByteCount{static_cast<std::int64_t>(size)};
  }
  return to.sync();
}

Result<bool> same_bytes(const io::File& a, FilePosition a_start, const io::File& b, ByteCount size) {
  ByteVector a_bytes(kCopyChunk);
  ByteVector b_bytes(kCopyChunk);
  for (std::int64_t at = 0; at < size.value;) {
    const auto wanted = std::min(kCopyChunk, static_cast<std::size_t>(size.value - at));
    const std::size_t a_size = TRY(a.read_at(a_start + ByteCount{at}, MutableBytesView(a_bytes.data(), wanted)));
    const std::size_t b_size = TRY(b.read_at(FilePosition{at}, MutableBytesView(b_bytes.data(), wanted)));
    if (a_size != b_size || a_size == 0) return false;
    if (!std::equal(a_bytes.begin(), a_bytes.begin() + static_cast<std::ptrdiff_t>(a_size), b_bytes.begin())) return false;
    at += static_cast<std::int64_t>(a_size);
  }
  return true;
}

// The part of a report on one kept file. `origin` is where its first byte lay in the .log.
Result<std::string> describe_file(io::FileSystem& fs, const io::Path& path, std::string_view name) {
  const std::size_t mark = name.find(kTailMark);
  std::int64_t origin = 0;
  if (mark != std::string_view::npos) {
    const std::string_view digits = name.substr(mark + kTailMark.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), origin);
  }
  const std::shared_ptr<io::File> file = TRY(fs.open(path, io::OpenMode::read));
  const ByteCount size = TRY(file->size());
  const Offset base = parse_segment_file_name(name.substr(0, mark)).offset.value_or(Offset{0});
  std::string text = fmt::format("{}\n  bytes {} to {} of {}\n", name, origin, origin + size.value, name.substr(0, mark));
  const FilePosition end{size.value};
  const std::vector<ReadableRun> runs = TRY(find_readable(*file, FilePosition{0}, end, base));
  FilePosition at{0};
  for (const ReadableRun& run : runs) {
    if (run.start > at) text += fmt::format("  {} to {}: cannot be read\n", origin + at.value, origin + run.start.value);
    text += fmt::format("  {} to {}: offsets {} to {}, {} batches, {} records\n", origin + run.start.value,
                        origin + run.end.value, run.first_offset, run.last_offset, run.batches, run.records);
    at = run.end;
  }
  if (at < end) text += fmt::format("  {} to {}: cannot be read\n", origin + at.value, origin + size.value);
  return text;
}

Result<void> write_report(io::FileSystem& fs, const io::Path& cut, std::string_view why) {
  std::string text = fmt::format(
      "{}\n\n"
      "The files below are no longer part of the log; nothing reads them again. Each lists the bytes that it holds by\n"
      "their positions in the .log where they lay (first, and the one behind the last), and the offsets of the records.\n"
      "Delete the directory when they are not needed.\n",
      why);
  for (const io::DirectoryEntry& entry : TRY(fs.list(cut))) {
    if (entry.name == kDamageReport || entry.name.ends_with(".part") || entry.name.ends_with(".tmp")) continue;
    text += "\n" + TRY(describe_file(fs, io::join(cut, entry.name), entry.name));
  }
  return io::write_file_atomically(fs, io::join(cut, kDamageReport), as_bytes(text));
}

}  // namespace

// --- what can be made anew ---

Result<std::string> keep_aside(io::FileSystem& fs, const io::Path& directory, std::string_view name) {
  const io::Path from = io::join(directory, name);
  const io::Path damaged = io::join(directory, kDamagedDirectory);
  const io::Path to = io::join(damaged, name);
  std::string kept = fmt::format("{}/{}", kDamagedDirectory, name);
  Result<void> moved;
  if (TRY(is_there(fs, to))) {
    kept.clear();
    moved = fs.remove_file(from);
  } else {
    moved = fs.create_directories(damaged);
    if (moved) moved = fs.rename(from, to);
    if (!moved && moved.error().code == Errc::no_space) {
      kept.clear();
      moved = fs.remove_file(from);
    }
    if (moved && !kept.empty()) TRY(fs.sync_directory(damaged));
  }
  if (!moved && moved.error().code == Errc::not_found) return std::string();
  if (!moved) return moved.error();
  TRY(fs.sync_directory(directory));
  return kept;
}

Result<std::string> keep_copy(io::FileSystem& fs, const io::Path& directory, std::string_view name) {
  const io::Path damaged = io::join(directory, kDamagedDirectory);
  const io::Path to = io::join(damaged, name);
  if (TRY(is_there(fs, to))) return std::string();
  Result<ByteVector> bytes = io::read_file(fs, io::join(directory, name));
  if (!bytes && bytes.error().code == Errc::not_found) return std::string();
  if (!bytes) return bytes.error();
  while (!bytes->empty() && bytes->back() == std::byte{0}) bytes->pop_back();
  Result<void> kept = fs.create_directories(damaged);
  if (kept) kept = io::write_file_atomically(fs, to, *bytes);
  if (!kept && kept.error().code == Errc::no_space) return std::string();
  if (!kept) return kept.error();
  TRY(fs.sync_directory(directory));
  return fmt::format("{}/{}", kDamagedDirectory, name);
}

// --- cuts ---

Result<KeptCut> KeptCut::begin(io::FileSystem& fs, const io::Path& directory) {
  std::int64_t number = TRY(newest_cut(fs, directory));
  if (number == 0 || TRY(has_report(fs, directory, number))) ++number;
  KeptCut cut(fs, directory, cut_name(number));
  return cut;
}

Result<std::string> KeptCut::keep_tail(std::string_view log_name, FilePosition from, FilePosition end) {
  const std::shared_ptr<io::File> log = TRY(fs_.open(io::join(directory_, log_name), io::OpenMode::read));
  const std::string kept_name = fmt::format("{}{}{:010}", log_name, kTailMark, from.value);
  if (const std::int64_t newest = TRY(newest_cut(fs_, directory_)); newest > 0) {
    Result<std::shared_ptr<io::File>> kept =
        fs_.open(io::join(io::join(directory_, cut_name(newest)), kept_name), io::OpenMode::read);
    if (!kept && kept.error().code != Errc::not_found) return kept.error();
    if (kept && TRY((*kept)->size()) == end - from && TRY(same_bytes(*log, from, **kept, end - from))) {
      is_repeated_ = TRY(has_report(fs_, directory_, newest));
      name_ = cut_name(newest);
      return name_ + "/" + kept_name;
    }
  }
  TRY(make_durable_directory(fs_, path()));
  const io::Path part = io::join(path(), kept_name + ".part");
  const auto copy = [&]() -> Result<void> {
    const std::shared_ptr<io::File> file = TRY(fs_.open(part, io::OpenMode::truncate));
    TRY(copy_range(*log, from, end, *file));
    TRY(fs_.rename(part, io::join(path(), kept_name)));
    return fs_.sync_directory(path());
  };
  if (Result<void> copied = copy(); !copied) {
    // The log is as it was; what is half written would only take room.
    fs_.remove_file(part).has_value();
    Error error = copied.error();
    error.what = fmt::format("{} bytes of {} behind position {} hold records that recovery must cut off, and they cannot be "
                             "kept in {}: {}",
                             end - from, io::join(directory_, log_name), from, path(), error.what);
    return error;
  }
  return name_ + "/" + kept_name;
}

Result<std::string> KeptCut::keep_segment(std::string_view log_name) {
  if (is_repeated_) {
    // The finished cut had no such segment: this is another one.
    KeptCut next = TRY(begin(fs_, directory_));
    name_ = next.name_;
    is_repeated_ = false;
  }
  TRY(make_durable_directory(fs_, path()));
  TRY(fs_.rename(io::join(directory_, log_name), io::join(path(), log_name)));
  return fmt::format("{}/{}", name_, log_name);
}

Result<void> KeptCut::finish(std::string_view why) {
  if (is_repeated_) return {};
  TRY(fs_.sync_directory(path()));
  TRY(fs_.sync_directory(directory_));
  return write_report(fs_, path(), why);
}

Result<void> finish_interrupted(io::FileSystem& fs, const io::Path& directory) {
  const std::int64_t newest = TRY(newest_cut(fs, directory));
  if (newest == 0 || TRY(has_report(fs, directory, newest))) return {};
  return write_report(fs, io::join(directory, cut_name(newest)),
                      "A recovery of this log was interrupted after it had put these files aside.");
}

}  // namespace cordwood::storage
