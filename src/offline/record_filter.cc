#include "offline/record_filter.h"

#include <algorithm>

namespace cordwood::offline {
namespace {

bool equal_bytes(BytesView a, BytesView b) { return std::ranges::equal(a, b); }

bool has_header(const record::RecordView& record, const RecordFilter::Header& wanted) {
  return std::ranges::any_of(record.headers, [&](const record::HeaderView& header) {
    if (header.key != wanted.name) return false;
    if (!wanted.value) return true;
    return header.value && as_text(*header.value) == *wanted.value;
  });
}

}  // namespace

bool RecordFilter::may_hold(const record::BatchHeader& header) const {
  if (header.is_control() && !control_records) return false;
  if (!offsets.touches(header.base_offset, header.last_offset())) return false;
  if (from_time && header.max_timestamp < *from_time) return false;
  return !producer_id || header.producer_id == *producer_id;
}

BytesView RecordFilter::required_bytes() const {
  BytesView longest;
  const auto consider = [&](BytesView bytes) {
    if (bytes.size() > longest.size()) longest = bytes;
  };
  if (key) consider(*key);
  if (key_expression) consider(as_bytes(key_expression->literal()));
  if (value_expression) consider(as_bytes(value_expression->literal()));
  for (const Header& header : headers) {
    consider(as_bytes(header.name));
    if (header.value) consider(as_bytes(*header.value));
  }
  return longest;
}

bool RecordFilter::wants(const record::RecordView& record) const {
  if (offsets.from && record.offset < *offsets.from) return false;
  if (offsets.end && record.offset >= *offsets.end) return false;
  if (from_time && record.timestamp < *from_time) return false;
  if (end_time && record.timestamp >= *end_time) return false;
  if (tombstones_only && record.value) return false;
  if (min_size || max_size) {
    const std::size_t bytes = (record.key ? record.key->size() : 0) + (record.value ? record.value->size() : 0);
    const ByteCount size{static_cast<std::int64_t>(bytes)};
    if (min_size && size < *min_size) return false;
    if (max_size && size > *max_size) return false;
  }
  if (key && (!record.key || !equal_bytes(*record.key, *key))) return false;
  if (key_expression && (!record.key || !key_expression->found_in(*record.key))) return false;
  for (const RecordFilter::Header& header : headers) {
    if (!has_header(record, header)) return false;
  }
  return !value_expression || (record.value && value_expression->found_in(*record.value));
}

}  // namespace cordwood::offline
