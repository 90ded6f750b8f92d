#include "broker/groups/record_codec.h"

#include <fmt/format.h>

#include "protocol/wire.h"

namespace cordwood::broker::groups {
namespace {

constexpr std::int16_t kOffsetKey = 1;       // 0 is read as well; writers use 1
constexpr std::int16_t kGroupKey = 2;
constexpr std::int16_t kGroupValueVersion = 3;

template <class Message>
ByteVector encode_with_prefix(const Message& message, std::int16_t prefix, std::int16_t version) {
  protocol::Encoder encoder(Message::form(version));
  encoder.i16(prefix);
  encode(message, encoder, version);
  return encoder.take_bytes();
}

template <class Message>
Result<Message> decode_value(BytesView bytes, const char* what) {
  ByteReader prefix(bytes);
  std::int16_t version = prefix.i16();
  if (!prefix.ok()) return Error{Errc::corrupt, fmt::format("{} of {} bytes has no version", what, bytes.size())};
  if (version < Message::kMinVersion || version > Message::kMaxVersion) {
    return Error{Errc::unsupported, fmt::format("{} of version {}", what, version)};
  }
  protocol::Decoder decoder(bytes.subspan(2), Message::form(version));
  Message message;
  decode(message, decoder, version);
  if (!decoder.ok()) return Error{Errc::corrupt, fmt::format("{} of version {} is cut short", what, version)};
  return message;
}

}  // namespace

EncodedRecord encode(const GroupRecord& record, std::int16_t offset_value_version) {
  EncodedRecord out;
  if (const auto* offset = std::get_if<OffsetRecord>(&record)) {
    OffsetCommitKey key;
    key.group = offset->group;
    key.topic = offset->partition.topic;
    key.partition = offset->partition.partition.value;
    out.key = encode_with_prefix(key, kOffsetKey, 0);
    if (offset->value) {
      std::int16_t version = offset->value->expire_timestamp >= 0 ? std::int16_t{1} : offset_value_version;
      out.value = encode_with_prefix(*offset->value, version, version);
    }
  } else if (const auto* group = std::get_if<GroupRecordOf>(&record)) {
    GroupMetadataKey key;
    key.group = group->group;
    out.key = encode_with_prefix(key, kGroupKey, 0);
    if (group->value) out.value = encode_with_prefix(*group->value, kGroupValueVersion, kGroupValueVersion);
  }
  return out;
}

Result<GroupRecord> decode(BytesView key, std::optional<BytesView> value) {
  ByteReader prefix(key);
  std::int16_t type = prefix.i16();
  if (!prefix.ok()) return Error{Errc::corrupt, fmt::format("a key of {} bytes has no type", key.size())};
  protocol::Decoder decoder(key.subspan(2), protocol::Form::classic);
  if (type == 0 || type == kOffsetKey) {
    OffsetCommitKey k;
    decode(k, decoder, 0);
    if (!decoder.ok()) return Error{Errc::corrupt, "the key of an offset commit is cut short"};
    OffsetRecord record{k.group, {k.topic, PartitionId{k.partition}}, std::nullopt};
    if (value) record.value = TRY(decode_value<OffsetCommitValue>(*value, "an offset commit"));
    return GroupRecord(std::move(record));
  }
  if (type == kGroupKey) {
    GroupMetadataKey k;
    decode(k, decoder, 0);
    if (!decoder.ok()) return Error{Errc::corrupt, "the key of a group's metadata is cut short"};
    GroupRecordOf record{k.group, std::nullopt};
    if (value) record.value = TRY(decode_value<GroupMetadataValue>(*value, "a group's metadata"));
    return GroupRecord(std::move(record));
  }
  return GroupRecord(ForeignRecord{type});
}

}  // namespace cordwood::broker::groups
