#include "cli/message_formatter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "broker/groups/group_records.h"
#include "cli/java_text.h"
#include "protocol/wire.h"

namespace cordwood::cli {
namespace {

namespace groups = broker::groups;

constexpr std::string_view kSerializationException = "org.apache.kafka.common.errors.SerializationException";

std::optional<FormatMistake> wrong_size(std::string_view who, int size) {
  return FormatMistake{std::string(kSerializationException), fmt::format("Size of data received by {} is not {}", who, size)};
}

template <class Number>
std::optional<FormatMistake> append_integer(std::string_view who, BytesView bytes, std::string& to) {
  if (bytes.size() != sizeof(Number)) return wrong_size(who, sizeof(Number));
  to += std::to_string(load_be<Number>(bytes, 0));
  return {};
}

std::optional<FormatMistake> append_string(BytesView bytes, std::string& to) {
  to += is_utf8(as_text(bytes)) ? std::string(as_text(bytes)) : repaired_utf8(as_text(bytes));
  return {};
}

std::optional<FormatMistake> append_float(BytesView bytes, std::string& to) {
  if (bytes.size() != 4) return wrong_size("Deserializer", 4);
  to += java_float(std::bit_cast<float>(load_be<std::uint32_t>(bytes, 0)));
  return {};
}

std::optional<FormatMistake> append_double(BytesView bytes, std::string& to) {
  if (bytes.size() != 8) return wrong_size("Deserializer", 8);
  to += java_double(std::bit_cast<double>(load_be<std::uint64_t>(bytes, 0)));
  return {};
}

std::optional<FormatMistake> append_boolean(BytesView bytes, std::string& to) {
  if (bytes.size() != 1) return wrong_size("BooleanDeserializer", 1);
  auto value = static_cast<std::int8_t>(bytes[0]);
  if (value != 0 && value != 1) {
    return FormatMistake{std::string(kSerializationException), fmt::format("Unexpected byte received by BooleanDeserializer: {}", value)};
  }
  to += value == 1 ? "true" : "false";
  return {};
}

// Printable ASCII as it is, everything else as \xNN.
std::optional<FormatMistake> append_bytes(BytesView bytes, std::string& to) {
  for (std::byte byte : bytes) {
    char c = static_cast<char>(byte);
    if (c == '\\' || c < ' ' || c > '~') {
      to += fmt::format("\\x{:02X}", static_cast<int>(byte));
    } else {
      to += c;
    }
  }
  return {};
}

std::optional<FormatMistake> append_buffer(BytesView bytes, std::string& to) {
  to += fmt::format("java.nio.HeapByteBuffer[pos=0 lim={} cap={}]", bytes.size(), bytes.size());
  return {};
}

bool is_set(const Properties& properties, std::string_view key, bool otherwise) {
  std::string text = property(properties, key, otherwise ? "true" : "false");
  auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return false;
  text = text.substr(first, text.find_last_not_of(" \t") - first + 1);
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text == "true";
}

class DefaultFormatter final : public MessageFormatter {
 public:
  static Result<std::unique_ptr<MessageFormatter>> make(const Properties& properties) {
    auto formatter = std::make_unique<DefaultFormatter>();
    formatter->timestamp_ = is_set(properties, "print.timestamp", false);
    formatter->key_ = is_set(properties, "print.key", false);
    formatter->offset_ = is_set(properties, "print.offset", false);
    formatter->partition_ = is_set(properties, "print.partition", false);
    formatter->delivery_ = is_set(properties, "print.delivery", false);
    formatter->epoch_ = is_set(properties, "print.epoch", false);
    formatter->headers_ = is_set(properties, "print.headers", false);
    formatter->value_ = is_set(properties, "print.value", true);
    formatter->key_separator_ = property(properties, "key.separator", formatter->key_separator_);
    formatter->line_separator_ = property(properties, "line.separator", formatter->line_separator_);
    formatter->headers_separator_ = property(properties, "headers.separator", formatter->headers_separator_);
    formatter->null_literal_ = property(properties, "null.literal", formatter->null_literal_);
    formatter->columns_ = formatter->timestamp_ + formatter->key_ + formatter->offset_ + formatter->partition_ + formatter->delivery_ +
                          formatter->epoch_ + formatter->headers_ + formatter->value_;
    TRY(read_deserializer(properties, "key.deserializer", formatter->key_deserializer_));
    TRY(read_deserializer(properties, "value.deserializer", formatter->value_deserializer_));
    TRY(read_deserializer(properties, "headers.deserializer", formatter->headers_deserializer_));
    return std::unique_ptr<MessageFormatter>(std::move(formatter));
  }

