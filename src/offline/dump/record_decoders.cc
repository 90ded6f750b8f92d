#include "offline/dump/record_decoders.h"

#include <fmt/format.h>

#include <map>

#include "offline/dump/java_text.h"
#include "offline/records/message_json.h"
#include "record/control_record.h"

namespace cordwood::offline {
namespace {

Error java_error(std::string exception_and_message) { return Error{Errc::corrupt, std::move(exception_and_message)}; }

Error java_error(const ReadFault& fault) {
  return java_error(fault.message ? fmt::format("{}: {}", fault.exception, *fault.message) : fault.exception);
}

std::string message_of(const ReadFault& fault) { return fault.message.value_or("null"); }

// --- the classes of org.apache.kafka.tools.api ---

enum class PartClass { string, int32, int64, bytes };

Result<PartClass> part_class(std::string_view name) {
  if (name == "org.apache.kafka.tools.api.StringDecoder") return PartClass::string;
  if (name == "org.apache.kafka.tools.api.IntegerDecoder") return PartClass::int32;
  if (name == "org.apache.kafka.tools.api.LongDecoder") return PartClass::int64;
  if (name == "org.apache.kafka.tools.api.DefaultDecoder") return PartClass::bytes;
  return Error{Errc::corrupt, fmt::format("java.lang.RuntimeException: Failed to load decoder class\n"
                                          "Caused by: java.lang.ClassNotFoundException: {}", name)};
}

class ClassDecoder final : public RecordDecoder {
 public:
  ClassDecoder(PartClass key, PartClass value) : key_(key), value_(value) {}

  bool is_plain_text() const override { return key_ == PartClass::string && value_ == PartClass::string; }
  Result<void> decode(const RecordToShow& record, ShownRecord& shown) const override {
    shown = {};
    if (record.key) TRY(show(*record.key, key_, shown.key.emplace()));
    if (record.value) TRY(show(*record.value, value_, shown.value.emplace()));
    return {};
  }

 private:
  static Result<void> show(BytesView bytes, PartClass part, std::string& out) {
    FaultReader reader(bytes);
    switch (part) {
      case PartClass::string: append_utf8(out, bytes); break;
      case PartClass::int32: out = std::to_string(reader.i32()); break;
      case PartClass::int64: out = std::to_string(reader.i64()); break;
      // Kafka prints the identity of a Java object here, which tells nothing.
      case PartClass::bytes: out = fmt::format("[B@{:x}", bytes.size()); break;
    }
    if (reader.fault()) return java_error(*reader.fault());
    return {};
  }

  PartClass key_;
  PartClass value_;
};

// --- records of coordinators: i16 in front of key and value ---

class CoordinatorDecoder : public RecordDecoder {
 public:
  explicit CoordinatorDecoder(std::span<const MessageDescription> messages, FieldHook hook = nullptr)
      : messages_(messages), hook_(hook) {}

  Result<void> decode(const RecordToShow& record, ShownRecord& shown) const override {
    shown = {};
    if (!record.key) {
      return java_error(fmt::format("java.lang.RuntimeException: Failed to decode message at offset {} using the specified "
                                    "decoder (message had a missing key)", record.offset));
    }
    const auto skip = [&](std::string why) {
      shown = {};
      shown.key = fmt::format("Error at offset {}, skipping. {}", record.offset, why);
      return Result<void>();
    };
    FaultReader key(*record.key);
    const std::int16_t type = key.i16();
    if (key.fault()) return skip("Could not read version from key's buffer.");
    const MessageDescription* key_message = find_message(messages_, type, "Key");
    if (key_message == nullptr) {
      shown.key = fmt::format("Unknown record type {} at offset {}, skipping.", type, record.offset);
      return {};
    }
    std::string& key_text = shown.key.emplace(fmt::format("{{\"type\":\"{}\",\"data\":", type));
    append_json(key_text, *key_message, 0, key);
    key_text += '}';
    if (key.fault()) {
      return skip(fmt::format("Could not read record with version 0 from key's buffer due to: {}.", message_of(*key.fault())));
    }
    // A tombstone.
    if (!record.value) {
      shown.value = "<DELETE>";
      return {};
    }
    FaultReader value(*record.value);
    const MessageDescription& value_message = *find_message(messages_, type, "Value");
    const std::int16_t version = value.i16();
    if (value.fault()) return skip("Could not read version from value's buffer.");
    if (version < value_message.first || version > value_message.last) {
      return skip(fmt::format("Found an unknown record version {} for {} type", version, type));
    }
    std::string& text = shown.value.emplace(fmt::format("{{\"version\":\"{}\",\"data\":", version));
    // The hooks know the record by its fields.
    append_json(text, value_message, version, value, value_message.name == "GroupMetadataValue" || hook_for_all_ ? hook_ : nullptr);
    text += '}';
    if (value.fault()) {
      return skip(fmt::format("Could not read record with version {} from value's buffer due to: {}.", version,
                              message_of(*value.fault())));
    }
    return {};
  }

