#include "storage/cleaner/cleaning_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "storage/cleaner/batch_chunks.h"
#include "storage/cleaner/batch_filter.h"
#include "storage/cleaner/offset_map_builder.h"
#include "storage/cleaner/segment_groups.h"
#include "storage/cleaner/segment_rewriter.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

class CleaningPass {
 public:
  CleaningPass(PartitionLog& log, const LogEnvironment& environment, const CleaningVerdict& verdict, OffsetMap& map,
               const PassSettings& settings)
      : log_(log),
        env_(environment),
        verdict_(verdict),
        map_(map),
        settings_(settings),
        config_(log.config()),
        started_(environment.clock->now()),
        view_(log.view_for_cleaning()),
        window_(std::min(settings.read_buffer, ForwardReader::kWindow)) {}

  Result<PassResult> run() {
    PassResult result;
    result.statistics = {};
    statistics_ = &result.statistics;
    TRY(log_.trust_txn_indexes(view_, verdict_.first_uncleanable));
    TRY(build_map());
    result.end = next(map_.latest());
    result.covers_everything = result.end == verdict_.first_uncleanable;
    if (result.end <= verdict_.first_dirty) {
      return Error{Errc::limit, fmt::format("{}: the offset map has no room for a single key", log_.directory())};
    }
    TRY(rewrite_up_to(result.end));
    return result;
  }

 private:
  Result<void> build_map() {
    map_.start((verdict_.first_uncleanable - verdict_.first_dirty).value, verdict_.first_dirty);
    OffsetMapBuilder builder(map_, view_.segments, {verdict_.first_dirty, verdict_.first_uncleanable}, window_,
                             settings_.between);
    builder.limits = limits();
    TRY(builder.run());
    statistics_->records_mapped = builder.records_read();
    statistics_->keys = map_.size();
    statistics_->key_limit = map_.limit();
    return {};
  }

  record::DecompressionLimits limits() const {
    record::DecompressionLimits limits;
    limits.largest_record = config_.max_decompressed_message_bytes;
    return limits;
  }

  Result<void> rewrite_up_to(Offset end) {
    SegmentList segments;
    std::vector<SegmentFacts> facts;
    for (const auto& segment : *view_.segments) {
      if (segment->base_offset() >= end) break;
      segments.push_back(segment);
      const Segment::IndexSizes sizes = TRY(segment->index_sizes());
      facts.push_back({segment->base_offset(), segment->size(), sizes.offset_index, sizes.time_index});
    }
    // The tombstones of legacy messages have no horizon of their own: they go by the age of the last clean segment.
    TimestampMs legacy_horizon{0};
    for (const auto& segment : segments) {
      if (segment->base_offset() >= verdict_.first_dirty) break;
      legacy_horizon = TRY(segment->file_time()) - config_.delete_retention_ms;
    }
    TransactionTracker transactions;
    for (const SegmentGroup& group : group_segments(
             facts, {config_.segment_bytes, config_.segment_index_bytes, verdict_.first_uncleanable})) {
      const SegmentList sources(segments.begin() + static_cast<std::ptrdiff_t>(group.first),
                                segments.begin() + static_cast<std::ptrdiff_t>(group.end));
      TRY(rewrite_group(sources, transactions, legacy_horizon));
    }
    return {};
  }

  Result<void> rewrite_group(const SegmentList& sources, TransactionTracker& transactions, TimestampMs legacy_horizon) {
    const LastOfProducers producers = last_of_producers(log_.active_producers());
    BatchFilter filter(map_, transactions, producers);
    filter.settings.now = started_;
    filter.settings.delete_retention_ms = config_.delete_retention_ms;
    filter.settings.high_watermark = log_.high_watermark();
    filter.settings.limits = limits();
    SegmentRewriter rewriter(env_, log_.directory(), config_);
    Result<void> written = write_group(sources, transactions, legacy_horizon, filter, rewriter);
    if (!written) {
      rewriter.discard();
      return written;
    }
    Result<void> swapped = log_.replace_segments(view_, sources, rewriter.segments());
    if (!swapped) {
      // After any other failure the files are what the next load goes by.
      if (swapped.error().code == Errc::closed) rewriter.discard();
      return swapped;
    }
    statistics_->segments_before += static_cast<std::int64_t>(sources.size());
    statistics_->segments_after += static_cast<std::int64_t>(rewriter.segments().size());
    return {};
  }

