#include "storage/partition_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "record/control_record.h"
#include "record/walk.h"
#include "storage/directory_files.h"
#include "storage/open_files.h"
#include "storage/partition_log_impl.h"
#include "storage/roll_rules.h"
#include "storage/segment_file_name.h"

namespace cordwood::storage {

// --- opening and facts ---

namespace {
bool says_something(const RecoveryReport& report) {
  return report.segments_recovered > 0 || report.bytes_cut > ByteCount{0} || !report.removed_files.empty() ||
         !report.rebuilt_files.empty() || !report.verdicts.empty();
}
}  // namespace

PartitionLog::PartitionLog() = default;
PartitionLog::~PartitionLog() = default;

PartitionLog::Impl::Impl(LogEnvironment log_environment, TopicPartition name, const OpenOptions& options, LoadedLog loaded)
    : env(log_environment),
      partition(std::move(name)),
      is_metadata_log(options.is_metadata_log),
      was_compacted(options.config.cleanup_compact),
      producer_expiration(options.producer.expiration_ms),
      config(options.config),
      log_start(loaded.log_start),
      high_watermark(std::clamp(options.high_watermark_checkpoint, loaded.log_start,
                                std::max(loaded.log_start, loaded.log_end))),
      topic_id(loaded.topic_id),
      segments(std::move(loaded.segments)),
      producers(std::move(loaded.producers)),
      snapshots(std::move(loaded.snapshots)),
      epochs(std::move(loaded.epochs)),
      directory_unsynced(loaded.directory_is_new || options.last_stop == StopKind::unclean),
      names_unsynced(options.last_stop == StopKind::unclean),
      torn_tail(loaded.active_end < FilePosition{segments.back()->size().value}),
      recovery_point(loaded.recovery_point),
      last_flush(env.clock->now()) {
  producers.on_high_watermark(high_watermark);
  if (options.last_stop == StopKind::unclean) {
    // What an earlier process wrote and never flushed has survived it in the page cache, if at all.
    const std::size_t first = floor_segment(segments, recovery_point.load());
    for (std::size_t i = first == segments.size() ? 0 : first; i < segments.size(); ++i) segments[i]->mark_unsynced();
  }
  segments_view.store(std::make_shared<const SegmentList>(segments));
  end.store({loaded.log_end, segments.back()->base_offset(), loaded.active_end});
}

Result<std::shared_ptr<PartitionLog>> PartitionLog::open(LogEnvironment environment, io::Path directory,
                                                         TopicPartition partition, OpenOptions options,
                                                         RecoveryReport* report) {
  RecoveryReport own_report;
  LoadedLog loaded = TRY(load_log(environment, directory, options, own_report));
  std::shared_ptr<PartitionLog> log(new PartitionLog());
  log->impl_ = std::make_unique<Impl>(environment, std::move(partition), options, std::move(loaded));
  Impl& impl = *log->impl_;
  {
    MutexLock lock(impl.mu);
    impl.directories.push_front(std::move(directory));
    impl.directory.store(&impl.directories.front(), std::memory_order_release);
    impl.publish_unstable();
  }
  if (report != nullptr) *report = own_report;
  if (says_something(own_report)) impl.report = std::make_unique<const RecoveryReport>(std::move(own_report));
  return log;
}

const TopicPartition& PartitionLog::partition() const { return impl_->partition; }
const io::Path& PartitionLog::directory() const { return *impl_->directory.load(std::memory_order_acquire); }
const RecoveryReport& PartitionLog::recovery() const {
  static const RecoveryReport kNothing;
  return impl_->report ? *impl_->report : kNothing;
}

std::optional<Uuid> PartitionLog::topic_id() const {
  MutexLock lock(impl_->mu);
  return impl_->topic_id;
}

Result<void> PartitionLog::set_topic_id(Uuid id) {
  MutexLock lock(impl_->mu);
  if (impl_->topic_id == id) return {};
  if (impl_->topic_id) {
    return Error{Errc::invalid, fmt::format("{} belongs to topic id {} and not to {}", directory(),
                                            impl_->topic_id->to_string(), id.to_string())};
  }
  TRY(write_partition_metadata(*impl_->env.fs, directory(), id, io::Fsync::no));
  impl_->topic_id = id;
  impl_->metadata_unsynced = true;
  return {};
}

Offset PartitionLog::log_start_offset() const { return impl_->log_start.load(std::memory_order_acquire); }
Offset PartitionLog::log_end_offset() const { return impl_->end.load().offset; }
Offset PartitionLog::high_watermark() const { return impl_->high_watermark.load(std::memory_order_acquire); }
Offset PartitionLog::last_stable_offset() const { return impl_->last_stable(high_watermark()); }
Offset PartitionLog::recovery_point() const { return impl_->reported_recovery_point(); }

Offset PartitionLog::settled_end() const {
  // The end first: an append says that its flush is due before its records count.
  const Offset log_end = log_end_offset();
  const Offset flushed = impl_->flushed_end();
  return impl_->flush_due.load(std::memory_order_acquire) > flushed ? std::min(log_end, flushed) : log_end;
}

void PartitionLog::set_short_of_space(bool is_short) { impl_->short_of_space.store(is_short, std::memory_order_relaxed); }
bool PartitionLog::is_short_of_space() const { return impl_->short_of_space.load(std::memory_order_relaxed); }

TimestampMs PartitionLog::last_flush_time() const { return impl_->last_flush.load(std::memory_order_acquire); }

Offset PartitionLog::recovery_point_to_checkpoint() const {
  const Offset point = recovery_point();
  if (impl_->closed_cleanly.load(std::memory_order_acquire)) return point;
  const LogEnd end = impl_->end.load();
  // A roll at this very offset would make the active segment one that is trusted, while its trimmed index files are not
  // yet synced. One below keeps it among those that are checked.
  if (point == end.offset && end.position > FilePosition{0} && point > end.segment_base) return {point.value - 1};
  if (point <= log_start_offset()) return point;  // deleted: nobody will look into what lies below
  // The roll has happened, and its flush has not: an acknowledgement's flush leaves the index files out.
  const auto list = impl_->segments_view.load();
  const std::size_t before = floor_segment(*list, Offset{point.value - 1});
  if (before + 1 < list->size() && (*list)[before]->needs_sync()) return {point.value - 1};
  return point;
}

void PartitionLog::update_config(const LogConfig& config) {
  MutexLock lock(impl_->mu);
  impl_->config = config;
}

LogConfig PartitionLog::config() const {
  MutexLock lock(impl_->mu);
  return impl_->config;
}

std::size_t PartitionLog::expire_producers() {
  MutexLock lock(impl_->mu);
  return impl_->producers.expire(impl_->env.clock->now());
}

std::vector<ProducerEntry> PartitionLog::active_producers() const {
  MutexLock lock(impl_->mu);
  std::vector<ProducerEntry> entries;
  for (const auto& [id, entry] : impl_->producers.producers()) entries.push_back(entry);
  std::ranges::sort(entries, {}, &ProducerEntry::producer_id);
  return entries;
}

EpochEndOffset PartitionLog::end_offset_for_epoch(std::int32_t epoch) const {
  MutexLock lock(impl_->mu);
  return impl_->epochs.end_offset_for(epoch, log_end_offset());
}

std::optional<EpochEntry> PartitionLog::latest_epoch() const {
  MutexLock lock(impl_->mu);
  return impl_->epochs.latest();
}

std::optional<EpochEntry> PartitionLog::earliest_epoch() const {
  MutexLock lock(impl_->mu);
  return impl_->epochs.earliest();
}

std::vector<EpochEntry> PartitionLog::epochs() const {
  MutexLock lock(impl_->mu);
  return impl_->epochs.entries();
}

ByteCount PartitionLog::size() const {
  // Held by name: the loop alone would let go of the list before it begins.
  const auto list = impl_->segments_view.load();
  ByteCount total{0};
  for (const auto& segment : *list) total += segment->size();
  return total;
}

std::optional<Offset> PartitionLog::first_segment_base() const {
  const auto list = impl_->segments_view.load();
  if (list->empty()) return std::nullopt;
  return list->front()->base_offset();
}

std::shared_ptr<const SegmentList> PartitionLog::segment_list() const { return impl_->segments_view.load(); }

std::vector<SegmentInfo> PartitionLog::segments() const {
  const LogEnd end = impl_->end.load();
  const auto list = impl_->segments_view.load();
  std::vector<SegmentInfo> infos;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Segment& segment = *(*list)[i];
    SegmentInfo info;
    info.base_offset = segment.base_offset();
    info.active = i + 1 == list->size();
    info.next_offset = info.active ? end.offset : (*list)[i + 1]->base_offset();
    info.size = segment.size();
    if (Result<MaxTimestamp> max = segment.max_timestamp()) info.largest_timestamp = max->timestamp;
    infos.push_back(info);
  }
  return infos;
}

