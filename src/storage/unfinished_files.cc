// The part of log_loader.h that looks at suffixes: .deleted, .cleaned and .swap.
//
// A cleaner or a split writes .cleaned files, renames them to .swap when all are complete, and then to their final
// names. While one .cleaned file is left the old data wins; after that the .swap files do.

#include <fmt/format.h>

#include <algorithm>

#include "storage/directory_files.h"
#include "storage/log_loader.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

struct NamedFile {
  std::string name;
  SegmentFileName parsed;
};

// The offset behind the last batch of a file, found from the batches alone: its index may have been lost.
Result<Offset> next_offset_of(io::FileSystem& fs, const io::Path& path, Offset base_offset) {
  const std::shared_ptr<io::File> file = TRY(fs.open(path, io::OpenMode::read));
  const ByteCount size = TRY(file->size());
  BatchScan scan(*file, FilePosition{0}, FilePosition{size.value});
  Offset end = base_offset;
  while (true) {
    Result<std::optional<BatchInfo>> batch = scan.next();
    if (!batch) {
      if (batch.error().code != Errc::corrupt) return batch.error();
      return end;
    }
    if (!*batch) return end;
    end = next((*batch)->last_offset);
  }
}

class CleanUp {
 public:
  CleanUp(io::FileSystem& fs, const io::Path& directory, RecoveryReport& report)
      : fs_(fs), directory_(directory), report_(report) {}

  Result<void> remove(const std::string& name) {
    Result<void> removed = fs_.remove_file(io::join(directory_, name));
    if (!removed && removed.error().code != Errc::not_found) return removed.error();
    report_.removed_files.push_back(name);
    return {};
  }

  // Old segments that the swapped-in ones replace go, then the new ones get their names.
  Result<void> finish_swap(const std::vector<NamedFile>& swaps, const std::vector<NamedFile>& others) {
    if (swaps.empty()) return {};
    Offset low{INT64_MAX};
    Offset high{INT64_MIN};
    for (const NamedFile& swap : swaps) {
      if (swap.parsed.kind != SegmentFileKind::log) continue;
      low = std::min(low, *swap.parsed.offset);
      high = std::max(high, TRY(next_offset_of(fs_, io::join(directory_, swap.name), *swap.parsed.offset)));
    }
    for (const NamedFile& other : others) {
      // A producer snapshot is none of the swapped files; the one at a base that vanishes goes as a stray later.
      if (other.parsed.kind == SegmentFileKind::snapshot) continue;
      if (other.parsed.offset && *other.parsed.offset >= low && *other.parsed.offset < high) TRY(remove(other.name));
    }
    for (const NamedFile& swap : swaps) {
      const std::string final_name = swap.name.substr(0, swap.name.size() - kSwapSuffix.size());
      TRY(fs_.rename(io::join(directory_, swap.name), io::join(directory_, final_name)));
    }
    return fs_.sync_directory(directory_);
  }

 private:
  io::FileSystem& fs_;
  const io::Path& directory_;
  RecoveryReport& report_;
};

}  // namespace

Result<bool> clean_up_unfinished(io::FileSystem& fs, const io::Path& directory,
                                 const std::vector<io::DirectoryEntry>& entries, RecoveryReport& report) {
  std::vector<NamedFile> cleaned;
  std::vector<NamedFile> swaps;
  std::vector<NamedFile> others;
  std::vector<std::string> deleted;
  for (const io::DirectoryEntry& entry : entries) {
    if (entry.kind != io::DirectoryEntry::Kind::file) continue;
    SegmentFileName parsed = parse_segment_file_name(entry.name);
    if (is_odd(parsed)) continue;
    switch (parsed.state) {
      case SegmentFileState::deleted: deleted.push_back(entry.name); break;
      case SegmentFileState::cleaned: cleaned.push_back({entry.name, parsed}); break;
      case SegmentFileState::swap: swaps.push_back({entry.name, parsed}); break;
      case SegmentFileState::current: others.push_back({entry.name, parsed}); break;
    }
  }
  if (deleted.empty() && cleaned.empty() && swaps.empty()) return false;

  CleanUp clean_up(fs, directory, report);
  for (const std::string& name : deleted) TRY(clean_up.remove(name));
  // A .swap at or above the smallest .cleaned belongs to an operation that did not get to its end.
  Offset smallest_cleaned{INT64_MAX};
  for (const NamedFile& file : cleaned) smallest_cleaned = std::min(smallest_cleaned, *file.parsed.offset);
  std::vector<NamedFile> complete;
  for (const NamedFile& file : swaps) {
    if (*file.parsed.offset >= smallest_cleaned) {
      TRY(clean_up.remove(file.name));
    } else {
      complete.push_back(file);
    }
  }
  for (const NamedFile& file : cleaned) TRY(clean_up.remove(file.name));
  TRY(clean_up.finish_swap(complete, others));
  return true;
}

}  // namespace cordwood::storage
