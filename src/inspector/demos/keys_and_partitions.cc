// Which partition a key goes to, what order means, and what more partitions do to both.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/partitioner.h"
#include "inspector/demos/scripts.h"
#include "inspector/demos/stage.h"

namespace cordwood::inspector::demos {
namespace {

// A topic with a log for each partition, and a producer that chooses among them as Kafka's does.
class Topic {
 public:
  explicit Topic(Stage& stage) : stage_(stage) {}

  Result<void> grow_to(std::int32_t partitions) {
    storage::OpenOptions options;
    options.last_stop = storage::StopKind::clean;
    options.config.segment_index_bytes = {1200};
    while (count() < partitions) logs_.push_back(TRY(stage_.open({"orders", PartitionId{count()}}, options)));
    return {};
  }
  std::int32_t count() const { return static_cast<std::int32_t>(logs_.size()); }
  std::int32_t partition_of(const std::string& key) const { return client::partition_of_key(as_bytes(key), count()); }
  Result<void> produce(const std::string& key, const std::string& value) {
    stage_.wait({1000});
    BatchToAppend batch;
    batch.records = {{key, value}};
    TRY(stage_.append(*logs_.at(static_cast<std::size_t>(partition_of(key))), batch));
    return {};
  }
  std::vector<api::Fact> places(const std::vector<std::string>& keys) const {
    std::vector<api::Fact> facts;
    for (const std::string& key : keys) {
      const std::int32_t hash = client::murmur2(as_bytes(key));
      facts.push_back(fact(fmt::format("partition of {}", key), fmt::format("{}", partition_of(key)),
                           fmt::format("murmur2 {} without its sign bit is {}, modulo {} partitions", hash, hash & 0x7fffffff, count())));
    }
    return facts;
  }

 private:
  Stage& stage_;
  std::vector<std::shared_ptr<storage::PartitionLog>> logs_;
};

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// The values as one who reads the partitions one after the other gets them.
std::string reading_order(const api::DemoStep& step) {
  std::vector<std::string> values;
  for (const api::DemoLog& log : step.logs) {
    for (const api::DemoSegment& segment : log.segments) {
      for (const api::DemoBatch& batch : segment.batches) {
        for (const api::DemoRecord& record : batch.records) values.push_back(record.value.value_or(""));
      }
    }
  }
  return list_of(values);
}

}  // namespace

Result<api::Demo> keys_and_partitions() {
  Stage stage("keys_and_partitions", "Keys and partitions", "Where does a key go, and what is in order?");
  Topic topic(stage);
  const std::vector<std::string> keys{"anna", "cleo", "hugo", "tina"};
  TRY(topic.grow_to(3));
  TRY(stage.show("Three partitions", "create a topic with 3 partitions",
                 "A topic is a name; its records are in its partitions. Each one is a log of its own, with offsets from 0 on.",
                 topic.places(keys)));

  TRY(topic.produce("anna", "anna: ordered"));
  TRY(stage.show("A key chooses", "produce a record with key anna",
                 fmt::format("The producer, not the broker, hashes the key with murmur2 and takes the rest of the division by 3: partition {}.",
                             topic.partition_of("anna")),
                 topic.places({"anna"})));

  TRY(topic.produce("cleo", "cleo: ordered"));
  TRY(topic.produce("hugo", "hugo: ordered"));
  TRY(topic.produce("tina", "tina: ordered"));
  TRY(stage.show("Other keys", "produce records with keys cleo, hugo and tina",
                 "Different keys may share a partition. A partition has many keys; a key has one partition.", topic.places(keys)));

  TRY(topic.produce("anna", "anna: paid"));
  TRY(topic.produce("cleo", "cleo: cancelled"));
  TRY(topic.produce("anna", "anna: shipped"));
  TRY(stage.show("The same key again", "produce 3 records more",
                 fmt::format("All records of anna are in partition {}, in the order in which they were produced: ordered, paid, shipped.",
                             topic.partition_of("anna"))));

  const std::string read = reading_order(stage.step());
  TRY(stage.show("Order", "read the topic, partition by partition",
                 "A consumer gets each partition's records in order, and the partitions as they come. Between two partitions there is no order: "
                 "read in this way, the records are not in the order in which they were produced. Each key's are.",
                 {fact("records in the order of reading", read, "the .log files")}));

  std::vector<std::int32_t> before;
  for (const std::string& key : keys) before.push_back(topic.partition_of(key));
  TRY(topic.grow_to(5));
  std::vector<std::string> moved;
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    (topic.partition_of(keys[i]) == before[i] ? kept : moved).push_back(keys[i]);
  }
  TRY(stage.show("More partitions", "add partitions: 5 instead of 3",
                 fmt::format("The two new ones are empty: no record moves. But the division is by 5 from now on, and its rest is another one for {}.",
                             list_of(moved)),
                 topic.places(keys)));
  stage.step().facts.push_back(fact("keys that go elsewhere", list_of(moved), "murmur2 modulo 3 and modulo 5"));
  stage.step().facts.push_back(fact("keys that stay", kept.empty() ? std::string("none") : list_of(kept), "murmur2 modulo 3 and modulo 5"));

  const std::string traveller = moved.empty() ? keys.front() : moved.front();
  TRY(topic.produce(traveller, traveller + ": returned"));
  TRY(stage.show("A key has moved", fmt::format("produce a record with key {}", traveller), ""));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] != traveller) continue;
    stage.step().says = fmt::format(
        "The newest record of {} is in partition {}, its older ones are in partition {}. A consumer may see the new one first: with more "
        "partitions, the order of a key holds before and after, not across. Choose the number of partitions at the start.",
        traveller, topic.partition_of(traveller), before[i]);
  }
  return std::move(stage.demo());
}

}  // namespace cordwood::inspector::demos