void PartitionLog::on_roll(std::function<void(Offset new_base)> callback) {
  MutexLock lock(impl_->mu);
  impl_->roll_callback = std::move(callback);
}

void PartitionLog::on_failure(std::function<void(const Error&)> callback) {
  MutexLock lock(impl_->mu);
  impl_->failure_callback = std::move(callback);
}

// --- failure ---

void PartitionLog::Impl::fail(const Error& why) {
  {
    MutexLock lock(failure_mu);
    if (!failure) failure = std::make_unique<const Error>(why);
  }
  failed.store(true, std::memory_order_release);
}

std::optional<Error> PartitionLog::Impl::refusal() const {
  if (!failed.load(std::memory_order_acquire)) return std::nullopt;
  MutexLock lock(failure_mu);
  return Error{Errc::closed, fmt::format("{} failed before: {}", partition.to_string(), failure->message())};
}

AppendResult PartitionLog::Impl::storage_failure(const Error& why) {
  AppendResult result;
  result.fault = AppendFault::storage_error;
  result.error = why;
  result.log_start_offset = log_start.load(std::memory_order_acquire);
  return result;
}

// --- append ---

namespace {

AppendFault to_append_fault(ProducerFault fault) {
  switch (fault) {
    case ProducerFault::none: return AppendFault::none;
    case ProducerFault::out_of_order_sequence: return AppendFault::out_of_order_sequence;
    case ProducerFault::invalid_producer_epoch: return AppendFault::invalid_producer_epoch;
    case ProducerFault::invalid_txn_state: return AppendFault::invalid_txn_state;
    case ProducerFault::transaction_coordinator_fenced: return AppendFault::transaction_coordinator_fenced;
  }
  return AppendFault::storage_error;
}

// The marker's coordinator epoch; absent for data, and for control batches that are no markers or were emptied.
Result<std::optional<std::int32_t>> coordinator_epoch_of(const BatchToAppend& batch) {
  if (!batch.header.is_control()) return std::optional<std::int32_t>();
  const std::optional<record::MarkerBatch> marker = TRY(record::read_marker(record::BatchView(batch.bytes)));
  if (!marker || (marker->type != record::ControlType::abort && marker->type != record::ControlType::commit)) {
    return std::optional<std::int32_t>();
  }
  return std::optional<std::int32_t>(marker->marker.coordinator_epoch);
}

}  // namespace

