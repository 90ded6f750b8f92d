// The part of log_loader.h that checks one segment.

#include <fmt/format.h>

#include "record/walk.h"
#include "storage/directory_files.h"
#include "storage/forward_reader.h"
#include "storage/log_loader.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {
namespace {

// Reads a file from front to back and hands out one whole entry after the other.
class EntryReader {
 public:
  EntryReader(const io::File& file, FilePosition end) : reader_(file, end) {}

  FilePosition position() const { return position_; }

  // The bytes of the next entry, valid until the next call. Nothing at the end and before an incomplete entry.
  // Errors: io; corrupt when the length field is impossible.
  Result<std::optional<BytesView>> next() {
    const std::optional<BytesView> prefix_bytes = TRY(reader_.bytes_at(position_, record::kMagicPrefix));
    if (!prefix_bytes) return prefix_bytes;
    const record::EntryPrefix prefix = TRY(record::read_prefix(*prefix_bytes));
    return reader_.bytes_at(position_, static_cast<std::size_t>(prefix.total_size().value));
  }
  void step_over(BytesView entry) { position_ += ByteCount{static_cast<std::int64_t>(entry.size())}; }

 private:
  ForwardReader reader_;
  FilePosition position_{0};
};

BatchInfo to_batch_info(const record::EntryInfo& entry, FilePosition position) {
  BatchInfo info;
  info.position = position;
  info.size = entry.size;
  info.magic = entry.magic;
  info.base_offset = entry.base_offset;
  info.last_offset = entry.last_offset;
  info.max_timestamp = entry.max_timestamp;
  if (entry.header) info.leader_epoch = entry.header->partition_leader_epoch;
  return info;
}

class SegmentRecovery {
 public:
  SegmentRecovery(RecoveryContext& context, Segment& segment)
      : context_(context), segment_(segment), state_(context.options.producer.expiration_ms) {}

  Result<ByteCount> run(const SegmentList& segments) {
    context_.snapshots.start_over();
    TRY(rebuild_producer_state(state_, context_.snapshots, segments, context_.options.log_start_checkpoint,
                               segment_.base_offset(), context_.environment.clock->now(), Reload::replay));
    TRY(segment_.begin_rebuild());
    const ByteCount old_size = segment_.size();
    const std::shared_ptr<io::File> log = TRY(segment_.file());
    EntryReader reader(*log, FilePosition{old_size.value});
    std::string reason;
    while (true) {
      Result<std::optional<BytesView>> entry = reader.next();
      if (!entry && entry.error().code != Errc::corrupt) return entry.error();
      if (!entry) {
        reason = entry.error().what;
        break;
      }
      if (!*entry) break;
      Result<void> taken = take(**entry, reader.position());
      if (context_.overflowed) return taken.error();
      if (!taken) {
        if (taken.error().code != Errc::corrupt && taken.error().code != Errc::unsupported) return taken.error();
        reason = taken.error().what;
        break;
      }
      reader.step_over(**entry);
    }
    const ByteCount cut = FilePosition{old_size.value} - reader.position();
    if (cut > ByteCount{0}) {
      if (reason.empty()) reason = "incomplete batch at the end";
      TRY(context_.before_cut({segment_, reader.position(), FilePosition{old_size.value}, next_offset_, reason}));
      context_.report.bytes_cut += cut;
      context_.report.cut_at = next_offset_;
      context_.report.cut_reason = reason;
    }
    TRY(segment_.end_rebuild(reader.position()));
    TRY(context_.snapshots.take(state_, io::Fsync::yes));
    ++context_.report.segments_recovered;
    context_.report.rebuilt_files.push_back(segment_file_name(segment_.base_offset(), kOffsetIndexSuffix));
    context_.report.rebuilt_files.push_back(segment_file_name(segment_.base_offset(), kTimeIndexSuffix));
    return cut;
  }

 private:
  // Checks one entry and takes it into indexes, epochs and producer state. Nothing is noted of an entry that is refused.
  Result<void> take(BytesView bytes, FilePosition position) {
    const record::EntryInfo entry = TRY(record::check_entry(bytes));
    // The offset lies outside of the checksum.
    const std::int64_t relative = (entry.last_offset - segment_.base_offset()).value;
    if (relative > INT32_MAX && entry.last_offset >= next_offset_ && TRY(is_followed_by_higher(entry, position))) {
      context_.overflowed = true;
      return Error{Errc::out_of_range, fmt::format("offset {} does not fit {}", entry.last_offset, segment_.path_of(kLogSuffix))};
    }
    if (relative < 0 || relative > INT32_MAX || entry.last_offset < next_offset_) {
      return Error{Errc::corrupt, fmt::format("offset {} at position {} does not follow {}", entry.last_offset, position,
                                              next_offset_)};
    }
    const BatchInfo info = to_batch_info(entry, position);
    segment_.rebuild_with(info);
    next_offset_ = next(entry.last_offset);
    if (!entry.header) return {};
    if (info.leader_epoch >= 0) {
      const std::optional<EpochEntry> latest = context_.epochs.latest();
      if (!latest || info.leader_epoch > latest->epoch.value) {
        TRY(context_.epochs.assign(LeaderEpoch{info.leader_epoch}, entry.base_offset));
      }
    }
    const std::optional<CompletedTransaction> completed = TRY(note_batch(state_, *entry.header, bytes));
    if (completed && completed->aborted) {
      TRY(segment_.append_aborted({completed->producer_id, completed->first_offset, completed->last_offset,
                                   state_.last_stable_offset_after(*completed)}));
    }
    state_.set_map_end_offset(next_offset_);
    return {};
  }

  // Whether the next batch, if there is one, has higher offsets: else it is this one's offset that is damaged.
  Result<bool> is_followed_by_higher(const record::EntryInfo& entry, FilePosition position) {
    const std::shared_ptr<io::File> log = TRY(segment_.file());
    BatchScan scan(*log, position + entry.size, FilePosition{segment_.size().value});
    const Result<std::optional<BatchInfo>> following = scan.next();
    if (!following && following.error().code != Errc::corrupt) return following.error();
    return !following || !*following || (*following)->last_offset > entry.last_offset;
  }

  RecoveryContext& context_;
  Segment& segment_;
  ProducerState state_;
  Offset next_offset_ = segment_.base_offset();
};

}  // namespace

Result<ByteCount> recover_segment(RecoveryContext& context, Segment& segment, const SegmentList& segments) {
  return SegmentRecovery(context, segment).run(segments);
}

}  // namespace cordwood::storage
