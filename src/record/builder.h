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
};

struct HeaderToWrite {
  std::string_view key;
  std::optional<BytesView> value;
};

// One thread. Records get offsets base, base+1, ... unless add_at() names a delta. Reuse with reset().
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
  std::size_t plain_size() const { return records_.size(); }

  // The finished batch with its CRC. The builder is spent until reset().
  ByteVector build();

 private:
  BatchOptions options_;
  ByteWriter records_;
  std::int32_t count_ = 0;
  std::int32_t last_delta_ = -1;
  TimestampMs base_timestamp_ = kNoTimestamp;
  TimestampMs max_timestamp_ = kNoTimestamp;
};

}  // namespace cordwood::record