  Result<void> write_group(const SegmentList& sources, TransactionTracker& transactions, TimestampMs legacy_horizon,
                           BatchFilter& filter, SegmentRewriter& rewriter) {
    TRY(rewriter.begin(sources.front()->base_offset()));
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Segment& source = *sources[i];
      const Offset end = i + 1 < sources.size() ? sources[i + 1]->base_offset() : TRY(source.find_end()).next_offset;
      // One that ended below the log start is forgotten, and what it wrote counts as committed: nobody reads it any more.
      const Offset from = std::max(source.base_offset(), log_.log_start_offset());
      transactions.add(TRY(aborted_between(*view_.segments, from, end)));
      filter.settings.legacy_tombstones_stay = TRY(source.file_time()) > legacy_horizon;
      TRY(filter_segment(source, filter, rewriter));
    }
    TRY(write_out(rewriter));
    const TimestampMs modified = TRY(sources.back()->file_time());
    TRY(rewriter.finish(modified));
    statistics_->bytes_written += rewriter.bytes_written();
    return {};
  }

  Result<void> filter_segment(const Segment& source, BatchFilter& filter, SegmentRewriter& rewriter) {
    const std::shared_ptr<io::File> file = TRY(source.file());
    BatchChunks chunks(*file, FilePosition{0}, FilePosition{source.size().value}, window_);
    while (true) {
      BytesView rest = TRY(chunks.next());
      if (rest.empty()) return {};
      const ByteCount size{static_cast<std::int64_t>(rest.size())};
      statistics_->bytes_read += size;
      TRY(settings_.between(size));
      while (!rest.empty()) {
        const BytesView entry = first_entry(rest);
        Result<FilteredBatch> batch = filter.filter(entry, rewriter.output());
        if (!batch) {
          return Error{batch.error().code, fmt::format("{}: {}", source.path_of(kLogSuffix), batch.error().what)};
        }
        statistics_->records_read += batch->records_read;
        statistics_->records_kept += batch->records_kept;
        statistics_->records_without_key += batch->records_without_key;
        statistics_->tombstones_removed += batch->tombstones_removed;
        TRY(rewriter.take(*batch));
        rest = rest.subspan(entry.size());
      }
      if (std::cmp_greater_equal(rewriter.output().size(), settings_.read_buffer.value)) TRY(write_out(rewriter));
    }
  }

  Result<void> write_out(SegmentRewriter& rewriter) {
    const ByteCount written = TRY(rewriter.write_out());
    return settings_.between(written);
  }

  PartitionLog& log_;
  const LogEnvironment& env_;
  const CleaningVerdict& verdict_;
  OffsetMap& map_;
  const PassSettings& settings_;
  const LogConfig config_;
  const TimestampMs started_;
  const CleaningView view_;
  const ByteCount window_;
  PassStatistics* statistics_ = nullptr;
};

}  // namespace

Result<PassResult> clean_log(PartitionLog& log, const LogEnvironment& environment, const CleaningVerdict& verdict,
                             OffsetMap& map, const PassSettings& settings) {
  const bool has_work = verdict.is_due() || verdict.decision == CleaningDecision::not_dirty_enough;
  CHECK(has_work && verdict.cleanable_bytes > ByteCount{0}, "{} has nothing to clean", log.directory());
  return CleaningPass(log, environment, verdict, map, settings).run();
}

}  // namespace cordwood::storage
