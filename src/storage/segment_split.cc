// The part of log_loader.h that makes several segments of one whose offsets do not fit its indexes: they lie more than 2^31-1
// above its base. Old versions of Kafka wrote such; Kafka splits them when it loads a log, and so do we.
//
// The new segments are written beside it as .cleaned and become .swap once all are durable, the highest first: from there on
// the end is that of a stopped cleaner (unfinished_files.cc), whatever happens.

#include <fmt/format.h>

#include <algorithm>

#include "storage/directory_files.h"
#include "storage/log_loader.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

constexpr std::int64_t kSplitChunk = 1 * MiB;

class Splitter {
 public:
  Splitter(const LogEnvironment& environment, const io::Path& directory, const OpenOptions& options)
      : env_(environment), directory_(directory), options_(options) {}

  Result<std::vector<std::shared_ptr<Segment>>> run(Offset old_base) {
    const std::shared_ptr<io::File> log =
        TRY(env_.fs->open(io::join(directory_, segment_file_name(old_base, kLogSuffix)), io::OpenMode::read));
    const FilePosition end{TRY(log->size()).value};
    BatchScan scan(*log, FilePosition{0}, end);
    while (const std::optional<BatchInfo> batch = TRY(scan.next())) {
      if (!fits(*batch)) {
        TRY(finish_segment(*log));
        TRY(start_segment(*batch, old_base));
      }
      chunk_.push_back(*batch);
      if ((batch->end() - chunk_.front().position).value >= kSplitChunk) TRY(copy_chunk(*log));
    }
    // What is no whole batch at the end is the recovery's to judge; it goes along.
    tail_ = end - scan.position();
    TRY(finish_segment(*log));
    return std::move(segments_);
  }

 private:
  bool fits(const BatchInfo& batch) const {
    return !segments_.empty() && (batch.last_offset - segments_.back()->base_offset()).value <= INT32_MAX;
  }

  Result<void> start_segment(const BatchInfo& first, Offset old_base) {
    // By the first batch; a base below it is as right, and the old one where it serves keeps the swap safe: the files that it
    // replaces are found by their names.
    const bool old_base_serves = segments_.empty() && (first.last_offset - old_base).value <= INT32_MAX;
    Segment::Settings settings = Segment::Settings::from(options_.config, *env_.random, env_.open_files);
    settings.preallocate = false;
    segments_.push_back(TRY(Segment::create(*env_.fs, directory_, old_base_serves ? old_base : first.base_offset, settings,
                                            env_.clock->now(), Segment::IndexFiles::at_once, kCleanedSuffix)));
    return {};
  }

  Result<void> copy_chunk(const io::File& log) {
    if (chunk_.empty()) return {};
    const FilePosition from = chunk_.front().position;
    ByteVector bytes(static_cast<std::size_t>((chunk_.back().end() - from).value));
    bytes.resize(TRY(log.read_at(from, bytes)));
    for (BatchInfo& batch : chunk_) batch.position = FilePosition{segments_.back()->size().value} + (batch.position - from);
    TRY(segments_.back()->append(bytes, chunk_));
    chunk_.clear();
    return {};
  }

  Result<void> finish_segment(const io::File& log) {
    if (segments_.empty()) return {};
    TRY(copy_chunk(log));
    if (tail_ > ByteCount{0}) {
      const ByteCount size = TRY(log.size());
      ByteVector bytes(static_cast<std::size_t>(tail_.value));
      bytes.resize(TRY(log.read_at(FilePosition{(size - tail_).value}, bytes)));
      TRY(segments_.back()->append(bytes, {}));
    }
    TRY(segments_.back()->become_inactive());
    return segments_.back()->sync();
  }

  const LogEnvironment& env_;
  const io::Path& directory_;
  const OpenOptions& options_;
  std::vector<std::shared_ptr<Segment>> segments_;
  std::vector<BatchInfo> chunk_;
  ByteCount tail_;
};

}  // namespace

Result<void> split_segment(const LogEnvironment& environment, const io::Path& directory, const OpenOptions& options,
                           Offset base_offset, RecoveryReport& report) {
  const std::vector<std::shared_ptr<Segment>> segments = TRY(Splitter(environment, directory, options).run(base_offset));
  TRY(environment.fs->sync_directory(directory));
  for (std::size_t i = segments.size(); i-- > 0;) TRY(segments[i]->change_suffix(kSwapSuffix));
  TRY(environment.fs->sync_directory(directory));
  note(environment, directory, report,
       {.file = segment_file_name(base_offset, kLogSuffix), .finding = RecoveryFinding::offset_overflow,
        .action = RecoveryAction::split, .why = fmt::format("into {} segments", segments.size())});
  if (segments.front()->base_offset() != base_offset) {
    // The swap would not know that these are replaced. A crash before they are gone has the segment split once more.
    for (std::string_view suffix : kSegmentSuffixes) {
      const Result<void> removed = environment.fs->remove_file(io::join(directory, segment_file_name(base_offset, suffix)));
      if (!removed && removed.error().code != Errc::not_found) return removed;
    }
  }
  const std::vector<io::DirectoryEntry> entries = TRY(environment.fs->list(directory));
  TRY(clean_up_unfinished(*environment.fs, directory, entries, report));
  return {};
}

}  // namespace cordwood::storage