 protected:
  bool hook_for_all_ = false;

 private:
  std::span<const MessageDescription> messages_;
  FieldHook hook_;
};

bool show_transaction_state(const FieldDescription& field, std::string_view json, std::string& replacement) {
  if (field.name != "transactionStatus") return false;
  static const std::map<std::string_view, std::string_view> names = {
      {"0", "Empty"},          {"1", "Ongoing"},       {"2", "PrepareCommit"}, {"3", "PrepareAbort"},
      {"4", "CompleteCommit"}, {"5", "CompleteAbort"}, {"6", "Dead"},          {"7", "PrepareEpochFence"}};
  const auto known = names.find(json);
  replacement = fmt::format("\"{}\"", known == names.end() ? json : known->second);
  return true;
}

class TransactionLogDecoder final : public CoordinatorDecoder {
 public:
  TransactionLogDecoder() : CoordinatorDecoder(transaction_log_messages, show_transaction_state) { hook_for_all_ = true; }
};

// Of a group whose members are consumers: what they sent is shown instead of its bytes.
void open_consumer_bytes(std::string& members, std::string_view field_name, const MessageDescription& message) {
  const std::string mark = fmt::format("\"{}\":\"", field_name);
  std::string out;
  std::size_t at = 0;
  while (true) {
    const std::size_t found = members.find(mark, at);
    if (found == std::string::npos) break;
    const std::size_t start = found + mark.size();
    const std::size_t end = members.find('"', start);
    out.append(members, at, start - 1 - at);
    at = end + 1;
    const std::optional<ByteVector> bytes = from_base64(std::string_view(members).substr(start, end - start));
    std::string opened;
    FaultReader reader(bytes ? BytesView(*bytes) : BytesView());
    const std::int16_t version = reader.i16();
    if (version < 0) reader.fail("", {});
    if (!reader.fault()) append_json(opened, message, std::min(version, message.last), reader);
    if (reader.fault()) {
      out.append(members, start - 1, end + 2 - start);
    } else {
      out += opened;
    }
  }
  members = out + members.substr(at);
}

bool show_consumer_members(const FieldDescription& field, std::string_view json, std::string& replacement) {
  // The protocol type comes before the members. One thread prints.
  static thread_local bool is_consumer = false;
  if (field.name == "protocolType") is_consumer = json == "\"consumer\"";
  if (field.name != "members" || !is_consumer) return false;
  replacement = json;
  open_consumer_bytes(replacement, "subscription", *find_message(consumer_protocol_messages, "ConsumerProtocolSubscription"));
  open_consumer_bytes(replacement, "assignment", *find_message(consumer_protocol_messages, "ConsumerProtocolAssignment"));
  return true;
}

// --- records behind a frame: uvarint 1, id, version ---

struct Framed {
  const MessageDescription* message = nullptr;
  std::int16_t version = 0;
};

// Reads the frame; a fault is left in the reader.
Framed read_frame(FaultReader& reader, std::span<const MessageDescription> messages, std::string_view type_error) {
  const auto parse_error = [&](std::string message) {
    reader.fail("org.apache.kafka.server.common.serialization.MetadataParseException", std::move(message));
    return Framed{};
  };
  const auto number = [&](const char* name) -> std::optional<std::int16_t> {
    FaultReader probe = reader;
    const std::uint32_t value = probe.uvarint();
    if (probe.fault()) {
      parse_error(fmt::format("Error while reading {}", name));
      return {};
    }
    if (value > INT16_MAX) {
      parse_error(fmt::format("Value for {} was too large.", name));
      return {};
    }
    reader = probe;
    return static_cast<std::int16_t>(value);
  };
  const std::optional<std::int16_t> frame = number("frame version");
  if (!frame) return {};
  if (*frame == 0) {
    return parse_error("Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release "
                       "of KRaft in 2.8 to newer versions are not supported.");
  }
  if (*frame != 1) return parse_error(fmt::format("Could not deserialize metadata record due to unknown frame version {}", *frame));
  const std::optional<std::int16_t> type = number("type");
  if (!type) return {};
  const std::optional<std::int16_t> version = number("version");
  if (!version) return {};
  const MessageDescription* found = nullptr;
  for (const MessageDescription& message : messages) {
    if (message.number == *type && message.name.ends_with("Record")) {
      found = &message;
      break;
    }
  }
  if (found == nullptr) return parse_error(fmt::format("{}{}", type_error, *type));
  return {found, *version};
}

class ClusterMetadataDecoder final : public RecordDecoder {
 public:
  Result<void> decode(const RecordToShow& record, ShownRecord& shown) const override {
    shown = {};
    if (!record.value) {
      shown.value = fmt::format("Error at {}, skipping. {}", record.offset,
                                "Cannot invoke \"java.nio.ByteBuffer.remaining()\" because \"this.buf\" is null");
      return {};
    }
    FaultReader reader(*record.value);
    const Framed framed = read_frame(reader, metadata_messages, "org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id ");
    std::string text;
    if (!reader.fault()) {
      text = fmt::format("{{\"type\":\"{}\",\"version\":{},\"data\":", framed.message->type_name, framed.version);
      append_json(text, *framed.message, framed.version, reader);
      text += '}';
      if (reader.fault() || framed.version > framed.message->last) {
        shown.value = fmt::format("Error at {}, skipping. Failed to deserialize record with type {}", record.offset,
                                  framed.message->number);
        return {};
      }
      if (reader.remaining() > 0) {
        shown.value = fmt::format("Error at {}, skipping. Found {} byte(s) of garbage after {}", record.offset,
                                  reader.remaining(), framed.message->number);
        return {};
      }
      shown.value = std::move(text);
      return {};
    }
    shown.value = fmt::format("Error at {}, skipping. {}", record.offset, message_of(*reader.fault()));
    return {};
  }
};

// --- remote log metadata, in the words of Java's toString() ---

std::string_view segment_state(std::int8_t state) {
  switch (state) {
    case 0: return "COPY_SEGMENT_STARTED";
    case 1: return "COPY_SEGMENT_FINISHED";
    case 2: return "DELETE_SEGMENT_STARTED";
    case 3: return "DELETE_SEGMENT_FINISHED";
    default: return "null";
  }
}

std::string_view partition_state(std::int8_t state) {
  switch (state) {
    case 0: return "DELETE_PARTITION_MARKED";
    case 1: return "DELETE_PARTITION_STARTED";
    case 2: return "DELETE_PARTITION_FINISHED";
    default: return "null";
  }
}

class RemoteReader {
 public:
  explicit RemoteReader(FaultReader& reader) : reader_(reader) {}

