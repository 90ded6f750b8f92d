// record/builder.h — makes a batch v2 from records.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/types.h"
#include "record/batch.h"
#include "record/compression.h"

namespace cordwood::record {

struct BatchOptions {
  Offset base_offset{0};
  std::int32_t partition_leader_epoch = -1;
  CompressionSettings compression;
  TimestampType timestamp_type = TimestampType::create_time;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;
  std::int32_t base_sequence = -1;
  bool transactional = false;
  bool control = false;
  // With log append time: the batch's max timestamp, which every record then has. Absent: the largest that was added.
  std::optional<TimestampMs> log_append_time;
  // What the cleaner sets on a batch that keeps tombstones: attribute bit 6 and the base timestamp.
  std::optional<TimestampMs> delete_horizon;
  // Kept by the cleaner when the last record of a batch is gone; never below the last record's delta (checked).
  std::optional<std::int32_t> last_offset_delta;
};

struct HeaderToWrite {
  std::string_view key;
  std::optional<BytesView> value;
};

// One thread. Records get offsets base, base+1, ... unless add_at() names a delta. Timestamps are not negative, or
// kNoTimestamp (checked). Reuse with reset().
class BatchBuilder {
 public:
  explicit BatchBuilder(BatchOptions options) : options_(options) {}
  void reset(BatchOptions options);

  void add(TimestampMs timestamp, std::optional<BytesView> key, std::optional<BytesView> value,
           std::span<const HeaderToWrite> headers = {});
  // `offset_delta` must exceed the one before (checked).
  void add_at(std::int32_t offset_delta, TimestampMs timestamp, std::optional<BytesView> key,
              std::optional<BytesView> value, std::span<const HeaderToWrite> headers = {});

  std::int32_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  // Bytes of the records so far, before compression, header not counted.
  std::size_t plain_size() const { return count_ == 0 ? 0 : records_.size() - kHeaderSize; }

  // The finished batch with its CRC; nothing at all when no record was added. The builder is spent until reset().
  ByteVector build();

 private:
  BatchOptions options_;
  ByteWriter records_;  // behind room for the header
  std::int32_t count_ = 0;
  std::int32_t last_delta_ = -1;
  TimestampMs base_timestamp_ = kNoTimestamp;
  TimestampMs max_timestamp_ = kNoTimestamp;
};

// The 61 bytes that stand for a batch whose records are all gone: offsets, producer fields, leader epoch, max timestamp
// and the timestamp type, transactional and control bits of `original`; no codec, no delete horizon.
ByteVector make_empty_batch(const BatchHeader& original);

}  // namespace cordwood::record
