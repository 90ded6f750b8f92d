#include "record/validation.h"

#include <algorithm>

#include "record/builder.h"
#include "record/codecs.h"
#include "record/record_walk.h"

namespace cordwood::record {
namespace {

ValidatedBatch refuse(ProduceFault fault, std::optional<std::string> message = std::nullopt) {
  ValidatedBatch refused;
  refused.fault = fault;
  refused.message = std::move(message);
  return refused;
}

// What the bytes at the start of a buffer are, by the rules for buffers from the network.
struct NextBatch {
  enum class Kind : std::uint8_t { batch, none, corrupt };
  Kind kind = Kind::none;
  std::size_t size = 0;
  std::string text;  // when corrupt
};

NextBatch next_batch(BytesView bytes) {
  NextBatch next;
  if (bytes.size() < kLogOverhead) return next;
  auto length = load_be<std::int32_t>(bytes, kBatchLength);
  if (length < kSmallestLength) {
    next.kind = NextBatch::Kind::corrupt;
    next.text = fmt::format("Record size {} is less than the minimum record overhead ({})", length, kSmallestLength);
    return next;
  }
  if (bytes.size() < kMagicPrefix) return next;
  if (auto magic = load_be<std::int8_t>(bytes, kMagic); magic < 0 || magic > 2) {
    next.kind = NextBatch::Kind::corrupt;
    next.text = fmt::format("Invalid magic found in record: {}", magic);
    return next;
  }
  next.size = static_cast<std::size_t>(length) + kLogOverhead;
  if (next.size <= bytes.size()) next.kind = NextBatch::Kind::batch;
  return next;
}

// Checks one batch record by record, and collects what the topic refuses.
class RecordChecker {
 public:
  // `keeps_bytes`: the batch is stored as it came. Kafka then skips over the contents of compressed records, and its
  // text shows it.
  RecordChecker(const ValidationRules& rules, const BatchHeader& header, bool keeps_bytes)
      : rules_(rules),
        append_time_batch_(header.timestamp_type() == TimestampType::log_append_time),
        append_time_topic_(rules.timestamp_type == TimestampType::log_append_time),
        base_timestamp_(header.base_timestamp.value),
        batch_max_timestamp_(header.max_timestamp.value),
        skims_(keeps_bytes && header.codec_bits() != 0),
        earliest_(subtract_wrapping(rules.now.value, rules.timestamp_before_max.value)),
        latest_(add_wrapping(rules.now.value, rules.timestamp_after_max.value)) {}

  void check(std::int32_t index, const RecordShape& shape) {
    const std::int64_t timestamp =
        append_time_batch_ ? batch_max_timestamp_ : add_wrapping(base_timestamp_, shape.timestamp_delta);
    if (shape.offset_delta != index) offsets_in_order_ = false;
    if (rules_.compacted && !shape.has_key()) return refuse_key(index);
    if (!append_time_topic_ && timestamp != kNoTimestamp.value) {
      if (is_out_of_range(timestamp)) return refuse_timestamp(index, shape, timestamp);
    } else if (append_time_batch_) {
      return refuse_type(index, shape, timestamp);
    }
    max_timestamp_ = std::max(max_timestamp_, timestamp);
  }

  bool offsets_in_order() const { return offsets_in_order_; }
  TimestampMs max_timestamp() const { return {max_timestamp_}; }
  bool refuses() const { return !faults_.empty(); }

  ValidatedBatch verdict() && {
    ValidatedBatch refused;
    if (timestamp_refused_) {
      refused =
          refuse(ProduceFault::invalid_timestamp, "One or more records have been rejected due to invalid timestamp");
    } else {
      constexpr std::size_t kShown = 3;
      std::string shown;
      for (std::size_t i = 0; i < std::min(kShown, faults_.size()); ++i)
        shown += fmt::format("{}RecordError(batchIndex={}, message='{}')", i == 0 ? "" : ", ", faults_[i].batch_index,
                             faults_[i].message);
      refused = refuse(ProduceFault::invalid_record,
                       fmt::format("One or more records have been rejected due to {} record errors in total, and only "
                                   "showing the first three errors at most: [{}]",
                                   faults_.size(), shown));
    }
    refused.record_faults = std::move(faults_);
    return refused;
  }

