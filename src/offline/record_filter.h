// offline/record_filter.h — which records `find` is after.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/types.h"
#include "offline/record_walk.h"
#include "offline/regular_expression.h"
#include "record/batch.h"
#include "record/record.h"

namespace cordwood::offline {

// What is absent is not asked for; a record must satisfy all that is there.
struct RecordFilter {
  std::optional<ByteVector> key;  // exactly these bytes
  std::optional<RegularExpression> key_expression;
  std::optional<RegularExpression> value_expression;
  struct Header {
    std::string name;
    std::optional<std::string> value;
  };
  std::vector<Header> headers;
  OffsetRange offsets;
  std::optional<TimestampMs> from_time;
  std::optional<TimestampMs> end_time;  // exclusive
  std::optional<std::int64_t> producer_id;
  std::optional<ByteCount> min_size;  // of key and value together
  std::optional<ByteCount> max_size;
  bool tombstones_only = false;
  bool control_records = false;  // markers too, else they are left out

  // Whether a batch with this header may hold such records. `header` is of magic 2.
  bool may_hold(const record::BatchHeader& header) const;
  // Bytes that lie as they are in every record wanted; empty when nothing is known.
  BytesView required_bytes() const;
  // Whether this record is wanted, apart from what may_hold() has looked at.
  bool wants(const record::RecordView& record) const;
};

}  // namespace cordwood::offline