  std::string uuid() {
    Uuid id;
    id.high = reader_.u64();
    id.low = reader_.u64();
    return id.to_string();
  }
  std::string text() {
    std::string out;
    append_utf8(out, reader_.bytes(static_cast<std::int64_t>(reader_.uvarint()) - 1));
    return out;
  }
  std::string topic_partition() {
    const std::string name = text();
    const std::string id = uuid();
    const std::int32_t partition = reader_.i32();
    end_structure();
    return fmt::format("{}:{}-{}", id, name, partition);
  }
  std::string segment_id() {
    const std::string partition = topic_partition();
    const std::string id = uuid();
    end_structure();
    return fmt::format("RemoteLogSegmentId{{topicIdPartition={}, id={}}}", partition, id);
  }
  std::string leader_epochs() {
    std::map<std::int32_t, std::int64_t> epochs;
    const std::int64_t count = static_cast<std::int64_t>(reader_.uvarint()) - 1;
    for (std::int64_t i = 0; i < count && !reader_.fault(); ++i) {
      const std::int32_t epoch = reader_.i32();
      epochs[epoch] = reader_.i64();
      end_structure();
    }
    std::string out = "{";
    for (const auto& [epoch, offset] : epochs) out += fmt::format("{}{}={}", out.size() > 1 ? ", " : "", epoch, offset);
    return out + "}";
  }
  std::string custom_metadata() {
    const std::int64_t size = static_cast<std::int64_t>(reader_.uvarint()) - 1;
    if (size < 0) return "Optional.empty";
    reader_.bytes(size);
    return fmt::format("Optional[CustomMetadata{{{} bytes}}]", size);
  }
  // The tagged section. Answers the bool of tag 0.
  bool end_structure() {
    bool flag = false;
    const std::uint32_t count = reader_.uvarint();
    for (std::uint32_t i = 0; i < count && !reader_.fault(); ++i) {
      const std::uint32_t tag = reader_.uvarint();
      const BytesView bytes = reader_.bytes(reader_.uvarint());
      if (tag == 0 && bytes.size() == 1) flag = bytes[0] != std::byte{0};
    }
    return flag;
  }

