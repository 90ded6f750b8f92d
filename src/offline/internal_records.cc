#include "offline/internal_records.h"

#include <fmt/format.h>

#include "broker/groups/record_codec.h"
#include "broker/metadata/metadata_record.h"
#include "offline/rendering.h"

namespace cordwood::offline {
namespace {

namespace groups = broker::groups;
namespace metadata = broker::metadata;

template <class Numbers>
std::string number_list(const Numbers& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

std::string describe_offset(const groups::OffsetRecord& record) {
  std::string out;
  JsonLine line(out);
  line.text("type", "offset_commit").text("group", record.group).text("topic", record.partition.topic);
  line.number("partition", record.partition.partition.value);
  if (record.value) {
    line.number("committed_offset", record.value->offset).number("leader_epoch", record.value->leader_epoch);
    line.text("metadata", record.value->metadata).number("commit_timestamp_ms", record.value->commit_timestamp);
  } else {
    line.boolean("deleted", true);
  }
  line.end_inner();
  return out;
}

std::string describe_group(const groups::GroupRecordOf& record) {
  std::string out;
  JsonLine line(out);
  line.text("type", "group_metadata").text("group", record.group);
  if (record.value) {
    line.text("protocol_type", record.value->protocol_type).number("generation", record.value->generation);
    if (record.value->protocol) line.text("protocol", *record.value->protocol);
    if (record.value->leader) line.text("leader", *record.value->leader);
    std::string members = "[";
    for (const auto& member : record.value->members) {
      if (members.size() > 1) members += ',';
      JsonLine one(members);
      one.text("member_id", member.member_id).text("client_id", member.client_id).text("client_host", member.client_host);
      one.end_inner();
    }
    line.raw("members", members + "]");
  } else {
    line.boolean("deleted", true);
  }
  line.end_inner();
  return out;
}

std::optional<std::string> decode_group_record(BytesView key, std::optional<BytesView> value) {
  const auto record = groups::decode(key, value);
  if (!record) return {};
  if (const auto* offset = std::get_if<groups::OffsetRecord>(&*record)) return describe_offset(*offset);
  if (const auto* group = std::get_if<groups::GroupRecordOf>(&*record)) return describe_group(*group);
  std::string out;
  JsonLine line(out);
  line.text("type", "other").number("key_type", std::get<groups::ForeignRecord>(*record).type);
  line.end_inner();
  return out;
}

const char* transaction_status(std::int8_t status) {
  static constexpr const char* kNames[] = {"Empty",         "Ongoing",        "PrepareCommit", "PrepareAbort",
                                           "CompleteCommit", "CompleteAbort", "Dead",          "PrepareEpochFence"};
  return status >= 0 && status < 8 ? kNames[status] : "unknown";
}

// The fields up to the status lie in the same places in versions 0 and 1.
std::optional<std::string> decode_transaction_record(BytesView key, std::optional<BytesView> value) {
  ByteReader reader(key);
  const std::int16_t version = reader.i16();
  const std::int16_t length = reader.i16();
  const std::string_view id = as_text(reader.bytes(length));
  if (!reader.ok() || version != 0) return {};
  std::string out;
  JsonLine line(out);
  line.text("type", "transaction").text("transactional_id", id);
  if (value) {
    ByteReader fields(*value);
    const std::int16_t value_version = fields.i16();
    const std::int64_t producer_id = fields.i64();
    const std::int16_t epoch = fields.i16();
    const std::int32_t timeout = fields.i32();
    const std::int8_t status = fields.i8();
    if (!fields.ok() || value_version < 0 || value_version > 1) return {};
    line.number("producer_id", producer_id).number("producer_epoch", epoch).number("timeout_ms", timeout);
    line.text("status", transaction_status(status));
  } else {
    line.boolean("deleted", true);
  }
  line.end_inner();
  return out;
}

// What is most asked for of each kind; the others tell their name.
struct MetadataFields {
  JsonLine& line;
  void operator()(const metadata::TopicRecord& r) const { line.text("topic", r.name).text("topic_id", r.topic_id.to_string()); }
  void operator()(const metadata::RemoveTopicRecord& r) const { line.text("topic_id", r.topic_id.to_string()); }
  void operator()(const metadata::PartitionRecord& r) const {
    line.text("topic_id", r.topic_id.to_string()).number("partition", r.partition_id).number("leader", r.leader);
    line.number("leader_epoch", r.leader_epoch).raw("replicas", number_list(r.replicas)).raw("isr", number_list(r.isr));
  }
  void operator()(const metadata::ConfigRecord& r) const {
    line.number("resource_type", r.resource_type).text("resource", r.resource_name).text("name", r.name);
    if (r.value) {
      line.text("value", *r.value);
    } else {
      line.null("value");
    }
  }
  void operator()(const metadata::FeatureLevelRecord& r) const { line.text("feature", r.name).number("level", r.feature_level); }
  void operator()(const metadata::RegisterBrokerRecord& r) const { line.number("broker", r.broker_id); }
  void operator()(const metadata::ProducerIdsRecord& r) const { line.number("broker", r.broker_id); }
  template <class Other>
  void operator()(const Other&) const {}
};

std::optional<std::string> decode_metadata_record(BytesView value) {
  const auto record = metadata::decode_record(value, "record");
  if (!record) return {};
  std::string out;
  JsonLine line(out);
  line.text("type", metadata::name_of(*record)).number("version", record->version);
  std::visit(MetadataFields{line}, record->body);
  line.end_inner();
  return out;
}

}  // namespace

bool is_internal_topic(std::string_view topic) {
  return topic == "__consumer_offsets" || topic == "__transaction_state" || topic == "__cluster_metadata";
}

std::optional<std::string> decode_internal_record(std::string_view topic, std::optional<BytesView> key,
                                                  std::optional<BytesView> value) {
  if (topic == "__consumer_offsets" && key) return decode_group_record(*key, value);
  if (topic == "__transaction_state" && key) return decode_transaction_record(*key, value);
  if (topic == "__cluster_metadata" && value) return decode_metadata_record(*value);
  return {};
}

}  // namespace cordwood::offline
