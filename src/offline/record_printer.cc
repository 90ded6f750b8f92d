#include "offline/record_printer.h"

#include "offline/internal_records.h"
#include "record/control_record.h"
#include "storage/retention.h"

namespace cordwood::offline {
namespace {

void append_bytes(std::string& out, ByteForm form, std::optional<BytesView> bytes) {
  if (!bytes) {
    out += "null";
  } else if (form == ByteForm::hex) {
    append_hex(out, *bytes);
  } else if (form == ByteForm::base64) {
    append_base64(out, *bytes);
  } else if (form == ByteForm::json && is_json(*bytes)) {
    out += as_text(*bytes);
  } else {
    append_escaped(out, *bytes);
  }
}

// Under `name`, and as base64 under `name`_base64 where text would lose bytes.
void json_bytes(JsonLine& line, std::string_view name, ByteForm form, std::optional<BytesView> bytes) {
  if (!bytes) {
    line.null(name);
    return;
  }
  if (form == ByteForm::json && is_utf8(as_text(*bytes)) && is_json(*bytes)) {
    line.raw(name, as_text(*bytes));
    return;
  }
  std::string text;
  if (form == ByteForm::hex) {
    append_hex(text, *bytes);
  } else if (form == ByteForm::base64) {
    append_base64(text, *bytes);
  } else if (is_utf8(as_text(*bytes))) {
    line.text(name, as_text(*bytes));
    return;
  } else {
    append_base64(text, *bytes);
    line.text(fmt::format("{}_base64", name), text);
    return;
  }
  line.text(name, text);
}

std::string control_name(const record::RecordView& record) {
  const auto key = record::parse_control_key(record.key.value_or(BytesView()));
  return key ? record::to_string(key->type) : "unreadable";
}

void csv_field(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::string bytes_text(ByteForm form, std::optional<BytesView> bytes) {
  std::string text;
  if (!bytes) return text;
  if (form == ByteForm::text || form == ByteForm::json) return std::string(as_text(*bytes));
  append_bytes(text, form, bytes);
  return text;
}

void print_text(std::string& out, const PrintSettings& settings, const TopicPartition& partition,
                const record::BatchHeader* batch, const record::RecordView& record, const std::optional<std::string>& decoded) {
  fmt::format_to(std::back_inserter(out), "{}@{}", partition.to_string(), record.offset);
  out += ' ';
  out += record.timestamp == kNoTimestamp ? "no-time" : storage::describe_time(record.timestamp);
  if (batch != nullptr && batch->has_producer_id()) {
    fmt::format_to(std::back_inserter(out), " producer={}/{}", batch->producer_id, batch->producer_epoch);
  }
  if (batch != nullptr && batch->is_control()) {
    out += " control=" + control_name(record) + "\n";
    return;
  }
  for (const record::HeaderView& header : record.headers) {
    out += " header:";
    append_escaped(out, as_bytes(header.key));
    out += '=';
    append_bytes(out, ByteForm::text, header.value);
  }
  if (decoded) {
    out += ' ' + *decoded + '\n';
    return;
  }
  out += " key=";
  append_bytes(out, settings.keys, record.key);
  out += " value=";
  append_bytes(out, settings.values, record.value);
  out += '\n';
}

void print_json(std::string& out, const PrintSettings& settings, const TopicPartition& partition,
                const record::BatchHeader* batch, const record::RecordView& record, const std::optional<std::string>& decoded) {
  JsonLine line(out);
  line.text("topic", partition.topic).number("partition", partition.partition.value).number("offset", record.offset.value);
  line.number("timestamp_ms", record.timestamp.value);
  if (batch != nullptr) {
    if (batch->partition_leader_epoch >= 0) line.number("leader_epoch", batch->partition_leader_epoch);
    if (batch->has_producer_id()) {
      line.number("producer_id", batch->producer_id).number("producer_epoch", batch->producer_epoch);
      if (batch->base_sequence >= 0) {
        line.number("sequence", record::add_sequence(batch->base_sequence, record.offset_delta));
      }
      line.boolean("transactional", batch->is_transactional());
    }
    if (batch->is_control()) {
      line.text("control", control_name(record));
      line.end();
      return;
    }
  }
  if (!record.headers.empty()) {
    std::string headers = "[";
    for (const record::HeaderView& header : record.headers) {
      if (headers.size() > 1) headers += ',';
      JsonLine one(headers);
      one.text("key", header.key);
      json_bytes(one, "value", ByteForm::text, header.value);
      one.end_inner();
    }
    line.raw("headers", headers + "]");
  }
  if (decoded) {
    line.raw("record", *decoded);
  } else {
    json_bytes(line, "key", settings.keys, record.key);
    json_bytes(line, "value", settings.values, record.value);
  }
  line.end();
}

}  // namespace

std::string_view csv_heading() { return "topic,partition,offset,timestamp_ms,producer_id,key,value\n"; }

void print_record(std::string& out, const PrintSettings& settings, const TopicPartition& partition,
                  const record::BatchHeader* batch, const record::RecordView& record) {
  const bool control = batch != nullptr && batch->is_control();
  std::optional<std::string> decoded;
  if (settings.decode_internal && !control && settings.form != RecordForm::raw) {
    decoded = decode_internal_record(partition.topic, record.key, record.value);
  }
  switch (settings.form) {
    case RecordForm::text:
      print_text(out, settings, partition, batch, record, decoded);
      return;
    case RecordForm::json:
      print_json(out, settings, partition, batch, record, decoded);
      return;
    case RecordForm::csv:
      csv_field(out, partition.topic);
      fmt::format_to(std::back_inserter(out), ",{},{},{},", partition.partition, record.offset, record.timestamp);
      if (batch != nullptr && batch->has_producer_id()) fmt::format_to(std::back_inserter(out), "{}", batch->producer_id);
      out += ',';
      csv_field(out, bytes_text(settings.keys, record.key));
      out += ',';
      csv_field(out, decoded ? *decoded : bytes_text(settings.values, record.value));
      out += '\n';
      return;
    case RecordForm::raw:
      if (record.value) out += as_text(*record.value);
      out += '\n';
      return;
  }
}

}  // namespace cordwood::offline