Result<void> PartitionLog::Impl::note_epochs(std::span<const BatchToAppend> batches) {
  for (const BatchToAppend& batch : batches) {
    if (batch.info.magic < 2) {
      if (epochs.latest()) TRY(epochs.clear());
    } else if (batch.info.leader_epoch >= 0) {
      TRY(epochs.assign(LeaderEpoch{batch.info.leader_epoch}, batch.info.base_offset));
    }
  }
  return {};
}

Result<void> PartitionLog::Impl::roll(Offset new_base) {
  Segment& old = active();
  if (new_base < old.base_offset() || (new_base == old.base_offset() && !old.empty())) {
    return Error{Errc::invalid, fmt::format("{}: a segment cannot start at {} behind the one at {}", partition.to_string(),
                                            new_base, old.base_offset())};
  }
  const bool replaces = new_base == old.base_offset();
  if (!replaces) TRY(old.become_inactive());
  std::shared_ptr<Segment> fresh =
      TRY(Segment::create(*env.fs, *directory.load(), new_base,
                          Segment::Settings::from(config, *env.random, env.open_files), env.clock->now(),
                          Segment::IndexFiles::with_first_append));
  if (replaces) segments.pop_back();
  segments.push_back(std::move(fresh));
  torn_tail = false;
  publish_segments();
  end.store({end.load().offset, new_base, FilePosition{0}});

  producers.set_map_end_offset(new_base);
  if (TRY(snapshots.take_if_there_is_room(producers, io::Fsync::no))) unsynced_snapshots.push_back(new_base);
  return {};
}