  std::optional<FormatMistake> write(const client::ConsumedRecord& consumed, Output& out) override {
    const record::RecordView& record = consumed.record;
    int left = columns_;
    auto separate = [&] { out.write(--left > 0 ? key_separator_ : line_separator_); };
    if (timestamp_) {
      if (record.timestamp == kNoTimestamp) {
        out.write("NO_TIMESTAMP");
      } else {
        bool appended = consumed.timestamp_type == record::TimestampType::log_append_time;
        out.print("{}:{}", appended ? "LogAppendTime" : "CreateTime", record.timestamp);
      }
      separate();
    }
    if (partition_) {
      out.print("Partition:{}", consumed.partition);
      separate();
    }
    if (offset_) {
      out.print("Offset:{}", record.offset);
      separate();
    }
    if (delivery_) {
      out.write("Delivery:NOT_PRESENT");
      separate();
    }
    if (epoch_) {
      out.write("Epoch:NOT_PRESENT");
      separate();
    }
    if (headers_) {
      for (std::size_t i = 0; i < record.headers.size(); ++i) {
        out.print("{}{}:", i == 0 ? "" : std::string_view(headers_separator_), record.headers[i].key);
        if (auto mistake = write_field(headers_deserializer_, record.headers[i].value, out)) return mistake;
      }
      if (record.headers.empty()) out.write("NO_HEADERS");
      separate();
    }
    if (key_) {
      if (auto mistake = write_field(key_deserializer_, record.key, out)) return mistake;
      separate();
    }
    if (value_) {
      if (auto mistake = write_field(value_deserializer_, record.value, out)) return mistake;
      out.write(line_separator_);
    }
    return {};
  }

 private:
  static Result<void> read_deserializer(const Properties& properties, std::string_view key, std::optional<Deserializer>& into) {
    std::string name = property(properties, key);
    if (name.empty()) return {};
    into = Deserializer::of(name);
    if (!into) return Error{Errc::invalid, fmt::format("Unable to instantiate a deserializer from {}", name)};
    return {};
  }

  // A null is printed by its literal, and what Java does with it comes first: the literal itself is deserialized.
  std::optional<FormatMistake> write_field(const std::optional<Deserializer>& deserializer, const std::optional<BytesView>& field,
                                           Output& out) {
    BytesView bytes = field.value_or(as_bytes(null_literal_));
    if (!deserializer) {
      out.write(bytes);
      return {};
    }
    text_.clear();
    if (auto mistake = deserializer->append(bytes, text_)) return mistake;
    out.write(text_);
    return {};
  }

  bool timestamp_ = false;
  bool key_ = false;
  bool offset_ = false;
  bool partition_ = false;
  bool delivery_ = false;
  bool epoch_ = false;
  bool headers_ = false;
  bool value_ = true;
  int columns_ = 1;
  std::string key_separator_ = "\t";
  std::string line_separator_ = "\n";
  std::string headers_separator_ = ",";
  std::string null_literal_ = "null";
  std::optional<Deserializer> key_deserializer_;
  std::optional<Deserializer> value_deserializer_;
  std::optional<Deserializer> headers_deserializer_;
  std::string text_;
};

class SilentFormatter final : public MessageFormatter {
 public:
  std::optional<FormatMistake> write(const client::ConsumedRecord&, Output&) override { return {}; }
};

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", json_escaped(text)); }
std::string quoted_or_null(const std::optional<std::string>& text) { return text ? quoted(*text) : "null"; }

// The JSON of records of a coordinator: {"key":{"type":1,"data":{...}},"value":{"version":4,"data":{...}}}, one behind the other.
class CoordinatorFormatter : public MessageFormatter {
 public:
  std::optional<FormatMistake> write(const client::ConsumedRecord& consumed, Output& out) final {
    const record::RecordView& record = consumed.record;
    if (!record.key || record.key->size() < 2) return {};
    ByteReader prefix(*record.key);
    std::int16_t type = prefix.i16();
    auto could_not = [&](std::string_view why) {
      return FormatMistake{"java.lang.RuntimeException", fmt::format("Could not read record at offset {} due to: {}", record.offset, why)};
    };
    protocol::Decoder key(prefix.rest(), protocol::Form::classic);
    std::optional<std::string> key_json = key_of(type, key);
    if (!key_json) return {};
    if (!key.ok()) return could_not("the key does not parse");
    std::string value_json = "null";
    if (record.value) {
      ByteReader value_prefix(*record.value);
      std::int16_t version = value_prefix.i16();
      if (!value_prefix.ok()) return could_not("the value does not parse");
      auto data = value_of(type, version, value_prefix.rest());
      if (!data) return could_not("the value does not parse");
      value_json = fmt::format("{{\"version\":{},\"data\":{}}}", version, *data);
    }
    out.print("{{\"key\":{{\"type\":{},\"data\":{}}},\"value\":{}}}", type, *key_json, value_json);
    return {};
  }

