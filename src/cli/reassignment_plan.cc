#include "cli/reassignment_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/json_words.h"
#include "cli/kafka_tool.h"

namespace cordwood::cli {
namespace {

using client::PartitionKey;
constexpr std::string_view kAnyDirectory = "any";
constexpr std::string_view kNoJson = "The input string is not a valid JSON";

// What Jackson says of a text that is no JSON: its words for the first token, which is what most such files have wrong.
JavaError not_json_as_jackson(std::string_view text) {
  std::size_t blanks = 0;
  while (blanks < text.size() && java_trimmed(text.substr(blanks, 1)).empty()) ++blanks;
  std::size_t line = 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, blanks), '\n'));
  std::size_t column = blanks - (text.substr(0, blanks).rfind('\n') + 1) + 1;
  text = java_trimmed(text);
  auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$'; };
  auto end = std::ranges::find_if_not(text, is_word);
  std::string_view token = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  if (token.empty() || (token.front() >= '0' && token.front() <= '9')) return admin_operation(std::string(kNoJson));
  std::string message = fmt::format(
      "Unrecognized token '{}': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')\n at [Source: REDACTED "
      "(`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: {}, column: {}]",
      token, line, column);
  return with_cause(admin_operation(message), {"com.fasterxml.jackson.core.JsonParseException", message});
}

// The object or array that `text` begins with: what follows it is not looked at.
std::string_view first_json(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      else quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && depth > 0 && --depth == 0) {
      return text.substr(0, i + 1);
    }
  }
  return text;
}

// The list under `name` of a file of version 1; empty when the file has none.
Tried<boost::json::array> list_of_file(std::string_view text, std::string_view name, const JavaError& otherwise) {
  auto json = NEED(parse_json(first_json(text), otherwise));
  if (!json.is_object()) return std::unexpected(json_mapping("Expected JSON object, received " + boost::json::serialize(json)));
  constexpr std::int32_t kVersion = 1;
  std::int32_t version = json.as_object().contains("version") ? NEED(json_int(json, "version")) : kVersion;
  if (version != kVersion) return std::unexpected(admin_operation(fmt::format("Not supported version field value {}", version)));
  const auto* list = json.as_object().if_contains(name);
  if (list == nullptr) return boost::json::array();
  if (!list->is_array()) return std::unexpected(json_mapping("Expected JSON array, received " + boost::json::serialize(*list)));
  return list->as_array();
}

// What occurs more than once, in order.
template <class T>
std::vector<T> duplicates(std::vector<T> items) {
  std::ranges::sort(items);
  std::vector<T> twice;
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (items[i] == items[i - 1] && (twice.empty() || twice.back() != items[i])) twice.push_back(items[i]);
  }
  return twice;
}

using PlacesOf = const std::set<std::int32_t> PartitionMove::*;

std::map<std::string, std::string> throttles(const PartitionMoves& moves, PlacesOf places) {
  std::map<std::string, std::set<std::string>> by_topic;  // sorted as texts, as Kafka's tool has them
  for (const auto& [key, move] : moves) {
    std::set<std::string>& of_topic = by_topic[key.first];
    for (std::int32_t broker : move.*places) {
      if (places == &PartitionMove::destinations && move.sources.contains(broker)) continue;
      of_topic.insert(fmt::format("{}:{}", key.second, broker));
    }
  }
  std::map<std::string, std::string> texts;
  for (const auto& [topic, replicas] : by_topic) texts[topic] = fmt::format("{}", fmt::join(replicas, ","));
  return texts;
}

// The brokers of one topic, in a ring: one of each rack after the other.
class BrokerRing {
 public:
  BrokerRing(const std::vector<client::Node>& brokers, Random& random) {
    std::map<std::string, std::vector<std::int32_t>> racks;
    for (const client::Node& node : brokers) racks[node.rack.value_or("")].push_back(node.id);
    std::vector<std::vector<std::int32_t>> shuffled;
    for (auto& [rack, ids] : racks) shuffled.push_back(shuffle(std::move(ids), random));
    shuffled = shuffle(std::move(shuffled), random);
    for (std::size_t depth = 0; places_.size() < brokers.size(); ++depth) {
      for (std::size_t rack = 0; rack < shuffled.size(); ++rack) {
        if (depth < shuffled[rack].size()) places_.push_back({shuffled[rack][depth], rack});
      }
    }
    racks_ = shuffled.size();
  }

  // The replicas of the next partition; `count` is at most the number of brokers. Each round over the ring shifts the followers by
  // one, so that those of one leader are not always the same.
  std::vector<std::int32_t> next(std::size_t count) {
    std::size_t leader = turn_ % places_.size();
    std::size_t shift = turn_ / places_.size();
    ++turn_;
    std::vector<std::int32_t> replicas = {places_[leader].broker};
    std::set<std::size_t> used_racks = {places_[leader].rack};
    while (replicas.size() < count) {
      std::size_t before = replicas.size();
      for (std::size_t i = 0; i + 1 < places_.size() && replicas.size() < count; ++i) {
        const Place& place = places_[(leader + 1 + (shift + i) % (places_.size() - 1)) % places_.size()];
        if (used_racks.contains(place.rack) || std::ranges::find(replicas, place.broker) != replicas.end()) continue;
        replicas.push_back(place.broker);
        used_racks.insert(place.rack);
      }
      if (used_racks.size() == racks_ || replicas.size() == before) used_racks.clear();
    }
    return replicas;
  }

 private:
  struct Place {
    std::int32_t broker;
    std::size_t rack;
  };

  template <class T>
  static std::vector<T> shuffle(std::vector<T> items, Random& random) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
    return items;
  }

  std::vector<Place> places_;
  std::size_t racks_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace

std::string partition_text(const PartitionKey& key) { return fmt::format("{}-{}", key.first, key.second); }

std::string ReplicaKey::to_string() const { return fmt::format("{}-{}", partition_text(partition), broker); }

Tried<ReassignmentPlan> parse_reassignment_plan(std::string_view text) {
  ReassignmentPlan plan;
  for (const auto& item : NEED(list_of_file(text, "partitions", not_json_as_jackson(text)))) {
    std::string topic = NEED(json_string(item, "topic"));
    PartitionKey key{std::move(topic), NEED(json_int(item, "partition"))};
    std::vector<std::int32_t> replicas = NEED(json_ints(item, "replicas"));
    if (item.as_object().contains("log_dirs")) {
      std::vector<std::string> directories = NEED(json_strings(item, "log_dirs"));
      if (directories.size() != replicas.size()) {
        return std::unexpected(admin_command_failed(
            fmt::format("Size of replicas list [{}] is different from size of log dirs list [{}] for partition {}",
                        fmt::join(replicas, ", "), fmt::join(directories, ", "), partition_text(key))));
      }
      for (std::size_t i = 0; i < replicas.size(); ++i) {
        if (directories[i] != kAnyDirectory) plan.directories[{replicas[i], key}] = directories[i];
      }
    }
    plan.partitions.emplace_back(std::move(key), std::move(replicas));
  }
  return plan;
}

Tried<std::monostate> check_reassignment_plan(const ReassignmentPlan& plan) {
  if (plan.partitions.empty()) return std::unexpected(admin_command_failed("Partition reassignment list cannot be empty"));
  std::vector<std::string> names;
  std::vector<std::string> repeating;
  for (const auto& [key, replicas] : plan.partitions) {
    if (replicas.empty()) return std::unexpected(admin_command_failed("Partition replica list cannot be empty"));
    names.push_back(partition_text(key));
    if (auto twice = duplicates(replicas); !twice.empty()) {
      repeating.push_back(fmt::format("{} contains multiple entries for {}", partition_text(key), fmt::join(twice, ", ")));
    }
  }
  if (auto twice = duplicates(std::move(names)); !twice.empty()) {
    return std::unexpected(admin_command_failed(
        fmt::format("Partition reassignment contains duplicate topic partitions: {}", fmt::join(twice, ","))));
  }
  if (!repeating.empty()) {
    return std::unexpected(admin_command_failed(
        fmt::format("Partition replica lists may not contain duplicate entries: {}", fmt::join(repeating, ". "))));
  }
  return std::monostate{};
}

std::string reassignment_json(const Assignment& assignment, const ReplicaDirectories& directories) {
  boost::json::array partitions;
  for (const auto& [key, replicas] : assignment) {
    boost::json::array paths;
    for (std::int32_t broker : replicas) {
      auto found = directories.find({broker, key});
      paths.emplace_back(found == directories.end() ? kAnyDirectory : found->second);
    }
    partitions.push_back({{"topic", key.first}, {"partition", key.second}, {"replicas", boost::json::value_from(replicas)}, {"log_dirs", std::move(paths)}});
  }
  return boost::json::serialize(boost::json::object{{"version", 1}, {"partitions", std::move(partitions)}});
}

Tried<std::vector<std::string>> parse_topics_to_move(std::string_view text) {
  std::vector<std::string> topics;
  for (const auto& item : NEED(list_of_file(text, "topics", admin_operation(std::string(kNoJson))))) topics.push_back(NEED(json_string(item, "topic")));
  if (auto twice = duplicates(topics); !twice.empty()) {
    return std::unexpected(admin_command_failed(
        fmt::format("List of topics to reassign contains duplicate entries: [{}]", fmt::join(twice, ", "))));
  }
  return topics;
}

Tried<std::set<std::int32_t>> parse_broker_list(std::string_view text) {
  std::vector<std::int32_t> brokers;
  for (const std::string& word : split_as_java(text, ',')) {
    auto id = parse_java_int(word);
    if (!id) return std::unexpected(number_format(word));
    brokers.push_back(*id);
  }
  if (auto twice = duplicates(brokers); !twice.empty()) {
    return std::unexpected(
        admin_command_failed(fmt::format("Broker list contains duplicate entries: [{}]", fmt::join(twice, ", "))));
  }
  return std::set<std::int32_t>(brokers.begin(), brokers.end());
}

Tried<Assignment> deal_out(const Assignment& current, const std::vector<client::Node>& brokers, Random& random) {
  Assignment dealt;
  std::optional<BrokerRing> ring;
  std::string topic;
  std::size_t factor = 0;
  for (const auto& [key, replicas] : current) {
    if (!ring || key.first != topic) {
      topic = key.first;
      factor = replicas.size();
      auto refuse = [](std::string message) {
        return std::unexpected(JavaError{"org.apache.kafka.common.errors.InvalidReplicationFactorException", std::move(message)});
      };
      if (brokers.empty()) return refuse("All brokers are currently fenced, or have all their log directories cordoned.");
      if (factor > brokers.size()) {
        return refuse(fmt::format("The target replication factor of {} cannot be reached because only {} broker(s) are registered or "
                                  "some brokers have all their log directories cordoned.",
                                  factor, brokers.size()));
      }
      ring.emplace(brokers, random);
    }
    dealt[key] = ring->next(factor);
  }
  return dealt;
}

std::map<std::string, std::string> leader_throttles(const PartitionMoves& moves) { return throttles(moves, &PartitionMove::sources); }

std::map<std::string, std::string> follower_throttles(const PartitionMoves& moves) {
  return throttles(moves, &PartitionMove::destinations);
}

}  // namespace cordwood::cli