 private:
  FaultReader& reader_;
};

std::string remote_log_text(std::int16_t type, FaultReader& reader) {
  RemoteReader in(reader);
  if (type == 2) {
    const std::string partition = in.topic_partition();
    const std::int32_t broker = reader.i32();
    const std::int64_t time = reader.i64();
    const std::string_view state = partition_state(reader.i8());
    in.end_structure();
    return fmt::format("RemotePartitionDeleteMetadata{{topicPartition={}, state={}, eventTimestampMs={}, brokerId={}}}", partition,
                       state, time, broker);
  }
  if (type == 1) {
    const std::string id = in.segment_id();
    const std::int32_t broker = reader.i32();
    const std::int64_t time = reader.i64();
    const std::string custom = in.custom_metadata();
    const std::string_view state = segment_state(reader.i8());
    in.end_structure();
    return fmt::format("RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={}, customMetadata={}, state={}, eventTimestampMs={}, "
                       "brokerId={}}}", id, custom, state, time, broker);
  }
  const std::string id = type == 0 ? in.segment_id() : in.uuid();
  const std::int64_t start = reader.i64();
  const std::int64_t end = reader.i64();
  const std::int32_t broker = reader.i32();
  const std::int64_t max_timestamp = reader.i64();
  const std::int64_t time = reader.i64();
  const std::string epochs = in.leader_epochs();
  const std::int32_t size = reader.i32();
  const std::string custom = in.custom_metadata();
  const std::string_view state = segment_state(reader.i8());
  const bool txn_index_is_empty = in.end_structure();
  if (type == 0) {
    return fmt::format("RemoteLogSegmentMetadata{{remoteLogSegmentId={}, startOffset={}, endOffset={}, brokerId={}, "
                       "maxTimestampMs={}, eventTimestampMs={}, segmentLeaderEpochs={}, segmentSizeInBytes={}, customMetadata={}, "
                       "state={}, txnIdxEmpty={}}}", id, start, end, broker, max_timestamp, time, epochs, size, custom, state,
                       txn_index_is_empty);
  }
  return fmt::format("RemoteLogSegmentMetadataSnapshot{{segmentId={}, startOffset={}, endOffset={}, maxTimestampMs={}, "
                     "segmentLeaderEpochs={}, segmentSizeInBytes={}, customMetadata={}, state={}, txnIdxEmpty={}}}", id, start, end,
                     max_timestamp, epochs, size, custom, state, txn_index_is_empty);
}

class RemoteLogMetadataDecoder final : public RecordDecoder {
 public:
  Result<void> decode(const RecordToShow& record, ShownRecord& shown) const override {
    shown = {};
    std::string& text = shown.value.emplace();
    if (!record.value) {
      text = fmt::format("Error at offset {}, skipping. Cannot invoke \"java.nio.ByteBuffer.remaining()\" because the return value "
                         "of \"org.apache.kafka.common.record.internal.Record.value()\" is null", record.offset);
      return {};
    }
    FaultReader reader(*record.value);
    const Framed framed = read_frame(reader, remote_log_metadata_messages, "java.lang.IllegalArgumentException: No metadata record with type ");
    if (!reader.fault()) {
      // The faults of the walk over all fields are those of Kafka's reader.
      FaultReader probe = reader;
      std::string unused;
      append_json(unused, *framed.message, framed.version, probe);
      if (probe.fault() || framed.version > framed.message->last) {
        text = fmt::format("Error at offset {}, skipping. Failed to deserialize record with type {}", record.offset,
                           framed.message->number);
      } else if (probe.remaining() > 0) {
        text = fmt::format("Error at offset {}, skipping. Found {} byte(s) of garbage after {}", record.offset,
                           probe.remaining(), framed.message->number);
      } else {
        text = remote_log_text(framed.message->number, reader);
      }
      return {};
    }
    text = fmt::format("Error at offset {}, skipping. {}", record.offset, message_of(*reader.fault()));
    return {};
  }
};

}  // namespace

Result<std::unique_ptr<RecordDecoder>> class_decoder(std::string_view key_class, std::string_view value_class) {
  // Kafka loads the value's class first.
  const PartClass value = TRY(part_class(value_class));
  const PartClass key = TRY(part_class(key_class));
  return std::unique_ptr<RecordDecoder>(std::make_unique<ClassDecoder>(key, value));
}

std::unique_ptr<RecordDecoder> offsets_decoder() {
  return std::make_unique<CoordinatorDecoder>(group_messages, show_consumer_members);
}
std::unique_ptr<RecordDecoder> transaction_log_decoder() { return std::make_unique<TransactionLogDecoder>(); }
std::unique_ptr<RecordDecoder> share_group_state_decoder() {
  return std::make_unique<CoordinatorDecoder>(share_group_state_messages);
}
std::unique_ptr<RecordDecoder> cluster_metadata_decoder() { return std::make_unique<ClusterMetadataDecoder>(); }
std::unique_ptr<RecordDecoder> remote_log_metadata_decoder() { return std::make_unique<RemoteLogMetadataDecoder>(); }

Result<std::string> control_record_text(const RecordToShow& record) {
  if (!record.key) {
    return java_error("java.lang.NullPointerException: Cannot invoke \"java.nio.ByteBuffer.remaining()\" because \"key\" is null");
  }
  if (record.key->size() < 4) {
    return java_error(fmt::format("org.apache.kafka.common.InvalidRecordException: Invalid value size found for control record key. "
                                  "Must have at least 4 bytes, but found only {}", record.key->size()));
  }
  FaultReader key(*record.key);
  const std::int16_t version = key.i16();
  if (version < 0) {
    return java_error(fmt::format("org.apache.kafka.common.InvalidRecordException: Invalid version found for control record: {}. "
                                  "May indicate data corruption", version));
  }
  const std::int16_t type = key.i16();
  if (type < 0 || type > 6) return fmt::format(" controlType: UNKNOWN({})", type);
  if (!record.value) {
    return java_error(type < 2 ? "java.lang.NullPointerException: Cannot invoke \"java.nio.ByteBuffer.getShort()\" because \"value\" is null"
                               : "java.lang.NullPointerException: Cannot invoke \"java.nio.ByteBuffer.slice()\" because \"data\" is null");
  }
  FaultReader value(*record.value);
  if (type < 2) {
    const std::int16_t marker_version = value.i16();
    if (!value.fault() && marker_version < 0) {
      return java_error(fmt::format("org.apache.kafka.common.InvalidRecordException: Invalid version found for end transaction "
                                    "marker: {}. May indicate data corruption", marker_version));
    }
    const std::int32_t epoch = value.i32();
    if (value.fault()) return java_error(*value.fault());
    return fmt::format(" endTxnMarker: {} coordinatorEpoch: {}", type == 0 ? "ABORT" : "COMMIT", epoch);
  }
  static constexpr std::string_view kNames[] = {"LeaderChangeMessage", "SnapshotHeaderRecord", "SnapshotFooterRecord",
                                                "KRaftVersionRecord", "VotersRecord"};
  static constexpr std::string_view kShown[] = {"LeaderChange:", "SnapshotHeader", "SnapshotFooter", "KRaftVersion", "KRaftVoters"};
  std::string text = fmt::format(" {} ", kShown[type - 2]);
  append_json(text, *find_message(metadata_messages, kNames[type - 2]), 0, value);
  if (value.fault()) return java_error(*value.fault());
  return text;
}

}  // namespace cordwood::offline