Result<bool> PartitionLog::Impl::roll_when_due(std::span<const BatchToAppend> batches, ByteCount size) {
  const LogEnd now_end = end.load();
  if (torn_tail && active().base_offset() == now_end.offset) {
    // Nothing but torn bytes in it, and no other segment can start here.
    TRY(active().begin_rebuild());
    TRY(active().end_rebuild(FilePosition{0}));
    torn_tail = false;
  }
  TRY(active().prepare_for_append());
  RollAppend append;
  append.size = size;
  for (const BatchToAppend& batch : batches) append.max_timestamp = std::max(append.max_timestamp, batch.info.max_timestamp);
  append.last_offset = batches.back().info.last_offset;
  const RollReason reason = should_roll(TRY(active().roll_candidate()), append, config, env.clock->now());
  if (reason == RollReason::none && !torn_tail) return false;
  // The first offset of a compressed legacy entry is unknown: the lowest that it can be.
  const BatchInfo& first = batches.front().info;
  const Offset expected = first.magic < 2 ? Offset{first.last_offset.value - INT32_MAX} : first.base_offset;
  TRY(roll(std::max(expected, now_end.offset)));
  TRY(active().prepare_for_append());
  return true;
}

void PartitionLog::Impl::publish_unstable() {
  const std::optional<Offset> unstable = producers.first_unstable_offset();
  first_unstable.store(unstable ? std::max(*unstable, log_start.load(std::memory_order_relaxed)) : Offset{-1},
                       std::memory_order_release);
}

// Whether the producers' rules let none of this be written: `result` then says why, or that it is written already.
bool PartitionLog::Impl::refused_by_producers(std::span<const BatchToAppend> batches, AppendOrigin origin,
                                              const TransactionRules& rules, AppendResult& result) {
  for (const BatchToAppend& batch : batches) {
    if (batch.info.magic < 2 || !batch.header.has_producer_id()) continue;
    if (origin == AppendOrigin::client && !batch.header.is_control()) {
      if (const std::optional<CachedBatch> earlier = producers.find_duplicate(batch.header)) {
        result.duplicate = true;
        result.base_offset = earlier->first_offset();
        result.last_offset = earlier->last_offset;
        result.duplicate_timestamp = earlier->timestamp;
        // The first append may be waiting for the disk: its repetition must not be acknowledged before it.
        const bool is_pending = earlier->last_offset >= flushed_end() && earlier->last_offset < flush_due.load();
        if (is_pending) result.flush_to = next(earlier->last_offset);
        return true;
      }
    }
    const Result<std::optional<std::int32_t>> coordinator_epoch = coordinator_epoch_of(batch);
    // A marker of our own coordinators always parses; one that was replicated was stored like this by its leader.
    const ProducerFault fault =
        producers.check(batch.header, origin, coordinator_epoch ? *coordinator_epoch : std::nullopt, rules);
    if (fault != ProducerFault::none) {
      result.fault = to_append_fault(fault);
      return true;
    }
  }
  return false;
}

// A full disk took nothing, and without descriptors nothing was written: the log is as it was.
AppendResult PartitionLog::Impl::failed_append(const Error& why, bool rolled) {
  if (why.code == Errc::no_space) {
    short_of_space.store(true, std::memory_order_relaxed);
  } else if (!is_out_of_descriptors(why)) {
    fail(why);
  }
  AppendResult result = storage_failure(why);
  result.rolled = rolled;
  return result;
}

// How many entries these batches may add to the transaction index: one for each marker that aborts what is open.
std::int64_t PartitionLog::Impl::aborted_entries_of(std::span<const BatchToAppend> batches) const {
  const auto opens = [](const BatchToAppend& batch, std::int64_t producer_id) {
    return batch.info.magic == 2 && batch.header.is_transactional() && !batch.header.is_control() &&
           batch.header.producer_id == producer_id;
  };
  std::int64_t entries = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (batches[i].info.magic != 2 || !batches[i].header.is_control()) continue;
    const Result<std::optional<record::MarkerBatch>> marker = record::read_marker(record::BatchView(batches[i].bytes));
    if (!marker || !*marker || (*marker)->type != record::ControlType::abort) continue;
    const std::int64_t producer_id = batches[i].header.producer_id;
    const auto known = producers.producers().find(producer_id);
    const bool is_open = known != producers.producers().end() && known->second.current_txn_first_offset;
    if (is_open || std::ranges::any_of(batches.first(i), [&](const auto& batch) { return opens(batch, producer_id); })) ++entries;
  }
  return entries;
}

