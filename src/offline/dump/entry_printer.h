// offline/dump/entry_printer.h — one entry of a .log as lines of text, as org.apache.kafka.tools.DumpLogSegments of Kafka 4.4.0 prints
// it: the batch, and its records where they are wanted.
//
// Records of an ordinary batch (magic 2, whole, shown as text) go from where they lie into the text at once; whatever is odd is read
// by KafkaRecordWalk, which knows Kafka's complaints. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "offline/dump/java_text.h"
#include "offline/dump/kafka_records.h"
#include "offline/dump/record_decoders.h"
#include "offline/dump/text_writer.h"
#include "record/batch.h"
#include "record/record_walk.h"

namespace cordwood::offline {

struct SegmentDumpOptions {
  bool records = false;   // a line for each
  bool contents = false;  // with key and value
  bool record_metadata = true;
  std::int32_t max_bytes = INT32_MAX;
  // How the work is cut up where several threads do it.
  int threads = 1;
  std::size_t block_bytes = 1024 * 1024;
};

class EntryPrinter {
 public:
  // All must outlive the printer.
  EntryPrinter(const SegmentDumpOptions& options, const RecordDecoder& decoder, TextWriter& out)
      : options_(options), decoder_(decoder), out_(out) {}

  // `header` holds the first 61 bytes of the batch, of which `entry` may have fewer. Errors: corrupt, with Kafka's exception.
  Result<void> batch(BytesView entry, BytesView header, FilePosition position);
  // Of magic 0, 1, or below. Errors: corrupt, with Kafka's exception.
  Result<void> legacy_entry(BytesView entry, FilePosition position);

  // Offsets of the records so far. Those that do not follow each other are in `gaps`.
  std::optional<std::int64_t> first_offset() const { return first_offset_; }
  std::optional<std::int64_t> last_offset() const { return first_offset_ ? std::optional(last_offset_) : std::nullopt; }
  const OffsetPairs& gaps() const { return gaps_; }
  // Begins anew, for other entries.
  void forget() {
    first_offset_.reset();
    gaps_.clear();
  }

 private:
  Result<void> second_half(std::string_view time_type, FilePosition position, std::int64_t max_timestamp, std::size_t size,
                           std::int8_t magic, std::uint8_t codec_bits, std::uint32_t crc, bool is_valid);
  Result<void> records_of(BytesView entry, const record::BatchHeader& header);
  bool print_shape(const record::BatchHeader& header, const record::RecordShape& shape);
  Result<void> record(std::string_view time_type, std::int8_t magic, bool is_control);
  Result<void> contents();
  void utf8(BytesView bytes);
  void note_offset(std::int64_t offset);

  const SegmentDumpOptions& options_;
  const RecordDecoder& decoder_;
  TextWriter& out_;
  OffsetPairs gaps_;
  std::optional<std::int64_t> first_offset_;
  std::int64_t last_offset_ = -1;
  KafkaRecord record_;
  ShownRecord shown_;
  std::string decoded_;
  // The digits of the last offset and timestamp: the next ones are mostly one more, and the same.
  struct Digits {
    std::int64_t value = -1;
    char text[TextWriter::kLongestNumber];
    std::size_t size = 0;
    void set(std::int64_t number);
    void follow(std::int64_t number);
    char* put(char* at) const;
  };
  Digits offset_digits_;
  Digits timestamp_digits_;
};

}  // namespace cordwood::offline
