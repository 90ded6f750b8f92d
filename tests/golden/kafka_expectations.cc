#include "kafka_expectations.h"

#include <boost/json/src.hpp>
#include <fstream>
#include <ostream>
#include <sstream>

namespace cordwood::golden {
namespace json = boost::json;

std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  out << "{offset " << answer.offset << ", timestamp " << answer.timestamp << ", epoch ";
  if (answer.leader_epoch) return out << *answer.leader_epoch << "}";
  return out << "none}";
}

std::ostream& operator<<(std::ostream& out, const ReadOffsets& offsets) {
  return out << "[" << offsets.runs << (offsets.failed ? " then an error]" : "]");
}

std::string to_runs(const std::vector<std::int64_t>& offsets) {
  std::ostringstream out;
  for (std::size_t i = 0; i < offsets.size();) {
    std::size_t last = i;
    while (last + 1 < offsets.size() && offsets[last + 1] == offsets[last] + 1) ++last;
    if (i > 0) out << ' ';
    out << offsets[i];
    if (last > i) out << '-' << offsets[last];
    i = last + 1;
  }
  return out.str();
}

namespace {

Answer to_answer(const json::value& value) {
  const json::object& object = value.as_object();
  Answer answer{object.at("offset").to_number<std::int64_t>(), object.at("timestamp").to_number<std::int64_t>(), {}};
  if (!object.at("leaderEpoch").is_null()) answer.leader_epoch = object.at("leaderEpoch").to_number<std::int64_t>();
  return answer;
}

ReadOffsets to_read_offsets(const json::value& value) {
  const json::object& object = value.as_object();
  return {std::string(object.at("offsets").as_string()), object.contains("error")};
}

}  // namespace

std::optional<Expectations> read_expectations(const std::string& case_directory) {
  std::ifstream file(case_directory + "/expect/offsets.json");
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  const json::object root = json::parse(text.str()).as_object();
  Expectations expected;
  expected.topic = std::string(root.at("topic").as_string());
  expected.partition = root.at("partition").to_number<std::int32_t>();
  expected.asked_at_ms = root.at("askedAtMs").to_number<std::int64_t>();
  for (const auto& [key, value] : root.at("topicConfig").as_object()) {
    expected.topic_config.emplace(std::string(key), std::string(value.as_string()));
  }
  expected.earliest = to_answer(root.at("earliest"));
  expected.latest = to_answer(root.at("latest"));
  expected.latest_read_committed = to_answer(root.at("latestReadCommitted"));
  expected.max_timestamp = to_answer(root.at("maxTimestamp"));
  for (const json::value& item : root.at("byTimestamp").as_array()) {
    expected.by_timestamp.emplace_back(item.as_object().at("query").to_number<std::int64_t>(),
                                       to_answer(item.as_object().at("answer")));
  }
  expected.read_uncommitted = to_read_offsets(root.at("readUncommitted"));
  expected.read_committed = to_read_offsets(root.at("readCommitted"));
  return expected;
}

}  // namespace cordwood::golden