AppendResult PartitionLog::Impl::append(BytesView bytes, std::span<BatchToAppend> batches, AppendOrigin origin,
                                        const TransactionRules& rules) {
  AppendResult result;
  result.log_start_offset = log_start.load(std::memory_order_relaxed);
  if (Result<void> noted = note_epochs(batches); !noted) return failed_append(noted.error(), false);
  const ByteCount size{static_cast<std::int64_t>(bytes.size())};
  if (size > config.segment_bytes) {
    result.fault = AppendFault::record_list_too_large;
    return result;
  }
  // A refused append has rolled, as in Kafka. But not over a gap: the active segment would begin above the log end.
  const bool over_gap = batches.front().info.base_offset > end.load().offset;
  if (over_gap && refused_by_producers(batches, origin, rules, result)) return result;
  Result<bool> rolled = roll_when_due(batches, size);
  if (!rolled) return failed_append(rolled.error(), false);
  result.rolled = *rolled;
  if (!over_gap && refused_by_producers(batches, origin, rules, result)) return result;
  return write(std::span(&bytes, 1), batches, std::move(result));
}

AppendResult PartitionLog::Impl::write(std::span<const BytesView> pieces, std::span<const BatchToAppend> batches,
                                       AppendResult result) {
  const auto failed_with = [&](const Error& why) { return failed_append(why, result.rolled); };
  FilePosition position{active().size().value};
  std::array<BatchInfo, 1> single;
  std::vector<BatchInfo> several;
  if (batches.size() > 1) several.resize(batches.size());
  const std::span<BatchInfo> infos = batches.size() > 1 ? std::span(several) : std::span(single);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    infos[i] = batches[i].info;
    infos[i].position = position;
    position += batches[i].info.size;
  }
  // A marker may add to the transaction index: not to one that lacks what came before.
  const auto is_marker = [](const BatchToAppend& batch) { return batch.info.magic == 2 && batch.header.is_control(); };
  if (!active().txn_index_is_trusted() && std::ranges::any_of(batches, is_marker)) {
    if (Result<void> trusted = trust_active_txn_index(); !trusted) return failed_with(trusted.error());
  }
  // Without its entry a transaction that was aborted would be served: room for the entry is found before the marker is written.
  std::shared_ptr<TxnIndex> kept_open;
  if (const std::int64_t entries = aborted_entries_of(batches); entries > 0) {
    Result<std::shared_ptr<TxnIndex>> reserved = active().reserve_aborted(entries);
    if (!reserved) return failed_with(reserved.error());
    kept_open = std::move(*reserved);
  }
  if (Result<void> written = active().append(pieces, infos); !written) return failed_with(written.error());
  result.base_offset = batches.front().info.base_offset;
  result.last_offset = batches.back().info.last_offset;
  // At once, whatever happens next: a later append must not use these offsets again.
  const Offset new_end = next(result.last_offset);
  if (new_end - flushed_end() >= OffsetDelta{config.flush_messages}) {
    flush_due.store(new_end, std::memory_order_release);
    result.flush_to = new_end;
  }
  end.store({new_end, active().base_offset(), position});

  for (const BatchToAppend& batch : batches) {
    if (batch.info.magic < 2) continue;
    const Result<std::optional<CompletedTransaction>> completed = note_batch(producers, batch.header, batch.bytes);
    if (!completed || !*completed || !(*completed)->aborted) continue;
    Result<void> noted = active().append_aborted({(*completed)->producer_id, (*completed)->first_offset,
                                                  (*completed)->last_offset,
                                                  producers.last_stable_offset_after(**completed)});
    // The marker is in the log already. No room now, on a file system that cannot reserve any, is as bad as a broken disk.
    if (!noted) return failed_with({Errc::io, noted.error().what, noted.error().sys_errno});
  }
  producers.set_map_end_offset(new_end);
  publish_unstable();
  return result;
}

// What must happen outside of the append lock: the callbacks, and the flush that flush.messages asks for.
void PartitionLog::Impl::finish_append(AppendResult& result, Offset rolled_to, DueFlush due_flush) {
  std::function<void(Offset)> on_rolled;
  if (result.rolled) {
    MutexLock lock(mu);
    on_rolled = roll_callback;
  }
  if (on_rolled) on_rolled(rolled_to);
  const bool failed_now = result.fault == AppendFault::storage_error && result.error;
  if (failed_now && result.error->code != Errc::no_space) report_failure(*result.error);
  if (due_flush == DueFlush::by_caller || !result.flush_to) return;
  const Offset flush_to = *std::exchange(result.flush_to, std::nullopt);
  if (Result<void> flushed = flush_up_to(flush_to, FlushScope::everything); !flushed) {
    const bool was_rolled = result.rolled;
    result = storage_failure(flushed.error());
    result.rolled = was_rolled;
  }
}