 private:
  // The differences wrap as Kafka's do, so that an unlimited "before" accepts everything in the past.
  bool is_out_of_range(std::int64_t timestamp) const {
    std::int64_t age = subtract_wrapping(rules_.now.value, timestamp);
    return age > rules_.timestamp_before_max.value || subtract_wrapping(0, age) > rules_.timestamp_after_max.value;
  }
  void refuse_key(std::int32_t index) {
    faults_.push_back({index, fmt::format("Compacted topic cannot accept message without key in topic partition {}",
                                          rules_.topic_partition)});
  }
  void refuse_timestamp(std::int32_t index, const RecordShape& shape, std::int64_t timestamp) {
    timestamp_refused_ = true;
    faults_.push_back(
        {index, fmt::format("Timestamp {} of message with offset {} is out of range. The timestamp should "
                            "be within [{}, {}]",
                            timestamp, shape.offset_delta, earliest_, latest_)});
  }
  void refuse_type(std::int32_t index, const RecordShape& shape, std::int64_t timestamp) {
    timestamp_refused_ = true;
    faults_.push_back(
        {index,
         fmt::format("Invalid timestamp type in message {}(offset={}, timestamp={}, key={} bytes, value={} bytes). "
                     "Producer should not set timestamp type to LogAppendTime.",
                     skims_ ? "PartialDefaultRecord" : "DefaultRecord", shape.offset_delta, timestamp,
                     skims_ ? shape.key_size : std::max(shape.key_size, 0),
                     skims_ ? shape.value_size : std::max(shape.value_size, 0))});
  }

