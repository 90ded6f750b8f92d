// storage/cleaner/batch_filter.h — what one pass of the cleaner leaves of a batch.
//
// A batch of which every record stays is copied as it lies. Else it is written anew: same codec, offsets, producer fields
// and flags, the records that stay with their offsets; or, when it must survive without any, as 61 bytes of header.
// Messages of the formats before batches become batches.
// Rules: docs/formats/cleaner.md, "what survives" (seen on Kafka 4.4.0). One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "record/batch.h"
#include "record/legacy.h"
#include "record/record.h"
#include "record/record_walk.h"
#include "storage/batch_scan.h"
#include "storage/cleaner/offset_map.h"
#include "storage/cleaner/transaction_tracker.h"
#include "storage/producer_state.h"

namespace cordwood::storage {

// The last thing that the log knows of a live producer: its batch is never dropped, only emptied, so that the producer's
// sequence goes on after a restart.
struct LastOfProducer {
  std::int16_t epoch = -1;
  std::optional<Offset> last_data_offset;  // absent when only a marker of it is known
};
using LastOfProducers = std::unordered_map<std::int64_t, LastOfProducer>;
LastOfProducers last_of_producers(const std::vector<ProducerEntry>& active);

struct FilterSettings {
  TimestampMs now;
  DurationMs delete_retention_ms;
  Offset high_watermark;  // the batch that ends there is never dropped: the log end is found from it
  // Magic 0 and 1 have no delete horizon: their tombstones stay or go by the age of the segment's file.
  bool legacy_tombstones_stay = true;
  record::DecompressionLimits limits;
};

enum class BatchFate { copied, rewritten, emptied, removed };
const char* to_string(BatchFate fate);

struct FilteredBatch {
  BatchFate fate = BatchFate::removed;
  BatchInfo info;  // of what was written; position counts from the start of the output. Nothing for `removed`
  std::int64_t records_read = 0;
  std::int64_t records_kept = 0;
  std::int64_t records_without_key = 0;       // dropped for that
  std::int64_t tombstones_removed = 0;        // the last of their keys, and their time is over
  std::optional<AbortedEntry> aborted_entry;  // goes into the new transaction index
};

class BatchFilter {
 public:
  // All must outlive the filter.
  BatchFilter(const OffsetMap& map, TransactionTracker& transactions, const LastOfProducers& producers)
      : map_(map), transactions_(transactions), producers_(producers) {}
  FilterSettings settings;

  // Appends to `out` what stays of `entry`, a whole entry of any magic whose checksum is checked here: bytes that are
  // damaged are never given a good checksum. Errors: corrupt; unsupported for a codec; limit for a bomb.
  Result<FilteredBatch> filter(BytesView entry, ByteVector& out);

 private:
  struct Kept {
    bool all = true;
    bool tombstone = false;
    std::size_t count = 0;
  };
  bool must_stay(const record::BatchHeader& header) const;
  Result<FilteredBatch> filter_legacy(BytesView entry, ByteVector& out);
  bool keeps_legacy(const record::LegacyRecord& record) const;
  // Whether a record is not superseded; a tombstone may go all the same.
  bool is_last_of_key(const record::RecordShape& shape, Offset offset, const KeyHash& hash) const;
  Kept choose(const record::BatchHeader& header, FilteredBatch& result);
  void rewrite(const record::BatchHeader& header, std::optional<TimestampMs> horizon, ByteVector& out, FilteredBatch& result);

  const OffsetMap& map_;
  TransactionTracker& transactions_;
  const LastOfProducers& producers_;
  // Of the batch at hand; kept for their capacity.
  std::vector<record::RecordShape> shapes_;
  std::vector<KeyHash> hashes_;
  std::vector<char> kept_;
  ByteVector plain_;
};

}  // namespace cordwood::storage
