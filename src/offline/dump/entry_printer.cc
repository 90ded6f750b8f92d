#include "offline/dump/entry_printer.h"

#include <fmt/format.h>

#include <cstring>

#include "base/crc32c.h"
#include "record/legacy.h"

namespace cordwood::offline {
namespace {

std::int64_t size_of(const std::optional<BytesView>& part) { return part ? static_cast<std::int64_t>(part->size()) : -1; }

template <std::size_t N>
char* put_literal(char* at, const char (&text)[N]) {
  std::memcpy(at, text, N - 1);
  return at + (N - 1);
}

char* put_bytes(char* at, BytesView bytes) {
  std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

BytesView sized_view(const std::byte* start, std::int32_t size) { return {start, static_cast<std::size_t>(std::max(size, 0))}; }

}  // namespace

void EntryPrinter::Digits::set(std::int64_t number) {
  value = number;
  size = static_cast<std::size_t>(TextWriter::put_number(text, number) - text);
}

void EntryPrinter::Digits::follow(std::int64_t number) {
  if (number == value && size > 0) return;
  if (value < 0 || number != value + 1 || size == 0) return set(number);
  std::size_t at = size;
  while (at > 0 && text[at - 1] == '9') text[--at] = '0';
  if (at == 0) return set(number);  // one digit more
  ++text[at - 1];
  value = number;
}

char* EntryPrinter::Digits::put(char* at) const {
  std::memcpy(at, text, size);
  return at + size;
}

Result<void> EntryPrinter::batch(BytesView entry, BytesView header_bytes, FilePosition position) {
  const record::BatchHeader header = record::BatchView(header_bytes).header();
  out_.text("baseOffset: ");
  out_.number(header.base_offset.value);
  out_.text(" lastOffset: ");
  out_.number(header.last_offset().value);
  out_.text(" count: ");
  out_.number(header.record_count);
  out_.text(" baseSequence: ");
  out_.number(header.base_sequence);
  out_.text(" lastSequence: ");
  out_.number(header.base_sequence == -1 ? -1 : increment_sequence(header.base_sequence, header.last_offset_delta));
  out_.text(" producerId: ");
  out_.number(header.producer_id);
  out_.text(" producerEpoch: ");
  out_.number(header.producer_epoch);
  out_.text(" partitionLeaderEpoch: ");
  out_.number(header.partition_leader_epoch);
  out_.text(header.is_transactional() ? " isTransactional: true" : " isTransactional: false");
  out_.text(header.is_control() ? " isControl: true" : " isControl: false");
  if (header.has_delete_horizon()) {
    out_.text(" deleteHorizonMs: OptionalLong[");
    out_.number(header.base_timestamp.value);
    out_.character(']');
  } else {
    out_.text(" deleteHorizonMs: OptionalLong.empty");
  }
  const bool append_time = header.timestamp_type() == record::TimestampType::log_append_time;
  const bool is_whole = entry.size() >= record::kHeaderSize;
  const bool is_valid = is_whole && record::BatchView(entry).crc_is_valid();
  TRY(second_half(append_time ? "LogAppendTime" : "CreateTime", position, header.max_timestamp.value, entry.size(), header.magic,
                  header.codec_bits(), header.crc, is_valid));
  if (!options_.records) return {};
  if (!is_whole) {
    return kafka_error("java.lang.IndexOutOfBoundsException");
  }
  return records_of(entry, header);
}

Result<void> EntryPrinter::records_of(BytesView entry, const record::BatchHeader& header) {
  const bool append_time = header.timestamp_type() == record::TimestampType::log_append_time;
  record::ScratchBuffer scratch;
  KafkaRecordWalk walk = TRY(KafkaRecordWalk::begin(entry, scratch));
  record::WalkEnd printed{.fault = record::StructureFault::stopped};
  if (options_.contents && options_.record_metadata && !header.is_control() && decoder_.is_plain_text()) {
    printed = record::walk_shapes(walk.plain(), header.record_count, INT32_MAX, [&](std::int32_t, const record::RecordShape& shape) {
      return print_shape(header, shape) ? record::Walk::go_on : record::Walk::stop;
    });
    if (printed.fault == record::StructureFault::none) return {};
  }
  // Those behind it, and what is wrong with them, are the slower walk's.
  const std::string_view time_type = append_time ? "LogAppendTime" : "CreateTime";
  for (std::int32_t i = 0; TRY(walk.next(record_)); ++i) {
    if (i >= printed.index) TRY(record(time_type, 2, header.is_control()));
  }
  return {};
}

Result<void> EntryPrinter::legacy_entry(BytesView entry, FilePosition position) {
  const auto magic = load_be<std::int8_t>(entry, record::kMagic);
  out_.text("offset: ");
  out_.number(load_be<std::int64_t>(entry, record::kBaseOffset));
  if (magic < 0) {
    return kafka_error(fmt::format("java.lang.IllegalArgumentException: Invalid magic used in LegacyRecord: {}", magic));
  }
  const auto attributes = load_be<std::uint8_t>(entry, record::kLegacyAttributes);
  std::int64_t timestamp = -1;
  std::string_view time_type = "NoTimestampType";
  if (magic == 1) {
    time_type = (attributes & 8) != 0 ? "LogAppendTime" : "CreateTime";
    if (entry.size() >= record::kLegacyBodyV1) timestamp = load_be<std::int64_t>(entry, record::kLegacyTimestamp);
  }
  const auto crc = load_be<std::uint32_t>(entry, record::kLegacyCrc);
  const bool is_valid = crc32_ieee(entry.subspan(record::kMagic)) == crc;
  TRY(second_half(time_type, position, timestamp, entry.size(), magic, attributes & 7, crc, is_valid));
  if (!options_.records) return {};
  record::ScratchBuffer scratch;
  for (KafkaRecord& one : TRY(read_legacy_records(entry, scratch))) {
    record_ = std::move(one);
    TRY(record(time_type, magic, false));
  }
  return {};
}

Result<void> EntryPrinter::second_half(std::string_view time_type, FilePosition position, std::int64_t max_timestamp, std::size_t size, std::int8_t magic,
                         std::uint8_t codec_bits, std::uint32_t crc, bool is_valid) {
  const std::optional<record::Codec> codec = record::codec_from_bits(codec_bits);
  if (!codec) return kafka_error(fmt::format("java.lang.IllegalArgumentException: Unknown compression type id: {}", codec_bits));
  out_.text(" position: ");
  out_.number(position.value);
  out_.character(' ');
  out_.text(time_type);
  out_.text(": ");
  out_.number(max_timestamp);
  out_.text(" size: ");
  out_.number(static_cast<std::int64_t>(size));
  out_.text(" magic: ");
  out_.number(magic);
  out_.text(" compresscodec: ");
  out_.text(record::to_string(*codec));
  out_.text(" crc: ");
  out_.number(crc);
  out_.text(is_valid ? " isvalid: true\n" : " isvalid: false\n");
  return {};
}

Result<void> EntryPrinter::record(std::string_view time_type, std::int8_t magic, bool is_control) {
  note_offset(record_.offset);
  if (options_.record_metadata) {
    if (!record_.sizes_fault.empty()) return kafka_error(record_.sizes_fault);
    out_.text("| offset: ");
    out_.number(record_.offset);
    out_.character(' ');
    out_.text(time_type);
    out_.text(": ");
    out_.number(record_.timestamp);
    out_.text(" keySize: ");
    out_.number(magic < 2 ? record_.key_size : size_of(record_.key));
    out_.text(" valueSize: ");
    out_.number(magic < 2 ? record_.value_size : size_of(record_.value));
    if (magic >= 2) {
      out_.text(" sequence: ");
      out_.number(record_.sequence);
      out_.text(" headerKeys: [");
      for (std::size_t i = 0; i < record_.header_keys.size(); ++i) {
        if (i > 0) out_.character(',');
        utf8(record_.header_keys[i]);
      }
      out_.character(']');
    } else {
      out_.text(record_.is_valid ? " isValid: true crc: " : " isValid: false crc: ");
      out_.number(record_.crc);
    }
    if (is_control) out_.text(TRY(control_record_text({Offset{record_.offset}, record_.key, record_.value})));
  }
  if (options_.contents && !is_control) TRY(contents());
  out_.character('\n');
  return {};
}

Result<void> EntryPrinter::contents() {
  if (!record_.contents_fault.empty()) return kafka_error(record_.contents_fault);
  if (!record_.sizes_fault.empty()) return kafka_error(record_.sizes_fault);
  std::string_view before = options_.record_metadata ? " " : "| ";
  if (decoder_.is_plain_text()) {
    if (record_.key) {
      out_.text(before);
      out_.text("key: ");
      utf8(*record_.key);
      before = " ";
    }
    if (record_.value) {
      out_.text(before);
      out_.text("payload: ");
      utf8(*record_.value);
    }
    return {};
  }
  TRY(decoder_.decode({Offset{record_.offset}, record_.key, record_.value}, shown_));
  if (shown_.key) {
    out_.text(before);
    out_.text("key: ");
    out_.text(*shown_.key);
    before = " ";
  }
  if (shown_.value) {
    out_.text(before);
    out_.text("payload: ");
    out_.text(*shown_.value);
  }
  return {};
}

void EntryPrinter::utf8(BytesView bytes) {
  if (is_ascii(bytes)) {
    out_.text(as_text(bytes));
    return;
  }
  decoded_.clear();
  append_utf8(decoded_, bytes);
  out_.text(decoded_);
}

void EntryPrinter::note_offset(std::int64_t offset) {
  if (!first_offset_) {
    first_offset_ = offset;
  } else if (last_offset_ + 1 != offset) {
    gaps_[last_offset_] = offset;
  }
  last_offset_ = offset;
}

// False where the record is not as most are: it has headers, or bytes that are not shown as they lie, or is very long.
bool EntryPrinter::print_shape(const record::BatchHeader& header, const record::RecordShape& shape) {
  if (shape.header_count != 0) return false;
  const BytesView key = sized_view(shape.key, shape.key_size);
  const BytesView value = sized_view(shape.value, shape.value_size);
  if (!is_ascii(key) || !is_ascii(value)) return false;
  constexpr std::size_t kWords = 128;  // of what is printed between the six numbers
  char* at = out_.room(kWords + 6 * TextWriter::kLongestNumber + key.size() + value.size());
  if (at == nullptr) return false;
  const std::int64_t offset = record::add_wrapping(header.base_offset.value, shape.offset_delta);
  const bool append_time = header.timestamp_type() == record::TimestampType::log_append_time;
  note_offset(offset);
  offset_digits_.follow(offset);
  timestamp_digits_.follow(append_time ? header.max_timestamp.value
                                       : record::add_wrapping(header.base_timestamp.value, shape.timestamp_delta));
  at = put_literal(at, "| offset: ");
  at = offset_digits_.put(at);
  at = append_time ? put_literal(at, " LogAppendTime: ") : put_literal(at, " CreateTime: ");
  at = timestamp_digits_.put(at);
  at = put_literal(at, " keySize: ");
  at = TextWriter::put_number(at, std::max(shape.key_size, -1));
  at = put_literal(at, " valueSize: ");
  at = TextWriter::put_number(at, std::max(shape.value_size, -1));
  at = put_literal(at, " sequence: ");
  at = TextWriter::put_number(at, header.base_sequence >= 0 ? increment_sequence(header.base_sequence, shape.offset_delta) : -1);
  at = put_literal(at, " headerKeys: []");
  if (shape.key_size >= 0) {
    at = put_literal(at, " key: ");
    at = put_bytes(at, key);
  }
  if (shape.value_size >= 0) {
    at = put_literal(at, " payload: ");
    at = put_bytes(at, value);
  }
  *at++ = '\n';
  out_.advance_to(at);
  return true;
}

}  // namespace cordwood::offline
