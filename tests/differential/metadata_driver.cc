// A broker without sockets, for tests/differential/metadata_takeover.py:
//
//   metadata_driver DIR PORT CONTROLLER_PORT [KEY=VALUE...] COMMAND...      broker settings first
//     create NAME PARTITIONS [KEY=VALUE]   a topic
//     delete NAME
//     append NAME PARTITION COUNT          that many records, one batch each
//     keep_house                           what the controller does once a minute
//     list                                 one line a partition: name, topic id, partition, leader, leader epoch, end offset
//     kill                                 ends the process at once, as kill -9 does
//   Without kill it stops cleanly after the last command.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <vector>

#include "broker/broker.h"
#include "broker/topic_creation.h"
#include "record/builder.h"

namespace {

using namespace cordwood;
using namespace cordwood::broker;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

using Outcome = Result<std::shared_ptr<const metadata::Image>>;

void commit(Broker& broker, const std::function<std::vector<metadata::MetadataRecord>(const metadata::Image&)>& decide) {
  std::promise<std::string> promise;
  broker.controller().submit([&](const metadata::Image& image) {
    return metadata::Controller::Decision{decide(image), [&promise](const Outcome& outcome) {
                                            promise.set_value(outcome ? "" : outcome.error().message());
                                          }};
  });
  std::string fault = promise.get_future().get();
  if (!fault.empty()) fail(fault);
}

void create(Broker& broker, const std::string& name, int partitions, const std::string& setting) {
  protocol::CreateTopicsRequest::Topic topic;
  topic.name = name;
  topic.num_partitions = partitions;
  topic.replication_factor = 1;
  if (!setting.empty()) {
    auto at = setting.find('=');
    topic.configs.push_back({setting.substr(0, at), setting.substr(at + 1)});
  }
  commit(broker, [&](const metadata::Image& image) {
    auto decided = metadata::decide_create_topics(image, {topic}, topic_rules(broker));
    if (decided.records.empty()) fail(decided.topics[0].refusal.message.value_or("refused"));
    return decided.records;
  });
}

void append(Broker& broker, const std::string& name, int index, int count) {
  auto partition = broker.partitions().find(TopicPartition{name, PartitionId{index}});
  if (!partition) fail("no partition " + name);
  for (int i = 0; i < count; ++i) {
    record::BatchBuilder builder({});
    std::string value = "from us " + std::to_string(i);
    builder.add(broker.clock().now(), as_bytes("k"), as_bytes(value));
    ByteVector batch = builder.build();
    storage::AppendResult result = partition->append(batch, storage::AppendOrigin::client);
    if (result.fault != storage::AppendFault::none) fail("append failed");
  }
}

void list(Broker& broker) {
  for (const auto& [name, topic] : broker.image()->topics) {
    for (const auto& [index, state] : topic->partitions) {
      auto partition = broker.partitions().find(TopicPartition{name, index});
      std::printf("%s %s %d %d %d %lld\n", name.c_str(), topic->id.to_string().c_str(), index.value,
                  state.leader ? state.leader->value : -1, state.leader_epoch,
                  partition ? static_cast<long long>(partition->log()->log_end_offset().value) : -1LL);
    }
  }
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() < 3) fail("metadata_driver DIR PORT CONTROLLER_PORT COMMAND...");
  SystemClock clock;
  SystemRandom random;
  StderrLogger logger(clock);
  io::PosixFileSystem fs;
  std::size_t first_command = 3;
  std::vector<std::pair<std::string, std::string>> properties;
  while (first_command < words.size() && words[first_command].find('=') != std::string::npos) {
    const std::string& setting = words[first_command++];
    properties.emplace_back(setting.substr(0, setting.find('=')), setting.substr(setting.find('=') + 1));
  }
  Result<Config> given = Config::from_properties(properties, logger);
  if (!given) fail(given.error().message());
  Config config = std::move(*given);
  config.log_dirs = {words[0]};
  config.listeners = {{"PLAINTEXT", "PLAINTEXT", "localhost", static_cast<std::uint16_t>(std::stoi(words[1]))}};
  config.controller_listener.port = static_cast<std::uint16_t>(std::stoi(words[2]));
  auto started = Broker::start({&fs, &clock, &random, &logger}, config);
  if (!started) fail(started.error().message());
  Broker& broker = **started;
  auto word = [&](std::size_t at) { return at < words.size() ? words[at] : std::string(); };
  for (std::size_t at = first_command; at < words.size();) {
    if (word(at) == "create") {
      bool has_setting = word(at + 3).find('=') != std::string::npos;
      create(broker, word(at + 1), std::stoi(word(at + 2)), has_setting ? word(at + 3) : "");
      at += has_setting ? 4 : 3;
    } else if (word(at) == "delete") {
      commit(broker, [&](const metadata::Image& image) {
        return metadata::decide_delete_topics(image, {{word(at + 1), {}}}).records;
      });
      at += 2;
    } else if (word(at) == "append") {
      append(broker, word(at + 1), std::stoi(word(at + 2)), std::stoi(word(at + 3)));
      at += 4;
    } else if (word(at) == "keep_house") {
      broker.controller().keep_house();
      ++at;
    } else if (word(at) == "list") {
      list(broker);
      ++at;
    } else if (word(at) == "kill") {
      ::_exit(0);
    } else {
      fail("unknown command " + word(at));
    }
  }
  Result<void> stopped = broker.shut_down();
  if (!stopped) fail(stopped.error().message());
  return 0;
}
