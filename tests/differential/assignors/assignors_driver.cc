// Our side of assignors.py, which describes the lines.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "client/assignors.h"

namespace {
using namespace cordwood;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  if (text == "-") return words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

void answer(const std::string& id, const client::PartitionCounts& counts, const client::Subscriptions& members) {
  const struct {
    const char* name;
    client::StickyProtocol told;
    client::Assignment (*assign)(const client::PartitionCounts&, const client::Subscriptions&);
  } kAssignors[] = {{"range", client::StickyProtocol::none, client::assign_ranges},
                    {"roundrobin", client::StickyProtocol::none, client::assign_round_robin},
                    {"sticky", client::StickyProtocol::eager, client::assign_sticky},
                    {"cooperative-sticky", client::StickyProtocol::cooperative, client::assign_cooperatively}};
  for (const auto& assignor : kAssignors) {
    client::Subscriptions arrived;
    for (const auto& [member, said] : members) {
      // As it travels.
      arrived[member] = client::decode_subscription(client::encode_subscription(said, assignor.told)).value();
      arrived[member].instance_id = said.instance_id;
    }
    for (const auto& [member, share] : assignor.assign(counts, arrived)) {
      std::string line = fmt::format("{} {} {}", id, assignor.name, member);
      for (const TopicPartition& partition : share) line += fmt::format(" {}:{}", partition.topic, partition.partition);
      std::puts(line.c_str());
    }
  }
}

TopicPartition partition_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  return {text.substr(0, colon), PartitionId{std::stoi(text.substr(colon + 1))}};
}

}  // namespace

int main() {
  client::PartitionCounts counts;
  client::Subscriptions members;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string kind, name, topics, owned, instance;
    in >> kind >> name;
    if (kind == "topic") {
      in >> counts[name];
    } else if (kind == "member") {
      client::Subscription& said = members[name];
      in >> topics >> owned >> said.generation >> instance;
      said.topics = split(topics);
      for (const std::string& one : split(owned)) said.owned.push_back(partition_of(one));
      if (instance != "-") said.instance_id = instance;
    } else {
      answer(name, counts, members);
      counts.clear();
      members.clear();
    }
  }
}
