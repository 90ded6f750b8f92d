#include "storage/cleaner/segment_rewriter.h"

#include <fmt/format.h>

#include <utility>

#include "storage/segment_file_name.h"

namespace cordwood::storage {

SegmentRewriter::SegmentRewriter(const LogEnvironment& environment, io::Path directory, const LogConfig& config)
    : env_(environment), directory_(std::move(directory)), config_(config) {}

Result<void> SegmentRewriter::begin(Offset base_offset) {
  last_offset_ = Offset{base_offset.value - 1};
  segments_.push_back(TRY(Segment::create(*env_.fs, directory_, base_offset,
                                          Segment::Settings::from(config_, *env_.random, env_.open_files),
                                          env_.clock->now(), Segment::IndexFiles::at_once, kCleanedSuffix)));
  return {};
}

Result<void> SegmentRewriter::take(const FilteredBatch& batch) {
  if (batch.aborted_entry) aborted_.push_back(*batch.aborted_entry);
  if (batch.fate == BatchFate::removed) return {};
  if (batch.info.last_offset <= last_offset_) {
    return Error{Errc::corrupt, fmt::format("the batch that ends at offset {} follows one that ends at {}",
                                            batch.info.last_offset, last_offset_)};
  }
  last_offset_ = batch.info.last_offset;
  const Segment& current = *segments_.back();
  const ByteCount size = current.size() + (batch.info.end() - FilePosition{0});
  if (batch.info.last_offset - current.base_offset() > OffsetDelta{INT32_MAX} || size > ByteCount{INT32_MAX}) {
    return start_another(batch.info.base_offset, batch);
  }
  batches_.push_back(batch.info);
  return {};
}

// The batch is the last thing in the output and moves to the new segment.
Result<void> SegmentRewriter::start_another(Offset base_offset, const FilteredBatch& first) {
  const auto at = static_cast<std::size_t>(first.info.position.value);
  const ByteVector moved(output_.begin() + static_cast<std::ptrdiff_t>(at), output_.end());
  output_.resize(at);
  std::vector<AbortedEntry> of_the_batch;
  if (first.aborted_entry) {
    of_the_batch.push_back(aborted_.back());
    aborted_.pop_back();
  }
  TRY(write_out());
  TRY(close_current());
  const Offset last = last_offset_;
  TRY(begin(base_offset));
  last_offset_ = last;
  output_ = moved;
  batches_.push_back(first.info);
  batches_.back().position = FilePosition{0};
  aborted_ = std::move(of_the_batch);
  return {};
}

Result<ByteCount> SegmentRewriter::write_out() {
  const ByteCount size{static_cast<std::int64_t>(output_.size())};
  Segment& current = *segments_.back();
  if (size > ByteCount{0}) {
    const ByteCount before = current.size();
    for (BatchInfo& batch : batches_) batch.position += before;
    TRY(current.append(output_, batches_));
  }
  for (const AbortedEntry& entry : aborted_) TRY(current.append_aborted(entry));
  bytes_written_ += size;
  output_.clear();
  batches_.clear();
  aborted_.clear();
  return size;
}

Result<void> SegmentRewriter::close_current() {
  TRY(segments_.back()->become_inactive());
  return segments_.back()->sync();
}

Result<void> SegmentRewriter::finish(TimestampMs modified) {
  TRY(write_out());
  TRY(close_current());
  for (const auto& segment : segments_) TRY(env_.fs->set_modified(segment->path_of(kLogSuffix), modified));
  return env_.fs->sync_directory(directory_);
}

void SegmentRewriter::discard() {
  for (const auto& segment : segments_) {
    Result<void> removed = segment->remove_files();
    if (!removed) env_.logger->warn("{} stays behind: {}", segment->path_of(kLogSuffix), removed.error().message());
  }
  segments_.clear();
}

}  // namespace cordwood::storage
