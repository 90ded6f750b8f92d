#include "offline/change_running.h"

#include <fmt/format.h>

#include <algorithm>

#include "broker/metadata/topic_name.h"
#include "offline/change_report.h"
#include "offline/data_directory.h"
#include "storage/directory_files.h"

namespace cordwood::offline {
namespace {

Error odd_answer(std::string_view field) {
  return Error{Errc::unsupported, fmt::format("the inspector's answer has no '{}': another version of Cordwood?", field)};
}

Result<std::string> text_field(const boost::json::object& object, std::string_view field) {
  const boost::json::value* value = object.if_contains(field);
  if (value == nullptr || !value->is_string()) return odd_answer(field);
  return std::string(value->as_string());
}

Result<std::int64_t> number_of(const boost::json::object& object, std::string_view field) {
  const boost::json::value* value = object.if_contains(field);
  if (value == nullptr || !value->is_int64()) return odd_answer(field);
  return value->as_int64();
}

Result<bool> flag_of(const boost::json::object& object, std::string_view field) {
  const boost::json::value* value = object.if_contains(field);
  if (value == nullptr || !value->is_bool()) return odd_answer(field);
  return value->as_bool();
}

// All partitions of the broker that may be changed, by topic and number: not the metadata log, which the inspector shows as well.
Result<std::vector<TopicPartition>> list_partitions(cli::InspectorClient& inspector) {
  constexpr std::int64_t kMostPartitions = 10'000'000;
  std::vector<TopicPartition> partitions;
  std::int64_t from = 0;
  while (true) {
    const boost::json::object page = TRY(inspector.get(fmt::format("/api/v1/topics?limit=500&from={}", from)));
    const boost::json::value* rows = page.if_contains("rows");
    if (rows == nullptr || !rows->is_array()) return odd_answer("rows");
    for (const boost::json::value& row : rows->as_array()) {
      if (!row.is_object()) return odd_answer("rows");
      const std::string topic = TRY(text_field(row.as_object(), "name"));
      if (topic == broker::metadata::kClusterMetadata) continue;
      const std::int64_t count = TRY(number_of(row.as_object(), "partitions"));
      if (count < 0 || count > kMostPartitions - static_cast<std::int64_t>(partitions.size())) return odd_answer("partitions");
      for (std::int32_t i = 0; i < static_cast<std::int32_t>(count); ++i) partitions.push_back({topic, PartitionId{i}});
    }
    const boost::json::value* next = page.if_contains("next");
    if (next == nullptr || next->is_null()) break;
    // A page that leads nowhere would be asked for again and again.
    if (!next->is_int64() || next->as_int64() <= from) return odd_answer("next");
    from = next->as_int64();
  }
  return partitions;
}

// The list of topics may be a second old: those that are named and not in it are asked for.
Result<void> add_named(cli::InspectorClient& inspector, const std::vector<std::string>& choices, std::vector<TopicPartition>& there) {
  for (const std::string& text : choices) {
    std::vector<std::string> names{TRY(parse_choice(text)).topic};
    if (const auto directory = storage::parse_partition_directory(text)) names.push_back(directory->partition.topic);
    for (const std::string& name : names) {
      if (name.empty() || name.ends_with('*') || std::ranges::find(there, name, &TopicPartition::topic) != there.end()) continue;
      const auto topic = inspector.get("/api/v1/topics/" + cli::encode_path_word(name));
      if (!topic && topic.error().code == Errc::not_found) continue;
      if (!topic) return topic.error();
      const boost::json::value* partitions = topic->if_contains("partitions");
      if (partitions == nullptr || !partitions->is_array()) return odd_answer("partitions");
      const auto count = static_cast<std::int32_t>(partitions->as_array().size());
      for (std::int32_t i = 0; i < count; ++i) there.push_back({name, PartitionId{i}});
    }
  }
  return {};
}

class Change {
 public:
  Change(const RunningChange& change, cli::InspectorClient& inspector, cli::Session& session)
      : change_(change), inspector_(inspector), report_{session, change.command, change.json} {}

  Result<void> partition(const TopicPartition& partition) {
    const std::string path = fmt::format("/api/v1/topics/{}/partitions/{}", cli::encode_path_word(partition.topic), partition.partition);
    if (change_.command == "retain") return retain(partition, path);
    if (change_.command == "compact") return compact(partition, path);
    return post(partition, path);
  }

 private:
  Result<void> post(const TopicPartition& partition, const std::string& path, const FieldsOfLine& fields = {}) {
    boost::json::object body;
    body["kind"] = boost::json::string(change_.command);
    const boost::json::object done = TRY(inspector_.post(path + "/maintenance", body));
    report_.tell(partition, TRY(text_field(done, "says")), fields);
    return {};
  }

  // Nothing is said of a log that keeps all it has, as on a directory.
  Result<void> retain(const TopicPartition& partition, const std::string& path) {
    const boost::json::object retention = TRY(inspector_.get(path + "/retention"));
    const std::int64_t segments = TRY(number_of(retention, "goes_segments"));
    if (segments == 0) return {};
    const std::int64_t bytes = TRY(number_of(retention, "goes_bytes"));
    const auto fields = [&](JsonLine& line) { line.number("removed_segments", segments).number("removed_bytes", bytes); };
    if (!change_.dry_run) return post(partition, path, fields);
    report_.tell(partition, TRY(text_field(retention, "says")), fields);
    return {};
  }

  Result<void> compact(const TopicPartition& partition, const std::string& path) {
    const boost::json::object compaction = TRY(inspector_.get(path + "/compaction"));
    const std::string decision = TRY(text_field(compaction, "decision"));
    if (decision == "not_compacted") return {};
    const bool goes = TRY(flag_of(compaction, "due")) || (change_.force && decision == "not_dirty_enough");
    const auto fields = [&](JsonLine& line) { line.boolean("cleaned", goes && !change_.dry_run); };
    if (goes && !change_.dry_run) return post(partition, path, fields);
    report_.tell(partition, TRY(text_field(compaction, "says")), fields);
    return {};
  }

  const RunningChange& change_;
  cli::InspectorClient& inspector_;
  ChangeReport report_;
};

}  // namespace

Result<int> change_running(const RunningChange& change, cli::Session& session) {
  if (change.dry_run && change.command != "retain" && change.command != "compact") {
    return Error{Errc::invalid, "a running broker can only be asked beforehand what 'retain' and 'compact' would do"};
  }
  cli::InspectorClient inspector(change.inspector, session);
  TRY(inspector.check_broker(change.dry_run ? cli::Wanted::a_look : cli::Wanted::changes));
  std::vector<TopicPartition> there = TRY(list_partitions(inspector));
  TRY(add_named(inspector, change.choices, there));
  const std::vector<PartitionChoice> choices = TRY(parse_choices(change.choices, there));
  Change one(change, inspector, session);
  int code = 0;
  for (const TopicPartition& partition : there) {
    if (!choices.empty() && std::ranges::none_of(choices, [&](const PartitionChoice& choice) { return choice.matches(partition); })) continue;
    if (session.interrupted) break;
    const Result<void> changed = one.partition(partition);
    if (changed) continue;
    session.err.print("cordwood {}: {}: {}\n", change.command, partition.to_string(), changed.error().message());
    code = 1;
    // Nobody is there any more: all others would fail as well.
    if (changed.error().code == Errc::io || changed.error().code == Errc::closed) break;
  }
  if (change.dry_run) session.err.print("cordwood {}: nothing was changed (--dry-run)\n", change.command);
  return code;
}

}  // namespace cordwood::offline