BatchToAppend stamp_batch(MutableBytesView batch, Offset base_offset, LeaderEpoch leader_epoch) {
  BatchToAppend entry;
  entry.header = record::BatchView(batch).header();
  record::set_last_offset(batch, {base_offset.value + entry.header.last_offset_delta});
  record::set_leader_epoch(batch, leader_epoch.value);
  entry.header.base_offset = base_offset;
  entry.header.partition_leader_epoch = leader_epoch.value;
  entry.bytes = batch;
  entry.info = {FilePosition{0}, ByteCount{static_cast<std::int64_t>(batch.size())}, entry.header.magic, base_offset,
                entry.header.last_offset(), entry.header.max_timestamp, leader_epoch.value};
  return entry;
}

AppendResult PartitionLog::append_as_leader(MutableBytesView batch, LeaderEpoch leader_epoch, AppendOrigin origin,
                                            const TransactionRules& rules, DueFlush due_flush) {
  CHECK(batch.size() >= record::kHeaderSize, "a batch of {} bytes was not validated", batch.size());
  if (const std::optional<Error> refusal = impl_->refusal()) return impl_->storage_failure(*refusal);
  AppendResult result;
  Offset rolled_to{0};
  bool needs_finish = false;
  {
    MutexLock lock(impl_->mu);
    if (impl_->closed) {
      return impl_->storage_failure(Error{Errc::closed, fmt::format("{} is closed", impl_->partition.to_string())});
    }
    const bool append_time = impl_->config.message_timestamp_type == record::TimestampType::log_append_time;
    if (append_time && origin == AppendOrigin::coordinator) {
      record::set_max_timestamp(batch, record::TimestampType::log_append_time, impl_->env.clock->now());
    }
    BatchToAppend entry = stamp_batch(batch, impl_->end.load().offset, leader_epoch);
    result = impl_->append(batch, std::span(&entry, 1), origin, rules);
    rolled_to = impl_->active().base_offset();
    needs_finish = result.rolled || result.fault == AppendFault::storage_error || result.flush_to;
  }
  if (needs_finish) impl_->finish_append(result, rolled_to, due_flush);
  return result;
}

AppendResult PartitionLog::append_as_follower(BytesView batches) {
  if (const std::optional<Error> refusal = impl_->refusal()) return impl_->storage_failure(*refusal);
  AppendResult result;
  result.log_start_offset = log_start_offset();
  std::vector<BatchToAppend> entries;
  BytesView rest = batches;
  while (rest.size() >= record::kMagicPrefix) {
    Result<record::EntryPrefix> prefix = record::read_prefix(rest);
    if (prefix && prefix->total_size() > ByteCount{static_cast<std::int64_t>(rest.size())}) break;  // cut off silently
    Result<record::EntryInfo> info = prefix ? record::check_entry(rest) : Result<record::EntryInfo>(prefix.error());
    const bool in_order = info && (entries.empty() || info->last_offset > entries.back().info.last_offset);
    if (!in_order) {
      result.fault = AppendFault::offsets_out_of_order;
      if (!info) result.error = info.error();
      return result;
    }
    BatchToAppend entry;
    entry.bytes = rest.first(static_cast<std::size_t>(info->size.value));
    entry.info = {FilePosition{0}, info->size, info->magic, info->base_offset, info->last_offset, info->max_timestamp, -1};
    if (info->header) {
      entry.header = *info->header;
      entry.info.leader_epoch = info->header->partition_leader_epoch;
    }
    entries.push_back(entry);
    rest = rest.subspan(entry.bytes.size());
  }
  if (entries.empty()) return result;

  Offset rolled_to{0};
  {
    MutexLock lock(impl_->mu);
    if (impl_->closed) {
      return impl_->storage_failure(Error{Errc::closed, fmt::format("{} is closed", impl_->partition.to_string())});
    }
    if (entries.front().info.base_offset < impl_->end.load().offset) {
      result.fault = AppendFault::offsets_out_of_order;
      return result;
    }
    result = impl_->append(batches.first(batches.size() - rest.size()), entries, AppendOrigin::replication, {});
    rolled_to = impl_->active().base_offset();
  }
  impl_->finish_append(result, rolled_to, DueFlush::by_append);
  return result;
}

