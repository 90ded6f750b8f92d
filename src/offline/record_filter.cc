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
  if (key_expression) consider(as_bytes(key_expression->required()));
  if (value_expression) consider(as_bytes(value_expression->required()));
  for (const Header& header : headers) {
    consider(as_bytes(header.name));
    if (header.value) consider(as_bytes(*header.value));
  }
  return longest;
}

RecordSieve::RecordSieve(const RecordFilter& filter) : filter_(filter) {
  if (filter.key_expression) key_.emplace(*filter.key_expression);
  if (filter.value_expression) value_.emplace(*filter.value_expression);
}

bool RecordSieve::wants(const record::RecordView& record) {
  const RecordFilter& f = filter_;
  if (f.offsets.from && record.offset < *f.offsets.from) return false;
  if (f.offsets.end && record.offset >= *f.offsets.end) return false;
  if (f.from_time && record.timestamp < *f.from_time) return false;
  if (f.end_time && record.timestamp >= *f.end_time) return false;
  if (f.tombstones_only && record.value) return false;
  if (f.min_size || f.max_size) {
    const std::size_t bytes = (record.key ? record.key->size() : 0) + (record.value ? record.value->size() : 0);
    const ByteCount size{static_cast<std::int64_t>(bytes)};
    if (f.min_size && size < *f.min_size) return false;
    if (f.max_size && size > *f.max_size) return false;
  }
  if (f.key && (!record.key || !equal_bytes(*record.key, *f.key))) return false;
  if (key_ && (!record.key || !key_->found_in(*record.key))) return false;
  for (const RecordFilter::Header& header : f.headers) {
    if (!has_header(record, header)) return false;
  }
  return !value_ || (record.value && value_->found_in(*record.value));
}

}  // namespace cordwood::offline
