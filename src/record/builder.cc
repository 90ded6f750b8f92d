#include "record/builder.h"

#include <algorithm>

namespace cordwood::record {
namespace {

constexpr std::int16_t kAppendTimeBit = 0x08;
constexpr std::int16_t kTransactionalBit = 0x10;
constexpr std::int16_t kControlBit = 0x20;
constexpr std::int16_t kDeleteHorizonBit = 0x40;

std::size_t sized_field(const std::optional<BytesView>& field) {
  if (!field) return varint_size(-1);
  return varint_size(static_cast<std::int32_t>(field->size())) + field->size();
}

void write_sized(ByteWriter& to, const std::optional<BytesView>& field) {
  if (!field) return to.varint(-1);
  to.varint(static_cast<std::int32_t>(field->size()));
  to.bytes(*field);
}

}  // namespace

void BatchBuilder::reset(BatchOptions options) {
  options_ = options;
  records_.clear();
  count_ = 0;
  last_delta_ = -1;
  base_timestamp_ = kNoTimestamp;
  max_timestamp_ = kNoTimestamp;
}

void BatchBuilder::add(TimestampMs timestamp, std::optional<BytesView> key, std::optional<BytesView> value,
                       std::span<const HeaderToWrite> headers) {
  add_at(last_delta_ + 1, timestamp, key, value, headers);
}

void BatchBuilder::add_at(std::int32_t offset_delta, TimestampMs timestamp, std::optional<BytesView> key,
                          std::optional<BytesView> value, std::span<const HeaderToWrite> headers) {
  CHECK(offset_delta > last_delta_, "offset delta {} after {}", offset_delta, last_delta_);
  CHECK(timestamp >= kNoTimestamp, "timestamp {}", timestamp);
  if (count_ == 0) base_timestamp_ = options_.delete_horizon.value_or(timestamp);
  const std::int64_t timestamp_delta = (timestamp - base_timestamp_).value;
  std::size_t body = 1 + varlong_size(timestamp_delta) + varint_size(offset_delta) + sized_field(key) +
                     sized_field(value) + varint_size(static_cast<std::int32_t>(headers.size()));
  for (const HeaderToWrite& header : headers) body += sized_field(as_bytes(header.key)) + sized_field(header.value);

  // The header's place is kept from the start, so that an uncompressed batch needs no second buffer.
  if (records_.size() == 0) records_.buffer().resize(kHeaderSize);
  records_.varint(static_cast<std::int32_t>(body));
  records_.i8(0);
  records_.varlong(timestamp_delta);
  records_.varint(offset_delta);
  write_sized(records_, key);
  write_sized(records_, value);
  records_.varint(static_cast<std::int32_t>(headers.size()));
  for (const HeaderToWrite& header : headers) {
    write_sized(records_, as_bytes(header.key));
    write_sized(records_, header.value);
  }
  ++count_;
  last_delta_ = offset_delta;
  max_timestamp_ = std::max(max_timestamp_, timestamp);
}

ByteVector BatchBuilder::build() {
  if (count_ == 0) return {};
  ByteVector batch = records_.take();
  if (options_.compression.codec != Codec::none) {
    ByteVector plain = std::move(batch);
    batch.reserve(plain.size());
    batch.resize(kHeaderSize);
    compress(options_.compression, BytesView(plain).subspan(kHeaderSize), batch);
  }
  BatchHeader header;
  header.base_offset = options_.base_offset;
  header.partition_leader_epoch = options_.partition_leader_epoch;
  header.attributes = static_cast<std::int16_t>(options_.compression.codec);
  if (options_.timestamp_type == TimestampType::log_append_time) header.attributes |= kAppendTimeBit;
  if (options_.transactional) header.attributes |= kTransactionalBit;
  if (options_.control) header.attributes |= kControlBit;
  if (options_.delete_horizon) header.attributes |= kDeleteHorizonBit;
  header.last_offset_delta = options_.last_offset_delta.value_or(last_delta_);
  CHECK(header.last_offset_delta >= last_delta_, "last offset delta {} below {}", header.last_offset_delta,
        last_delta_);
  header.base_timestamp = base_timestamp_;
  header.max_timestamp = max_timestamp_;
  if (options_.timestamp_type == TimestampType::log_append_time && options_.log_append_time)
    header.max_timestamp = *options_.log_append_time;
  header.producer_id = options_.producer_id;
  header.producer_epoch = options_.producer_epoch;
  header.base_sequence = options_.base_sequence;
  header.record_count = count_;
  write_header(batch, header);
  return batch;
}

ByteVector make_empty_batch(const BatchHeader& original) {
  ByteVector batch(kHeaderSize);
  BatchHeader header = original;
  header.attributes =
      static_cast<std::int16_t>(original.attributes & (kAppendTimeBit | kTransactionalBit | kControlBit));
  header.base_timestamp = kNoTimestamp;
  header.record_count = 0;
  write_header(batch, header);
  return batch;
}

}  // namespace cordwood::record