Result<void> PartitionLog::begin_leader_epoch(LeaderEpoch epoch) {
  if (std::optional<Error> refusal = impl_->refusal()) return *refusal;
  MutexLock lock(impl_->mu);
  if (impl_->closed) return Error{Errc::closed, fmt::format("{} is closed", impl_->partition.to_string())};
  Result<void> assigned = impl_->epochs.assign(epoch, impl_->end.load().offset);
  if (!assigned && assigned.error().code != Errc::invalid) impl_->fail(assigned.error());
  return assigned;
}

Result<void> PartitionLog::roll() {
  if (std::optional<Error> refusal = impl_->refusal()) return *refusal;
  const auto act = [&]() -> Result<std::optional<Offset>> {
    MutexLock lock(impl_->mu);
    if (impl_->closed) return Error{Errc::closed, fmt::format("{} is closed", impl_->partition.to_string())};
    if (impl_->active().empty()) return std::optional<Offset>();
    TRY(impl_->roll(impl_->end.load().offset));
    return std::optional<Offset>(impl_->end.load().offset);
  };
  const Result<std::optional<Offset>> rolled = act();
  if (!rolled && rolled.error().code == Errc::closed) return rolled.error();
  if (!rolled) impl_->fail(rolled.error());
  std::function<void(Offset)> on_rolled;
  std::function<void(const Error&)> on_failed;
  {
    MutexLock lock(impl_->mu);
    if (rolled) on_rolled = impl_->roll_callback;
    else on_failed = impl_->failure_callback;
  }
  if (on_failed) on_failed(rolled.error());
  if (!rolled) return rolled.error();
  if (on_rolled && *rolled) on_rolled(**rolled);
  return {};
}

// --- offsets ---

Offset PartitionLog::set_high_watermark(Offset to) {
  MutexLock lock(impl_->mu);
  const Offset now = impl_->high_watermark.load(std::memory_order_relaxed);
  const Offset moved = std::clamp(to, impl_->log_start.load(std::memory_order_relaxed),
                                  std::max(impl_->log_start.load(std::memory_order_relaxed), impl_->end.load().offset));
  if (moved <= now) return now;
  // Transactions that are now replicated leave the unstable ones before the watermark is seen, so that nobody reads
  // the new watermark with an old, lower limit for good.
  impl_->producers.on_high_watermark(moved);
  impl_->high_watermark.store(moved, std::memory_order_release);
  impl_->publish_unstable();
  return moved;
}

Result<void> PartitionLog::advance_log_start(Offset to) {
  if (std::optional<Error> refusal = impl_->refusal()) return *refusal;
  MutexLock lock(impl_->mu);
  if (to > impl_->high_watermark.load(std::memory_order_relaxed)) {
    return Error{Errc::out_of_range, fmt::format("{}: start {} lies above the high watermark {}",
                                                 impl_->partition.to_string(), to, impl_->high_watermark.load())};
  }
  Result<void> moved = impl_->move_log_start(to);
  if (!moved) impl_->fail(moved.error());
  return moved;
}

Result<void> PartitionLog::Impl::move_log_start(Offset to) {
  if (to <= log_start.load(std::memory_order_relaxed)) return {};
  log_start.store(to, std::memory_order_release);
  given_up.store(to, std::memory_order_release);
  Result<void> truncated = epochs.truncate_from_start(to);
  producers.on_log_start(to);
  publish_unstable();
  return truncated;
}

// --- life ---

void PartitionLog::close_abruptly() {
  impl_->fail(Error{Errc::closed, "the log was closed"});
  MutexLock lock(impl_->mu);
  impl_->closed = true;
  // Readers under way keep what they hold.
  impl_->segments_view.store(std::make_shared<const SegmentList>());
}

Result<void> PartitionLog::rename_directory(const io::Path& to) {
  MutexLock flush_lock(impl_->flush_mu);
  MutexLock lock(impl_->mu);
  TRY(impl_->env.fs->rename(directory(), to));
  impl_->directories.push_front(to);
  impl_->directory.store(&impl_->directories.front(), std::memory_order_release);
  for (const auto& segment : impl_->segments) segment->set_directory(to);
  impl_->snapshots.set_directory(to);
  impl_->closed = true;
  impl_->renamed = true;
  return impl_->env.fs->sync_directory(io::Path(io::parent_of(to)));
}

}  // namespace cordwood::storage
