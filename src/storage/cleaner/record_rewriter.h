// storage/cleaner/record_rewriter.h — records of a batch, copied into a new one whose base timestamp may differ.
//
// A new base timestamp changes the timestamp delta of each record and with it its length; nothing else of a record
// changes. What a client wrote in another form than Kafka's own writer (longer varints, attribute bits) is written in
// Kafka's form, as Kafka's cleaner does. One thread.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/types.h"
#include "record/batch.h"
#include "record/record_walk.h"

namespace cordwood::storage {

class RecordRewriter {
 public:
  // `original` is the header of the batch that the records come from. With a horizon it is the base timestamp, else the
  // first record's timestamp is.
  RecordRewriter(const record::BatchHeader& original, std::optional<TimestampMs> horizon);

  // Appends the record; its views point into the original batch or its inflated records.
  void append(const record::RecordShape& shape, ByteVector& out);

  std::int32_t count() const { return count_; }
  TimestampMs base_timestamp() const { return base_timestamp_; }
  // With log append time the original's; else the largest of the records.
  TimestampMs max_timestamp() const { return append_time_ ? original_max_ : max_timestamp_; }

 private:
  bool append_time_;
  TimestampMs original_base_;
  TimestampMs original_max_;
  bool has_base_;
  TimestampMs base_timestamp_;
  TimestampMs max_timestamp_ = kNoTimestamp;
  std::int32_t count_ = 0;
};

}  // namespace cordwood::storage
