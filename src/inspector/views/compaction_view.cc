#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>

#include "inspector/views/partition_files.h"
#include "inspector/views/records_view.h"
#include "inspector/views/views.h"
#include "offline/rendering.h"
#include "storage/cleaner/cleanable.h"
#include "storage/retention.h"

namespace cordwood::inspector {
namespace {

storage::CleaningVerdict cleaning_verdict(const PartitionAt& at, const storage::CleanableFacts& facts, TimestampMs now) {
  storage::CleaningVerdict verdict = storage::judge(facts, at.config, now);
  if (at.cleaner && at.cleaner->last_error && now < at.cleaner->retry_at) {
    verdict.decision = storage::CleaningDecision::waits_after_fault;
    verdict.retry_at = at.cleaner->retry_at;
  }
  return verdict;
}

// Without a log: sizes and bases of the files.
Result<storage::CleanableFacts> facts_of_files(const PartitionAt& at, const ExtentAt& extent) {
  if (extent.has_log) return at.log->cleanable_facts(at.cleaned_to);
  storage::CleanableFacts facts;
  facts.checkpoint = at.cleaned_to;
  facts.log_start = extent.log_start;
  facts.log_end = extent.log_end;
  facts.last_stable = extent.last_stable;
  for (const SegmentAt& segment : extent.segments) {
    const Result<OpenSegment> open = open_segment(at, segment);
    facts.segments.push_back({segment.base, open ? open->end - FilePosition{0} : ByteCount{0}, kNoTimestamp, kNoTimestamp});
  }
  return facts;
}

std::string compaction_sentence(const PartitionAt& at, const storage::CleaningVerdict& verdict) {
  std::string text;
  const std::string ratio = fmt::format("{:.0f} % of {} is dirty", verdict.dirty_ratio * 100,
                                        offline::human_size(verdict.clean_bytes + verdict.cleanable_bytes));
  switch (verdict.decision) {
    case storage::CleaningDecision::not_compacted: return "This log is not compacted: its cleanup.policy has no compact.";
    case storage::CleaningDecision::due_by_ratio:
      text = fmt::format("A compaction is due: {}, more than min.cleanable.dirty.ratio ({:.0f} %).", ratio, verdict.wanted_ratio * 100);
      break;
    case storage::CleaningDecision::due_by_lag:
      text = fmt::format("A compaction is due: a record waits {} longer than max.compaction.lag.ms allows.", duration_words(verdict.overdue));
      break;
    case storage::CleaningDecision::empty:
      text = "Nothing can be compacted yet: the active segment never is, nor what lies behind an open transaction.";
      break;
    case storage::CleaningDecision::nothing_dirty:
      text = fmt::format("Everything below offset {} is clean.", verdict.first_uncleanable);
      break;
    case storage::CleaningDecision::not_dirty_enough:
      text = fmt::format("No compaction is due: {}, not more than min.cleanable.dirty.ratio ({:.0f} %).", ratio, verdict.wanted_ratio * 100);
      break;
    case storage::CleaningDecision::waits_after_fault:
      text = fmt::format("The last run failed; the next one is at {}.", storage::describe_time(verdict.retry_at));
      break;
  }
  if (!at.is_live) text += " No broker runs, so nothing is compacted now.";
  return text;
}

}  // namespace

Result<api::Compaction> view_compaction(const PartitionAt& at, const api::CompactionQuery&, TimestampMs now) {
  const ExtentAt extent = TRY(extent_of(at));
  api::Compaction answer;
  if (extent.segments.empty()) {
    answer.decision = storage::to_string(storage::CleaningDecision::empty);
    answer.says = "There is no segment here.";
    return answer;
  }
  const storage::CleanableFacts facts = TRY(facts_of_files(at, extent));
  const storage::CleaningVerdict verdict = cleaning_verdict(at, facts, now);
  answer.decision = storage::to_string(verdict.decision);
  answer.due = verdict.is_due();
  answer.first_dirty = verdict.first_dirty.value;
  answer.first_uncleanable = verdict.first_uncleanable.value;
  answer.clean_bytes = verdict.clean_bytes.value;
  answer.cleanable_bytes = verdict.cleanable_bytes.value;
  answer.dirty_ratio = verdict.dirty_ratio;
  answer.wanted_ratio = verdict.wanted_ratio;
  if (at.cleaned_to) answer.checkpoint = at.cleaned_to->value;
  if (verdict.decision == storage::CleaningDecision::waits_after_fault) answer.retry_at_ms = verdict.retry_at.value;
  if (at.cleaner) {
    if (at.cleaner->last_error) answer.last_error = at.cleaner->last_error->message();
    answer.saved_bytes = at.cleaner->saved_bytes.value;
    if (at.cleaner->last_run) {
      const storage::CleanerStatus::Run& run = *at.cleaner->last_run;
      const storage::PassStatistics& pass = run.statistics;
      api::CleanerRun shown;
      shown.ended_ms = (run.started + run.took).value;
      shown.milliseconds = run.took.value;
      shown.bytes_before = pass.bytes_read.value;
      shown.bytes_after = pass.bytes_written.value;
      shown.records_before = pass.records_read;
      shown.records_after = pass.records_kept;
      shown.tombstones_removed = pass.tombstones_removed;
      shown.says = fmt::format("Cleaned offsets {} to {} in {}: {} of {} records stay, {} became {}, {} segments became {}.", run.from, run.to,
                               duration_words(run.took), pass.records_kept, pass.records_read, offline::human_size(pass.bytes_read),
                               offline::human_size(pass.bytes_written), pass.segments_before, pass.segments_after);
      answer.last_run = std::move(shown);
    }
  }
  constexpr std::size_t kMostSegments = 2000;
  const std::size_t first = facts.segments.size() - std::min(facts.segments.size(), kMostSegments);
  for (std::size_t i = first; i < facts.segments.size(); ++i) {
    const storage::CleanableSegment& segment = facts.segments[i];
    const char* standing = "dirty";
    if (i + 1 == facts.segments.size()) {
      standing = "active";
    } else if (verdict.decision == storage::CleaningDecision::not_compacted) {
      standing = "not compacted";
    } else if (segment.base_offset < verdict.first_dirty) {
      standing = "clean";
    } else if (segment.base_offset >= verdict.first_uncleanable) {
      standing = "too young";
    }
    answer.segments.push_back({segment.base_offset.value, segment.size.value, standing});
  }
  answer.says = compaction_sentence(at, verdict);
  return answer;
}

// --- by key ---

namespace {

constexpr std::size_t kMostKeys = 200'000;
constexpr std::int64_t kMostRecords = 1'000'000;
constexpr ByteCount kMostScannedBytes{64 * MiB};
constexpr std::size_t kLongestKey = 4096;  // of longer ones a hash would have to stand for the rest
constexpr std::size_t kLastOffsets = 20;

struct KeySeen {
  std::vector<std::int64_t> offsets;  // the last ones
  std::int64_t records = 0;
  std::int64_t bytes = 0;
  std::int64_t last_bytes = 0;
  bool tombstone = false;
  std::optional<TimestampMs> horizon;  // of the batch that holds the tombstone
};

}  // namespace

Result<api::CompactionPreview> view_compaction_keys(const PartitionAt& at, const api::CompactionKeysQuery& query, TimestampMs now) {
  const std::int64_t limit = query.limit.value_or(50);
  if (limit < 1 || limit > 200) return Error{Errc::invalid, "limit: must be 1 to 200"};
  const ExtentAt extent = TRY(extent_of(at));
  api::CompactionPreview answer;
  answer.complete = true;
  if (extent.segments.empty()) {
    answer.says = "There is no segment here.";
    return answer;
  }
  std::unordered_map<std::string, KeySeen> keys;
  std::size_t memory = 0;
  std::int64_t keyless = 0;
  std::int64_t aborted_records = 0;
  std::int64_t control_bytes = 0;
  std::int64_t unread = 0;
  bool is_full = false;
  const AbortedTransactions aborted = AbortedTransactions::around(at, extent, extent.log_start, extent.log_end);
  const EntryWalk walk = TRY(walk_log(at, extent, extent.log_start, extent.log_end, kMostScannedBytes, [&](const EntryAt& entry) {
    const bool is_control = entry.header && entry.header->is_control();
    const bool is_aborted = entry.header && aborted.covers(*entry.header);
    answer.bytes_before += entry.info.size.value;
    if (is_control) {
      control_bytes += entry.info.size.value;
      return record::Walk::go_on;
    }
    const auto walked = each_record(entry.bytes, entry.info.magic, [&](const RecordInEntry& record) {
      if (answer.records_before == kMostRecords || memory > static_cast<std::size_t>(kMostScannedBytes.value)) {
        is_full = true;
        return record::Walk::stop;
      }
      ++answer.records_before;
      if (is_aborted) {
        ++aborted_records;
        return record::Walk::go_on;
      }
      if (!record.record.key) {
        ++keyless;
        return record::Walk::go_on;
      }
      const BytesView key = record.record.key->subspan(0, std::min(record.record.key->size(), kLongestKey));
      // Longer keys that begin alike are told apart by their length and a checksum of the rest.
      std::string name(as_text(key));
      if (record.record.key->size() > kLongestKey) {
        name += fmt::format("\x01{}\x01{}", record.record.key->size(), std::hash<std::string_view>()(as_text(*record.record.key)));
      }
      const auto [place, is_new] = keys.try_emplace(std::move(name));
      if (is_new) {
        if (keys.size() > kMostKeys) {
          is_full = true;
          return record::Walk::stop;
        }
        memory += place->first.size() + sizeof(KeySeen) + 64;
      }
      KeySeen& seen = place->second;
      ++seen.records;
      if (seen.offsets.size() == kLastOffsets) seen.offsets.erase(seen.offsets.begin());
      seen.offsets.push_back(record.record.offset.value);
      memory += 8;
      seen.last_bytes = record.size.value;
      seen.bytes += record.size.value;
      seen.tombstone = !record.record.value;
      seen.horizon.reset();
      if (seen.tombstone && entry.header && entry.header->has_delete_horizon()) seen.horizon = entry.header->base_timestamp;
      return record::Walk::go_on;
    });
    if (!walked) unread += entry.info.size.value;
    return is_full ? record::Walk::stop : record::Walk::go_on;
  }));
  answer.scanned_bytes = walk.scanned.value;
  answer.complete = walk.complete && !is_full && unread == 0;
  answer.keys_total = static_cast<std::int64_t>(keys.size());
  // Inflated sizes weigh the records; the sum is what the batches take as they lie.
  std::int64_t all = 0;
  std::int64_t kept = 0;
  std::vector<std::pair<std::int64_t, const std::pair<const std::string, KeySeen>*>> by_dead_bytes;
  for (const auto& key : keys) {
    const KeySeen& seen = key.second;
    const bool is_over = seen.tombstone && seen.horizon && *seen.horizon <= now;
    all += seen.bytes;
    if (!is_over) {
      kept += seen.last_bytes;
      ++answer.records_after;
    }
    by_dead_bytes.emplace_back(seen.bytes - (is_over ? 0 : seen.last_bytes), &key);
  }
  const std::size_t shown = std::min(by_dead_bytes.size(), static_cast<std::size_t>(limit));
  std::partial_sort(by_dead_bytes.begin(), by_dead_bytes.begin() + static_cast<std::ptrdiff_t>(shown), by_dead_bytes.end(),
                    [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second->first < b.second->first; });
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [name, seen] = *by_dead_bytes[i].second;
    api::KeyHistory row;
    row.key = shown_bytes(as_bytes(name));
    row.offsets.assign(seen.offsets.begin(), seen.offsets.end());
    row.records = seen.records;
    row.tombstone = seen.tombstone;
    const bool is_over = seen.tombstone && seen.horizon && *seen.horizon <= now;
    if (!is_over) row.survives = seen.offsets.back();
    if (seen.horizon) row.tombstone_until_ms = seen.horizon->value;
    answer.rows.push_back(std::move(row));
  }
  const double part = all == 0 ? 0 : static_cast<double>(kept) / static_cast<double>(all);
  answer.bytes_after = control_bytes + static_cast<std::int64_t>(static_cast<double>(answer.bytes_before - control_bytes - unread) * part) + unread;
  answer.says = fmt::format("{} keys in {}: one record of each stays, {} of {} bytes.", answer.keys_total, records_words(answer.records_before),
                            answer.bytes_after, answer.bytes_before);
  if (keyless > 0) answer.says += fmt::format(" {} without a key would be dropped.", records_words(keyless));
  if (aborted_records > 0) answer.says += fmt::format(" {} of aborted transactions go.", records_words(aborted_records));
  if (!walk.complete || is_full) answer.says += " Only the beginning of the log was looked at.";
  if (unread > 0) answer.says += fmt::format(" {} of batches that cannot be read are left out.", offline::human_size(ByteCount{unread}));
  if (!walk.problem.empty()) answer.says += fmt::format(" {}.", walk.problem);
  if (!at.config.cleanup_compact) answer.says += " This is what compaction would do: the topic's cleanup.policy has no compact.";
  answer.says += " The active segment counts too, though the cleaner leaves it alone until it is closed; bytes are an estimate.";
  return answer;
}

}  // namespace cordwood::inspector
