// offline/dump/kafka_records.h — entries and records of a .log read as Kafka's own classes read them, which look at less than
// ours do before they show a record, and whose complaints are part of what its tool prints.
//
// Views live as long as the bytes that they were read from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "record/record.h"
#include "record/record_walk.h"

namespace cordwood::offline {

struct KafkaRecord {
  std::int64_t offset = 0;
  std::int64_t timestamp = 0;
  std::int32_t sequence = -1;
  std::optional<BytesView> key;
  std::optional<BytesView> value;
  std::vector<BytesView> header_keys;
  // Of records of the old formats. Their sizes are told before anyone looks whether so many bytes are there.
  bool is_valid = true;
  std::uint32_t crc = 0;
  std::int32_t key_size = -1;
  std::int32_t value_size = -1;
  std::string sizes_fault;     // an exception; empty: none
  std::string contents_fault;
};

Error kafka_error(std::string exception_and_message);

// DefaultRecordBatch.incrementSequence.
std::int32_t increment_sequence(std::int32_t sequence, std::int32_t increment);

// Walks the records of a batch of magic 2. The bytes may be anything that has a header.
class KafkaRecordWalk {
 public:
  // `scratch` holds what is inflated and must live as long as the walk. Errors: corrupt, with the exception as `what`.
  static Result<KafkaRecordWalk> begin(BytesView batch, record::ScratchBuffer& scratch);

  // False at the end. Errors: corrupt, with the exception as `what`.
  Result<bool> next(KafkaRecord& record);
  // All records' bytes in the clear.
  BytesView plain() const { return bytes_; }

 private:
  Result<void> read(KafkaRecord& record);
  Result<void> read_inside(std::size_t& at, std::size_t end, std::int32_t size, KafkaRecord& record);

  BytesView bytes_;
  std::size_t at_ = 0;
  bool is_compressed_ = false;
  std::int32_t count_ = 0;
  std::int32_t done_ = 0;
  std::int64_t base_offset_ = 0;
  std::int64_t base_timestamp_ = 0;
  std::int32_t base_sequence_ = -1;
  std::optional<std::int64_t> append_time_;
};

// All records of an entry of magic 0 or 1. Errors: corrupt, with the exception as `what`.
Result<std::vector<KafkaRecord>> read_legacy_records(BytesView entry, record::ScratchBuffer& scratch);

}  // namespace cordwood::offline
