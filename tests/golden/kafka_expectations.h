// tests/golden/kafka_expectations.h — expect/offsets.json of a golden directory: what Apache Kafka answered about it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cordwood::golden {

struct Answer {
  std::int64_t offset = -1;
  std::int64_t timestamp = -1;
  std::optional<std::int64_t> leader_epoch;
  bool operator==(const Answer&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Answer& answer);

// The offsets that a consumer got, as runs ("0-7 9-11 19"), and whether it failed after them.
struct ReadOffsets {
  std::string runs;
  bool failed = false;
  bool operator==(const ReadOffsets&) const = default;
};
std::ostream& operator<<(std::ostream& out, const ReadOffsets& offsets);
std::string to_runs(const std::vector<std::int64_t>& offsets);

struct Expectations {
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t asked_at_ms = 0;
  std::map<std::string, std::string> topic_config;
  Answer earliest;
  Answer latest;
  Answer latest_read_committed;
  Answer max_timestamp;
  std::vector<std::pair<std::int64_t, Answer>> by_timestamp;
  ReadOffsets read_uncommitted;
  ReadOffsets read_committed;
};

// Nothing when the directory has no such file. Throws when it does not parse: a broken test is to fail.
std::optional<Expectations> read_expectations(const std::string& case_directory);

}  // namespace cordwood::golden
