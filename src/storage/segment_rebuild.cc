// The part of Segment that makes its indexes anew: while its batches are checked, and when they do not fit.

#include <algorithm>

#include "storage/damaged_files.h"
#include "storage/directory_files.h"
#include "storage/index_builder.h"
#include "storage/segment.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {

Result<void> Segment::begin_rebuild() {
  max_timestamp_.store({kNoTimestamp, base_offset_});
  max_timestamp_known_.store(true, std::memory_order_release);
  TRY(prepare_for_append());
  // What is checked here may never have been synced: after a kill it lies in the page cache alone.
  data_dirty_.store(true, std::memory_order_relaxed);
  TRY(with_room([&] { return offset_index_->reset(); }));
  TRY(with_room([&] { return time_index_->reset(); }));
  index_dirty_.store(true, std::memory_order_release);
  if (has_txn_index()) {
    const std::shared_ptr<TxnIndex> aborted = TRY(txn_index());
    TRY(aborted->reset());
    txn_dirty_.store(true, std::memory_order_release);
  }
  txn_trusted_.store(true, std::memory_order_release);
  index_suspect_.store(false, std::memory_order_relaxed);
  first_batch_timestamp_.store(kNotRead, std::memory_order_relaxed);
  rolling_timestamp_.reset();
  rebuilding_ = std::make_unique<IndexBuilder>(base_offset_, settings_.index_interval_bytes, settings_.index_bytes);
  torn_at_.store(INT64_MAX, std::memory_order_release);
  return {};
}

void Segment::rebuild_with(const BatchInfo& batch) { rebuilding_->add(batch); }

Result<void> Segment::end_rebuild(FilePosition valid_end) {
  const std::unique_ptr<const IndexBuilder> builder = std::move(rebuilding_);
  max_timestamp_.store(builder->max_timestamp());
  TRY(with_room([&] { return offset_index_->fill(builder->offset_index()); }));
  TRY(with_room([&] { return time_index_->fill(builder->time_index(IndexBuilder::Closing::no)); }));
  if (valid_end < FilePosition{size().value}) {
    const std::shared_ptr<io::File> log = TRY(file());
    data_dirty_.store(true, std::memory_order_relaxed);
    TRY(log->truncate(valid_end - FilePosition{0}));
    size_.store(valid_end.value, std::memory_order_release);
  }
  TRY(become_inactive());
  bytes_since_index_entry_ = 0;
  return {};
}

// What does not fit is replaced as a whole: a crash leaves the old file, which is found out again, or the new one.
Result<void> Segment::rebuild_indexes(bool is_active) {
  const std::shared_ptr<io::File> log = TRY(file());
  const IndexBuilder builder = TRY(
      build_indexes(*log, valid_end(), base_offset_, settings_.index_interval_bytes, settings_.index_bytes));
  const io::Path directory(io::parent_of(path_of(kLogSuffix)));
  for (std::string_view suffix : {kOffsetIndexSuffix, kTimeIndexSuffix}) {
    const ByteVector content = suffix == kOffsetIndexSuffix
                                   ? builder.offset_index()
                                   : builder.time_index(is_active ? IndexBuilder::Closing::no : IndexBuilder::Closing::yes);
    const io::Path path = path_of(suffix);
    Result<ByteVector> old = io::read_file(fs_, path);
    if (old && std::ranges::equal(*old, content)) continue;
    TRY(keep_copy(fs_, directory, io::file_name(path)));
    TRY(io::write_file_atomically(fs_, path, content));
  }
  has_offset_index_.store(true, std::memory_order_release);
  if (OffsetIndex* index = offset_index_open_.load(std::memory_order_acquire)) {
    TRY(index->replaced());
    if (is_active) TRY(index->resize_to_capacity());
  }
  if (TimeIndex* index = time_index_open_.load(std::memory_order_acquire)) {
    TRY(index->replaced());
    if (is_active) TRY(index->resize_to_capacity());
  }
  if (is_active) {
    bytes_since_index_entry_ = (valid_end() - builder.last_indexed()).value;
    index_dirty_.store(true, std::memory_order_release);
  }
  max_timestamp_.store(builder.max_timestamp());
  max_timestamp_known_.store(true, std::memory_order_release);
  index_rebuilt_.store(true, std::memory_order_relaxed);
  index_suspect_.store(false, std::memory_order_relaxed);
  return {};
}

Result<void> Segment::replace_aborted(std::span<const AbortedEntry> entries) {
  const io::Path path = path_of(kTxnIndexSuffix);
  TRY(keep_copy(fs_, io::Path(io::parent_of(path)), io::file_name(path)));
  TRY(io::write_file_atomically(fs_, path, encode_txn_index(entries)));
  {
    // Whoever comes next opens the new one.
    MutexLock lock(mu_);
    txn_index_.reset();
  }
  has_txn_index_.store(true, std::memory_order_release);
  return {};
}

}  // namespace cordwood::storage
