#include "client/batching.h"

#include <algorithm>

#include "base/check.h"
#include "base/clock.h"
#include "record/record.h"

namespace cordwood::client {
namespace {

// A record's length, attributes, timestamp delta, offset delta and count of headers at their largest.
constexpr std::int64_t kLargestRecordOverhead = 21;
// Java's allowance for an estimate that was too good.
constexpr double kEstimateMargin = 1.05;

std::int64_t field_size(const std::optional<BytesView>& field) {
  if (!field) return static_cast<std::int64_t>(varint_size(-1));
  return static_cast<std::int64_t>(varint_size(static_cast<std::int32_t>(field->size())) + field->size());
}

std::int64_t fields_size(const RecordToSend& record) {
  std::int64_t size = field_size(record.key) + field_size(record.value);
  size += static_cast<std::int64_t>(varint_size(static_cast<std::int32_t>(record.headers.size())));
  for (const record::HeaderToWrite& header : record.headers) size += field_size(as_bytes(header.key)) + field_size(header.value);
  return size;
}

}  // namespace

std::int64_t largest_size_of(const RecordToSend& record) {
  return static_cast<std::int64_t>(record::kHeaderSize) + kLargestRecordOverhead + fields_size(record);
}

void CompressionRatio::observed(double ratio) {
  constexpr double kRise = 0.05;
  constexpr double kFall = 0.005;
  estimate_ = ratio > estimate_ ? std::max(estimate_ + kRise, ratio) : std::max(estimate_ - kFall, ratio);
}

GatheredBatch::GatheredBatch(const BatchingOptions& options, std::int64_t first_record_size, MonotonicNs created)
    : builder_({.compression = options.compression}),
      compressed_(options.compression.codec != record::Codec::none),
      limit_(std::max<std::int64_t>(options.batch_size, first_record_size)),
      memory_(limit_),
      created_(created) {}

std::int64_t GatheredBatch::estimated_size(const CompressionRatio& ratio) const {
  auto plain = static_cast<std::int64_t>(builder_.plain_size());
  if (compressed_) plain = static_cast<std::int64_t>(static_cast<double>(plain) * ratio.estimate() * kEstimateMargin);
  return static_cast<std::int64_t>(record::kHeaderSize) + plain;
}

bool GatheredBatch::is_full(const CompressionRatio& ratio) const {
  return closed() || (record_count() > 0 && estimated_size(ratio) >= limit_);
}

bool GatheredBatch::has_room_for(const RecordToSend& record, const CompressionRatio& ratio) const {
  if (is_full(ratio)) return false;
  if (record_count() == 0) return true;
  // The deltas are small: two bytes each is what they take in nearly every batch.
  std::int64_t body = 1 + 2 + 2 + fields_size(record);
  std::int64_t size = static_cast<std::int64_t>(varint_size(static_cast<std::int32_t>(body))) + body;
  return estimated_size(ratio) + size <= limit_;
}

std::int64_t GatheredBatch::append(const RecordToSend& record, DeliveryHandler handler) {
  CHECK(!closed(), "the batch is closed");
  std::size_t before = builder_.plain_size();
  builder_.add(record.timestamp, record.key, record.value, record.headers);
  handlers_.push_back(std::move(handler));
  return static_cast<std::int64_t>(builder_.plain_size() - before);
}

BytesView GatheredBatch::close(CompressionRatio& ratio) {
  if (closed()) return bytes_;
  auto plain = static_cast<double>(builder_.plain_size());
  bytes_ = builder_.build();
  if (compressed_ && plain > 0) ratio.observed(static_cast<double>(bytes_.size() - record::kHeaderSize) / plain);
  return bytes_;
}

void GatheredBatch::set_identity(ProducerIdentity identity, std::int32_t base_sequence, bool transactional) {
  CHECK(closed(), "an open batch has no header yet");
  constexpr std::int16_t kTransactionalBit = 0x10;
  record::BatchHeader header = record::BatchView(bytes_).header();
  header.producer_id = identity.id;
  header.producer_epoch = identity.epoch;
  header.base_sequence = base_sequence;
  if (transactional) header.attributes |= kTransactionalBit;
  record::write_header(bytes_, header);
  identity_ = identity;
  base_sequence_ = base_sequence;
}

void GatheredBatch::complete(const Delivery& of_first) {
  Delivery delivery = of_first;
  for (const DeliveryHandler& handler : handlers_) {
    if (handler) handler(delivery);
    if (delivery.offset.value >= 0) delivery.offset = next(delivery.offset);
  }
  handlers_.clear();
}

void GatheredBatch::complete(const std::function<Delivery(std::int32_t)>& of_record) {
  for (std::size_t i = 0; i < handlers_.size(); ++i) {
    if (handlers_[i]) handlers_[i](of_record(static_cast<std::int32_t>(i)));
  }
  handlers_.clear();
}

std::vector<std::unique_ptr<GatheredBatch>> GatheredBatch::split(const BatchingOptions& options) {
  std::vector<std::unique_ptr<GatheredBatch>> halves;
  if (record_count() < 2) return halves;
  const std::size_t first_half = handlers_.size() / 2;
  std::size_t index = 0;
  std::vector<record::HeaderToWrite> headers;
  auto walked = record::for_each_record(record::BatchView(bytes_), [&](const record::RecordView& view) {
    if (index == 0 || index == first_half) halves.push_back(std::make_unique<GatheredBatch>(options, 0, created_));
    headers.clear();
    for (const record::HeaderView& header : view.headers) headers.push_back({header.key, header.value});
    halves.back()->append({view.timestamp, view.key, view.value, headers}, std::move(handlers_[index]));
    ++index;
    return record::Walk::go_on;
  });
  CHECK(walked.has_value() && index == handlers_.size(), "a batch of ours does not read back");
  CompressionRatio unused;
  std::int32_t sequence = base_sequence_;
  for (auto& half : halves) {
    half->memory_ = memory_ / 2;
    half->attempts = attempts;
    half->close(unused);
    if (sequence < 0) continue;
    half->set_identity(identity_, sequence, record::BatchView(bytes_).header().is_transactional());
    sequence = record::add_sequence(sequence, half->record_count());
  }
  handlers_.clear();
  return halves;
}

BatchQueue::Appended BatchQueue::append(const BatchingOptions& options, const CompressionRatio& ratio,
                                        const RecordToSend& record, DeliveryHandler handler, MonotonicNs now) {
  Appended appended;
  if (batches_.empty() || !batches_.back()->has_room_for(record, ratio)) {
    batches_.push_back(std::make_unique<GatheredBatch>(options, largest_size_of(record), now));
    appended.memory = batches_.back()->memory();
    appended.bytes = static_cast<std::int64_t>(record::kHeaderSize);
  }
  appended.bytes += batches_.back()->append(record, std::move(handler));
  appended.batches_full = batches_.back()->is_full(ratio);
  return appended;
}

std::unique_ptr<GatheredBatch> BatchQueue::take_front() {
  std::unique_ptr<GatheredBatch> batch = std::move(batches_.front());
  batches_.pop_front();
  return batch;
}

void BatchQueue::put_back_in_order(std::unique_ptr<GatheredBatch> batch) {
  auto place = batches_.begin();
  while (batch->base_sequence() >= 0 && place != batches_.end() && (*place)->base_sequence() >= 0 &&
         // Sequences begin anew behind 2^31-1: the distance counts.
         record::subtract_sequence(batch->base_sequence(), (*place)->base_sequence()) < INT32_MAX / 2) {
    ++place;
  }
  batches_.insert(place, std::move(batch));
}

MonotonicNs BatchQueue::due(const CompressionRatio& ratio, DurationMs linger) const {
  const GatheredBatch& first = *batches_.front();
  if (first.attempts > 0) return first.not_before;
  if (batches_.size() > 1 || first.is_full(ratio)) return first.created();
  return first.created() + to_ns(linger);
}

}  // namespace cordwood::client
