// offline/records/message_description.h — the fields of a record as data, compiled from our schemas by
// tools/schema_descriptions.py. For code that prints records of any kind; code that works with them has the structs that
// tools/schema_compiler.py makes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cordwood::offline {

enum class FieldType : std::uint8_t { boolean, int8, int16, int32, int64, uint16, float64, uuid, string, bytes, structure };

inline constexpr std::int16_t kNever = INT16_MAX;

struct StructDescription;

struct FieldDescription {
  std::string_view name;  // as Kafka spells it in JSON: "topicId"
  FieldType type;
  bool is_array;
  std::int16_t first;  // versions that carry it, inclusive
  std::int16_t last;
  std::int16_t null_from;  // first version that may carry null; kNever
  std::int16_t tag;        // -1: not tagged
  std::int64_t default_value;    // of numbers; everything else is empty by default, or null
  bool null_is_default;
  const StructDescription* structure;

  bool in(std::int16_t version) const { return first <= version && version <= last; }
};

struct StructDescription {
  std::span<const FieldDescription> fields;
};

struct MessageDescription {
  std::string_view name;       // "TopicRecord"
  std::string_view type_name;  // "TOPIC_RECORD"
  std::int16_t number;         // -1 for none
  std::int16_t first;          // versions, inclusive
  std::int16_t last;
  std::int16_t flexible;  // first flexible version; kNever
  const StructDescription* body;
};

extern const std::span<const MessageDescription> metadata_messages;  // with those of control records
extern const std::span<const MessageDescription> group_messages;
extern const std::span<const MessageDescription> transaction_log_messages;
extern const std::span<const MessageDescription> share_group_state_messages;
extern const std::span<const MessageDescription> remote_log_metadata_messages;
extern const std::span<const MessageDescription> consumer_protocol_messages;

}  // namespace cordwood::offline
