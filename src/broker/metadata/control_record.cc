#include "broker/metadata/control_record.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "protocol/wire.h"

namespace cordwood::broker::metadata {
namespace {

constexpr std::int16_t kKeyVersion = 0;

struct ControlKind {
  const char* name;
  std::int16_t max_version;
  ControlRecord (*decode)(protocol::Decoder& decoder, std::int16_t version);
};

template <class Record>
ControlRecord decode_as(protocol::Decoder& decoder, std::int16_t version) {
  Record record;
  decode(record, decoder, version);
  return record;
}

template <std::size_t... Index>
const ControlKind* find_control_kind(std::int16_t type, std::index_sequence<Index...>) {
  static constexpr std::array types = {std::variant_alternative_t<Index, ControlRecord>::kControlType...};
  static constexpr std::array kinds = {ControlKind{std::variant_alternative_t<Index, ControlRecord>::kName,
                                            std::variant_alternative_t<Index, ControlRecord>::kMaxVersion,
                                            &decode_as<std::variant_alternative_t<Index, ControlRecord>>}...};
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] == type) return &kinds[i];
  }
  return nullptr;
}

}  // namespace

EncodedControlRecord encode_control_record(const ControlRecord& record) {
  return std::visit(
      [](const auto& message) {
        ByteWriter key;
        key.i16(kKeyVersion);
        key.i16(message.kControlType);
        protocol::Encoder value(protocol::Form::flexible);
        encode(message, value, message.version);
        return EncodedControlRecord{key.take(), value.take_bytes()};
      },
      record);
}

Result<ControlRecord> decode_control_record(std::optional<BytesView> key, std::optional<BytesView> value,
                                            std::string_view where) {
  if (!key || !value) return Error{Errc::corrupt, fmt::format("{}: a control record without key or value", where)};
  ByteReader key_reader(*key);
  key_reader.i16();
  std::int16_t type = key_reader.i16();
  if (!key_reader.ok()) return Error{Errc::corrupt, fmt::format("{}: a control record key of {} bytes", where, key->size())};
  const ControlKind* kind = find_control_kind(type, std::make_index_sequence<std::variant_size_v<ControlRecord>>{});
  if (kind == nullptr) return Error{Errc::unsupported, fmt::format("{}: control record type {} is not known", where, type)};

  std::int16_t version = ByteReader(*value).i16();
  if (version < 0 || version > kind->max_version) {
    return Error{Errc::unsupported,
                 fmt::format("{}: {} version {}; versions up to {} are known", where, kind->name, version, kind->max_version)};
  }
  protocol::Decoder decoder(*value, protocol::Form::flexible);
  ControlRecord record = kind->decode(decoder, version);
  if (!decoder.ok()) return Error{Errc::corrupt, fmt::format("{}: a {} that is cut short or malformed", where, kind->name)};
  return record;
}

VotersRecord to_record(const std::vector<Voter>& voters) {
  VotersRecord record;
  for (const Voter& voter : voters) {
    VotersRecord::Voter& entry = record.voters.emplace_back();
    entry.voter_id = voter.id.value;
    entry.voter_directory_id = voter.directory_id;
    for (const Endpoint& endpoint : voter.endpoints) {
      VotersRecord::Endpoint& address = entry.endpoints.emplace_back();
      address.name = endpoint.name;
      address.host = endpoint.host;
      address.port = endpoint.port;
    }
    entry.kraft_version_feature.min_supported_version = voter.min_kraft_version;
    entry.kraft_version_feature.max_supported_version = voter.max_kraft_version;
  }
  return record;
}

std::vector<Voter> from_record(const VotersRecord& record) {
  std::vector<Voter> voters;
  for (const auto& entry : record.voters) {
    Voter& voter = voters.emplace_back();
    voter.id = NodeId{entry.voter_id};
    voter.directory_id = entry.voter_directory_id;
    for (const auto& address : entry.endpoints) voter.endpoints.push_back({address.name, address.host, address.port, 0});
    voter.min_kraft_version = entry.kraft_version_feature.min_supported_version;
    voter.max_kraft_version = entry.kraft_version_feature.max_supported_version;
  }
  return voters;
}

}  // namespace cordwood::broker::metadata
