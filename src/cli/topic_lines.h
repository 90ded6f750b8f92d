// cli/topic_lines.h — what kafka-topics --describe prints of topics: which lines pass the filters, and the lines.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "cli/options.h"
#include "client/configs.h"
#include "client/reassignments.h"
#include "client/topics.h"

namespace cordwood::cli {

struct DescribedTopic {
  client::TopicDescription description;
  std::vector<client::ConfigEntry> configs;  // in Java's order
};

// What decides about a topic's partitions beside the topic itself.
struct TopicSurroundings {
  std::set<std::int32_t> live_brokers;
  std::map<client::PartitionKey, client::Reassignment> reassignments;
};

struct TopicFilters {
  bool under_replicated = false;
  bool unavailable = false;
  bool under_min_isr = false;
  bool at_min_isr = false;
  bool with_overrides = false;
  static TopicFilters from(const Options& options);
  bool of_partitions() const { return under_replicated || unavailable || under_min_isr || at_min_isr; }
};

// All lines of one topic, each with its newline.
std::string topic_lines(const DescribedTopic& topic, const TopicFilters& filters, const TopicSurroundings& surroundings);

// The same as a JSON object; null when no filter lets any of it pass.
boost::json::value topic_json(const DescribedTopic& topic, const TopicFilters& filters, const TopicSurroundings& surroundings);

}  // namespace cordwood::cli