 protected:
  static constexpr std::string_view kUnknown = "\"unknown\"";
  // Nothing for a type that this formatter does not print.
  virtual std::optional<std::string> key_of(std::int16_t type, protocol::Decoder& key) const = 0;
  // Nothing when the bytes do not parse; kUnknown for a version that nobody here knows.
  virtual std::optional<std::string> value_of(std::int16_t type, std::int16_t version, BytesView bytes) const = 0;

  template <class Value>
  static std::optional<Value> read(std::int16_t version, BytesView bytes) {
    protocol::Decoder decoder(bytes, Value::form(version));
    Value value;
    decode(value, decoder, version);
    if (!decoder.ok()) return {};
    return value;
  }
};

class OffsetsFormatter final : public CoordinatorFormatter {
  std::optional<std::string> key_of(std::int16_t type, protocol::Decoder& decoder) const override {
    if (type != 0 && type != 1) return {};
    groups::OffsetCommitKey key;
    decode(key, decoder, 0);
    return fmt::format("{{\"group\":{},\"topic\":{},\"partition\":{}}}", quoted(key.group), quoted(key.topic), key.partition);
  }
  std::optional<std::string> value_of(std::int16_t, std::int16_t version, BytesView bytes) const override {
    using Value = groups::OffsetCommitValue;
    if (version < Value::kMinVersion || version > Value::kMaxVersion) return std::string(kUnknown);
    auto value = read<Value>(version, bytes);
    if (!value) return {};
    std::string json = fmt::format("{{\"offset\":{}", value->offset);
    if (version >= 3) json += fmt::format(",\"leaderEpoch\":{}", value->leader_epoch);
    json += fmt::format(",\"metadata\":{},\"commitTimestamp\":{}", quoted(value->metadata), value->commit_timestamp);
    if (version == 1) json += fmt::format(",\"expireTimestamp\":{}", value->expire_timestamp);
    if (version >= 4 && value->topic_id != Uuid{}) json += fmt::format(",\"topicId\":\"{}\"", value->topic_id.to_string());
    return json + "}";
  }
};

class GroupMetadataFormatter final : public CoordinatorFormatter {
  std::optional<std::string> key_of(std::int16_t type, protocol::Decoder& decoder) const override {
    if (type != groups::GroupMetadataKey::kRecordId) return {};
    groups::GroupMetadataKey key;
    decode(key, decoder, 0);
    return fmt::format("{{\"group\":{}}}", quoted(key.group));
  }
  std::optional<std::string> value_of(std::int16_t, std::int16_t version, BytesView bytes) const override {
    using Value = groups::GroupMetadataValue;
    if (version < Value::kMinVersion || version > Value::kMaxVersion) return std::string(kUnknown);
    auto value = read<Value>(version, bytes);
    if (!value) return {};
    std::vector<std::string> members;
    for (const Value::Member& member : value->members) {
      std::string json = fmt::format("{{\"memberId\":{}", quoted(member.member_id));
      if (version >= 3) json += fmt::format(",\"groupInstanceId\":{}", quoted_or_null(member.group_instance_id));
      json += fmt::format(",\"clientId\":{},\"clientHost\":{}", quoted(member.client_id), quoted(member.client_host));
      if (version >= 1) json += fmt::format(",\"rebalanceTimeout\":{}", member.rebalance_timeout);
      json += fmt::format(",\"sessionTimeout\":{},\"subscription\":\"{}\",\"assignment\":\"{}\"}}", member.session_timeout,
                          base64(member.subscription), base64(member.assignment));
      members.push_back(std::move(json));
    }
    std::string json = fmt::format("{{\"protocolType\":{},\"generation\":{},\"protocol\":{},\"leader\":{}", quoted(value->protocol_type),
                                   value->generation, quoted_or_null(value->protocol), quoted_or_null(value->leader));
    if (version >= 2) json += fmt::format(",\"currentStateTimestamp\":{}", value->current_state_timestamp);
    return json + fmt::format(",\"members\":[{}]}}", fmt::join(members, ","));
  }
};

// __transaction_state: key 0, values of version 0 and 1 (flexible).
class TransactionLogFormatter final : public CoordinatorFormatter {
  static std::string text(protocol::Decoder& decoder) {
    std::string read;
    decoder.string(read);
    return read;
  }
  std::optional<std::string> key_of(std::int16_t type, protocol::Decoder& decoder) const override {
    if (type != 0) return {};
    return fmt::format("{{\"transactionalId\":{}}}", quoted(text(decoder)));
  }
  std::optional<std::string> value_of(std::int16_t, std::int16_t version, BytesView bytes) const override {
    if (version < 0 || version > 1) return std::string(kUnknown);
    protocol::Decoder decoder(bytes, version >= 1 ? protocol::Form::flexible : protocol::Form::classic);
    const std::int64_t producer_id = decoder.i64();
    const std::int16_t epoch = decoder.i16();
    const std::int32_t timeout = decoder.i32();
    const std::int8_t status = decoder.i8();
    const std::int64_t topics = decoder.array_count();
    std::string partitions = topics < 0 ? "null" : "[";
    for (std::int64_t i = 0; i < topics && decoder.ok(); ++i) {
      std::string topic = text(decoder);
      std::vector<std::int32_t> indexes;
      std::int64_t count = decoder.array_count();
      for (std::int64_t k = 0; k < count && decoder.ok(); ++k) indexes.push_back(decoder.i32());
      if (version >= 1) decoder.skip_tagged_fields();
      partitions += fmt::format("{}{{\"topic\":{},\"partitionIds\":[{}]}}", i == 0 ? "" : ",", quoted(topic), fmt::join(indexes, ","));
    }
    if (topics >= 0) partitions += "]";
    const std::int64_t updated = decoder.i64();
    const std::int64_t started = decoder.i64();
    // Since KIP-890; left out where they say nothing.
    std::int64_t previous_id = -1;
    std::int64_t next_id = -1;
    std::int16_t client_version = 0;
    if (version >= 1) {
      decoder.tagged_fields([&](std::uint32_t tag) {
        if (tag == 0) previous_id = decoder.i64();
        if (tag == 1) next_id = decoder.i64();
        if (tag == 2) client_version = decoder.i16();
        return tag <= 2;
      });
    }
    if (!decoder.ok()) return {};
    std::string json = fmt::format("{{\"producerId\":{}", producer_id);
    if (previous_id != -1) json += fmt::format(",\"previousProducerId\":{}", previous_id);
    if (next_id != -1) json += fmt::format(",\"nextProducerId\":{}", next_id);
    json += fmt::format(
        ",\"producerEpoch\":{},\"transactionTimeoutMs\":{},\"transactionStatus\":{},\"transactionPartitions\":{},"
        "\"transactionLastUpdateTimestampMs\":{},\"transactionStartTimestampMs\":{}",
        epoch, timeout, status, partitions, updated, started);
    if (client_version != 0) json += fmt::format(",\"clientTransactionVersion\":{}", client_version);
    return json + "}";
  }
};

}  // namespace

std::optional<Deserializer> Deserializer::of(std::string_view java_class) {
  constexpr std::string_view kPackage = "org.apache.kafka.common.serialization.";
  if (!java_class.starts_with(kPackage)) return {};
  std::string_view name = java_class.substr(kPackage.size());
  if (name == "StringDeserializer") return Deserializer(append_string);
  if (name == "LongDeserializer") {
    return Deserializer([](BytesView bytes, std::string& to) { return append_integer<std::int64_t>("LongDeserializer", bytes, to); });
  }
  if (name == "IntegerDeserializer") {
    return Deserializer([](BytesView bytes, std::string& to) { return append_integer<std::int32_t>("IntegerDeserializer", bytes, to); });
  }
  if (name == "ShortDeserializer") {
    return Deserializer([](BytesView bytes, std::string& to) { return append_integer<std::int16_t>("ShortDeserializer", bytes, to); });
  }
  if (name == "FloatDeserializer") return Deserializer(append_float);
  if (name == "DoubleDeserializer") return Deserializer(append_double);
  if (name == "BooleanDeserializer") return Deserializer(append_boolean);
  if (name == "BytesDeserializer" || name == "ByteArrayDeserializer") return Deserializer(append_bytes);
  if (name == "ByteBufferDeserializer") return Deserializer(append_buffer);
  return {};
}

Result<std::unique_ptr<MessageFormatter>> make_formatter(std::string_view java_class, const Properties& properties) {
  constexpr std::string_view kPackage = "org.apache.kafka.tools.consumer.";
  std::string_view name = java_class.starts_with(kPackage) ? java_class.substr(kPackage.size()) : std::string_view();
  std::unique_ptr<MessageFormatter> formatter;
  if (name == "DefaultMessageFormatter" || name == "LoggingMessageFormatter") return DefaultFormatter::make(properties);
  if (name == "NoOpMessageFormatter") formatter = std::make_unique<SilentFormatter>();
  if (name == "OffsetsMessageFormatter") formatter = std::make_unique<OffsetsFormatter>();
  if (name == "GroupMetadataMessageFormatter") formatter = std::make_unique<GroupMetadataFormatter>();
  if (name == "TransactionLogMessageFormatter") formatter = std::make_unique<TransactionLogFormatter>();
  if (formatter == nullptr) return Error{Errc::not_found, std::string(java_class)};
  return formatter;
}

}  // namespace cordwood::cli