  const ValidationRules& rules_;
  const bool append_time_batch_;
  const bool append_time_topic_;
  const std::int64_t base_timestamp_;
  const std::int64_t batch_max_timestamp_;
  const bool skims_;
  const std::int64_t earliest_;
  const std::int64_t latest_;
  bool offsets_in_order_ = true;
  bool timestamp_refused_ = false;
  std::int64_t max_timestamp_ = kNoTimestamp.value;
  std::vector<RecordFault> faults_;
};

// The checks of the header alone; all have the same answer.
bool header_is_acceptable(const BatchHeader& header) {
  return header.last_offset_delta >= 0 && header.record_count > 0 &&
         header.record_count - 1 == header.last_offset_delta && !header.is_control() &&
         !(header.has_producer_id() && header.base_sequence < 0);
}

CompressionSettings target_of(const ValidationRules& rules, Codec source) {
  CompressionSettings target = rules.target_compression.value_or(CompressionSettings{source, std::nullopt});
  if (target.codec == Codec::gzip && !target.level) target.level = rules.gzip_level;
  return target;
}

// The same records with offsets 0..n-1 in a batch of the target codec.
ValidatedBatch rebuild(const BatchHeader& header, BytesView plain, const CompressionSettings& target,
                       const ValidationRules& rules) {
  // Producer fields that the checks let pass and that Kafka's builder then refuses, as an internal error.
  if (header.is_transactional() && header.producer_id == -1) return refuse(ProduceFault::unknown_server_error);
  if (header.producer_id != -1 && (header.producer_epoch == -1 || header.base_sequence < 0))
    return refuse(ProduceFault::unknown_server_error);
  BatchOptions options;
  options.partition_leader_epoch = header.partition_leader_epoch;
  options.compression = target;
  options.timestamp_type = rules.timestamp_type;
  if (rules.timestamp_type == TimestampType::log_append_time) options.log_append_time = rules.now;
  options.producer_id = header.producer_id;
  options.producer_epoch = header.producer_epoch;
  options.base_sequence = header.base_sequence;
  options.transactional = header.is_transactional();
  BatchBuilder builder(options);
  std::vector<HeaderToWrite> headers;
  RecordView record;
  bool timestamps_fit = true;
  WalkEnd end = walk_plain_records(header, plain, INT64_MAX, record, [&](const RecordView& each) {
    // Kafka's builder refuses what its validation let pass: a timestamp below -1.
    timestamps_fit = each.timestamp >= kNoTimestamp;
    if (!timestamps_fit) return Walk::stop;
    headers.clear();
    for (const HeaderView& view : each.headers) headers.push_back({view.key, view.value});
    builder.add(each.timestamp, each.key, each.value, headers);
    return Walk::go_on;
  });
  CHECK(end.ok(), "a batch that was just checked: {}", to_string(end.fault));
  if (!timestamps_fit) return refuse(ProduceFault::unknown_server_error);
  ValidatedBatch accepted;
  accepted.rebuilt = builder.build();
  if (static_cast<std::int64_t>(accepted.rebuilt.size()) > rules.max_message_bytes.value)
    return refuse(ProduceFault::message_too_large);
  accepted.batch = accepted.rebuilt;
  accepted.header = BatchView(accepted.batch).header();
  return accepted;
}

// Steps B and C for a batch whose envelope (length, CRC) is sound.
ValidatedBatch validate_batch(MutableBytesView bytes, const ValidationRules& rules) {
  const BatchView view{bytes};
  const BatchHeader header = view.header();
  std::optional<Codec> source = codec_from_bits(header.codec_bits());
  if (!source) return refuse(ProduceFault::unknown_server_error);
  if (!header_is_acceptable(header)) return refuse(ProduceFault::invalid_record);

  ScratchBuffer scratch;
  BytesView plain = view.payload();
  std::int64_t largest_record = INT64_MAX;
  Result<void> inflated;
  if (*source != Codec::none) {
    largest_record = rules.limits.largest_record.value;
    inflated = decompress_partly(*source, view.payload(), rules.limits.largest_batch, scratch.bytes());
    plain = scratch.bytes();
  }
  const CompressionSettings target = target_of(rules, *source);
  RecordChecker checker(rules, header, target.codec == *source);
  WalkEnd end =
      walk_shapes(plain, header.record_count, largest_record, [&](std::int32_t index, const RecordShape& shape) {
        checker.check(index, shape);
        return Walk::go_on;
      });
  if (!inflated) {
    // A malformed record in front of the damage is what Kafka meets first; running out of bytes is the damage itself.
    bool met_first = !end.ok() && end.fault != StructureFault::premature_end;
    return refuse(met_first || inflated.error().code == Errc::limit ? ProduceFault::invalid_record
                                                                    : ProduceFault::unknown_server_error);
  }
  if (!end.ok()) return refuse(ProduceFault::invalid_record);
  if (checker.refuses()) return std::move(checker).verdict();

  if (target.codec != *source || (*source != Codec::none && !checker.offsets_in_order()))
    return rebuild(header, plain, target, rules);
  ValidatedBatch accepted;
  const bool append_time = rules.timestamp_type == TimestampType::log_append_time;
  set_max_timestamp(bytes, rules.timestamp_type, append_time ? rules.now : checker.max_timestamp());
  accepted.batch = bytes;
  accepted.header = view.header();
  return accepted;
}

}  // namespace

ValidatedBatch validate_produce(MutableBytesView records, const ValidationRules& rules) {
  // As the request's check does: one batch, of magic 2.
  NextBatch first = next_batch(records);
  if (first.kind == NextBatch::Kind::corrupt) return refuse(ProduceFault::corrupt_message, std::move(first.text));
  if (first.kind == NextBatch::Kind::none) return refuse(ProduceFault::invalid_record);
  MutableBytesView bytes = records.first(first.size);
  if (load_be<std::int8_t>(bytes, kMagic) != 2) return refuse(ProduceFault::invalid_record);
  const std::uint8_t codec_bits = static_cast<std::uint8_t>(load_be<std::int16_t>(bytes, kAttributes) & 7);
  if (!rules.zstd_allowed && codec_bits == static_cast<std::uint8_t>(Codec::zstd))
    return refuse(ProduceFault::unsupported_compression);
  // Before version 7 the codec is looked at here, so that an id which is none fails before the checksum.
  if (!rules.zstd_allowed && !codec_from_bits(codec_bits)) return refuse(ProduceFault::unknown_server_error);
  NextBatch second = next_batch(records.subspan(first.size));
  if (second.kind == NextBatch::Kind::corrupt) return refuse(ProduceFault::corrupt_message);
  if (second.kind == NextBatch::Kind::batch) return refuse(ProduceFault::invalid_record);

  // As the log's analysis does, before anything is believed that the batch says.
  if (load_be<std::int64_t>(bytes, kBaseOffset) != 0) return refuse(ProduceFault::invalid_record);
  if (static_cast<std::int64_t>(bytes.size()) > rules.max_message_bytes.value)
    return refuse(ProduceFault::message_too_large);
  // The analysis reads the last offset delta before it asks whether the batch is long enough for a header.
  if (bytes.size() < kBaseTimestamp) return refuse(ProduceFault::unknown_server_error);
  if (bytes.size() < kHeaderSize || !BatchView(bytes).crc_is_valid()) return refuse(ProduceFault::corrupt_message);
  return validate_batch(bytes, rules);
}

}  // namespace cordwood::record
