#include "client/records.h"

#include <utility>

#include "protocol/messages/fetch.h"
#include "protocol/messages/produce.h"
#include "record/batch.h"
#include "record/record.h"

namespace cordwood::client {
namespace {

// The last versions that name topics by name.
constexpr std::int16_t kProduceVersion = 12;
constexpr std::int16_t kFetchVersion = 12;
constexpr std::int32_t kProduceTimeoutMs = 30'000;

std::optional<ByteVector> owned(std::optional<BytesView> view) {
  if (!view) return std::nullopt;
  return to_vector(*view);
}

Error unexpected(const char* message, const TopicPartition& partition) {
  return Error{Errc::corrupt, fmt::format("{} does not speak of {} alone", message, partition.to_string())};
}

}  // namespace

Result<Produced> produce(Connection& connection, const TopicPartition& to, BytesView batch, Acks acks) {
  protocol::ProduceRequest request;
  request.acks = static_cast<std::int16_t>(acks);
  request.timeout_ms = kProduceTimeoutMs;
  auto& topic = request.topic_data.emplace_back();
  topic.name = to.topic;
  auto& partition = topic.partition_data.emplace_back();
  partition.index = to.partition.value;
  partition.records = protocol::Records{batch, {}};

  auto answer = TRY(connection.call<protocol::ProduceResponse>(request, kProduceVersion));
  if (answer->responses.size() != 1 || answer->responses[0].partition_responses.size() != 1) {
    return unexpected("ProduceResponse", to);
  }
  const auto& of_partition = answer->responses[0].partition_responses[0];
  return Produced{of_partition.error_code, of_partition.error_message, {of_partition.base_offset}};
}

Result<Fetched> fetch(Connection& connection, const TopicPartition& partition, Offset from,
                      const FetchOptions& options) {
  protocol::FetchRequest request;
  request.max_wait_ms = static_cast<std::int32_t>(options.max_wait.value);
  request.min_bytes = options.min_bytes;
  request.max_bytes = options.max_bytes;
  auto& topic = request.topics.emplace_back();
  topic.topic = partition.topic;
  auto& wanted = topic.partitions.emplace_back();
  wanted.partition = partition.partition.value;
  wanted.fetch_offset = from.value;
  wanted.partition_max_bytes = options.max_bytes;

  auto answer = TRY(connection.call<protocol::FetchResponse>(request, kFetchVersion));
  Fetched fetched;
  fetched.error = answer->error_code;
  if (fetched.error != protocol::ErrorCode::NONE) return fetched;
  if (answer->responses.size() != 1 || answer->responses[0].partitions.size() != 1) {
    return unexpected("FetchResponse", partition);
  }
  const auto& got = answer->responses[0].partitions[0];
  fetched.error = got.error_code;
  fetched.high_watermark = {got.high_watermark};
  fetched.log_start_offset = {got.log_start_offset};
  if (got.records) fetched.records = TRY(records_in(got.records->bytes, from));
  return fetched;
}

Result<std::vector<Record>> records_in(BytesView bytes, Offset from) {
  std::vector<Record> records;
  while (bytes.size() >= record::kHeaderSize) {
    record::BatchHeader header = TRY(record::read_header(bytes));
    if (header.magic != 2) return Error{Errc::unsupported, fmt::format("a batch of magic {}", header.magic)};
    std::int64_t size = header.total_size().value;
    if (size < static_cast<std::int64_t>(record::kHeaderSize)) {
      return Error{Errc::corrupt, fmt::format("the batch at offset {} claims {} bytes", header.base_offset, size)};
    }
    if (size > static_cast<std::int64_t>(bytes.size())) break;
    record::BatchView batch(bytes.first(static_cast<std::size_t>(size)));
    bytes = bytes.subspan(static_cast<std::size_t>(size));
    if (!batch.crc_is_valid()) {
      return Error{Errc::corrupt, fmt::format("the batch at offset {} has a wrong checksum", header.base_offset)};
    }
    if (header.is_control()) continue;
    TRY(record::for_each_record(batch, [&](const record::RecordView& record) {
      if (record.offset >= from) {
        records.push_back({record.offset, record.timestamp, owned(record.key), owned(record.value)});
      }
      return record::Walk::go_on;
    }));
  }
  return records;
}

}  // namespace cordwood::client
