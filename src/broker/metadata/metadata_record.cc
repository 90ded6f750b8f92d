#include "broker/metadata/metadata_record.h"

#include <fmt/format.h>

#include <array>
#include <type_traits>
#include <utility>

#include "broker/metadata/features.h"
#include "protocol/wire.h"

namespace cordwood::broker::metadata {
namespace {

constexpr std::uint32_t kFrameVersion = 1;

// How to read each kind of record, by its id.
struct Kind {
  const char* name;
  std::int16_t max_version;
  RecordBody (*decode)(protocol::Decoder& decoder, std::int16_t version);
};

template <class Record>
RecordBody decode_as(protocol::Decoder& decoder, std::int16_t version) {
  Record record;
  decode(record, decoder, version);
  return record;
}

template <std::size_t... Index>
const Kind* find_kind(std::uint32_t id, std::index_sequence<Index...>) {
  static constexpr std::array ids = {std::variant_alternative_t<Index, RecordBody>::kRecordId...};
  static constexpr std::array kinds = {Kind{std::variant_alternative_t<Index, RecordBody>::kName,
                                            std::variant_alternative_t<Index, RecordBody>::kMaxVersion,
                                            &decode_as<std::variant_alternative_t<Index, RecordBody>>}...};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (static_cast<std::uint32_t>(ids[i]) == id) return &kinds[i];
  }
  return nullptr;
}

const Kind* find_kind(std::uint32_t id) {
  return find_kind(id, std::make_index_sequence<std::variant_size_v<RecordBody>>{});
}

std::int16_t version_for(std::int16_t metadata_version, const RegisterBrokerRecord&) {
  if (metadata_version >= kCordonedDirectoriesFrom) return 4;
  if (metadata_version >= kDirectoryIdsFrom) return 3;
  return metadata_version >= 8 ? 2 : 1;
}
std::int16_t version_for(std::int16_t, const BrokerRegistrationChangeRecord& change) {
  if (change.cordoned_log_dirs) return 3;
  if (!change.log_dirs.empty()) return 2;
  return change.in_controlled_shutdown != 0 ? 1 : 0;
}
std::int16_t partition_version(std::int16_t metadata_version) {
  if (metadata_version >= kElrRecordsFrom) return 2;
  return metadata_version >= kDirectoryIdsFrom ? 1 : 0;
}
std::int16_t version_for(std::int16_t metadata_version, const PartitionRecord&) { return partition_version(metadata_version); }
std::int16_t version_for(std::int16_t metadata_version, const PartitionChangeRecord&) {
  return partition_version(metadata_version);
}
template <class Record>
std::int16_t version_for(std::int16_t, const Record&) {
  static_assert(Record::kMaxVersion == 0);
  return 0;
}

}  // namespace

const char* name_of(const MetadataRecord& record) {
  return std::visit([](const auto& body) { return std::remove_cvref_t<decltype(body)>::kName; }, record.body);
}

MetadataRecord record_for(std::int16_t metadata_version, RecordBody body) {
  std::int16_t version = std::visit([&](const auto& record) { return version_for(metadata_version, record); }, body);
  return MetadataRecord{std::move(body), version};
}

ByteVector encode_record(const MetadataRecord& record) {
  protocol::Encoder encoder(protocol::Form::flexible);
  encoder.uvarint(kFrameVersion);
  std::visit(
      [&](const auto& body) {
        encoder.uvarint(static_cast<std::uint64_t>(std::remove_cvref_t<decltype(body)>::kRecordId));
        encoder.uvarint(static_cast<std::uint64_t>(record.version));
        encode(body, encoder, record.version);
      },
      record.body);
  return encoder.take_bytes();
}

Result<MetadataRecord> decode_record(BytesView value, std::string_view where) {
  protocol::Decoder decoder(value, protocol::Form::flexible);
  std::uint32_t frame = decoder.uvarint();
  std::uint32_t id = decoder.uvarint();
  std::uint32_t version = decoder.uvarint();
  if (!decoder.ok()) return Error{Errc::corrupt, fmt::format("{}: a metadata record of {} bytes", where, value.size())};
  if (frame != kFrameVersion) {
    return Error{Errc::unsupported, fmt::format("{}: metadata frame version {}; only {} is known", where, frame, kFrameVersion)};
  }
  const Kind* kind = find_kind(id);
  if (kind == nullptr) return Error{Errc::unsupported, fmt::format("{}: metadata record id {} is not known", where, id)};
  if (version > static_cast<std::uint32_t>(kind->max_version)) {
    return Error{Errc::unsupported, fmt::format("{}: {} version {}; versions up to {} are known", where, kind->name, version,
                                                kind->max_version)};
  }
  auto record_version = static_cast<std::int16_t>(version);
  MetadataRecord record{kind->decode(decoder, record_version), record_version};
  if (!decoder.ok()) return Error{Errc::corrupt, fmt::format("{}: a {} that is cut short or malformed", where, kind->name)};
  if (decoder.remaining() > 0) {
    return Error{Errc::corrupt, fmt::format("{}: {} bytes behind a {}", where, decoder.remaining(), kind->name)};
  }
  return record;
}

}  // namespace cordwood::broker::metadata
