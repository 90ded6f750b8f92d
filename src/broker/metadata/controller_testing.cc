#include "broker/metadata/controller_testing.h"

#include <gtest/gtest.h>

#include "broker/metadata/log_walk.h"
#include "broker/metadata/metadata_batch.h"
#include "broker/metadata/metadata_log.h"
#include "broker/metadata/topic_decisions.h"

namespace cordwood::broker::metadata {

TestController::TestController(io::FileSystem& fs, std::vector<std::string> log_dirs, std::uint64_t seed)
    : random(seed), fs_(fs), log_dirs_(std::move(log_dirs)) {
  options.node_id = NodeId{1};
  options.metadata_dir = log_dirs_.front();
  options.listeners = {{"PLAINTEXT", "localhost", 9092, 0}};
}

TestController::~TestController() { kill(); }

storage::LogEnvironment TestController::environment() { return {&fs_, &clock, &random, &logger}; }

Result<void> TestController::open() {
  storage::LogManagerOptions log_options;
  log_options.log_dirs = log_dirs_;
  logs_ = TRY(storage::LogManager::open(environment(), log_options));
  controller_ = TRY(Controller::open(environment(), *logs_, options));
  return {};
}

Result<void> TestController::start() {
  TRY(open());
  TRY(controller_->register_broker());
  storage::LogManager::LoadCallbacks callbacks;
  callbacks.config_of = [](const std::string&) { return storage::LogConfig{}; };
  callbacks.claim = [](const TopicPartition&, std::optional<Uuid>, Uuid) { return storage::DirectoryClaim::ours; };
  TRY(logs_->load(callbacks));
  return controller_->unfence();
}

Result<void> TestController::stop() {
  std::int64_t epoch = TRY(controller_->shut_down());
  TRY(logs_->shut_down(epoch));
  controller_.reset();
  logs_.reset();
  return {};
}

void TestController::kill() {
  controller_.reset();
  if (logs_) logs_->abandon();
  logs_.reset();
}

std::string TestController::create_topic(const std::string& name, std::int32_t partitions) {
  std::promise<std::string> promise;
  controller_->submit([&](const Image& image) {
    protocol::CreateTopicsRequest::Topic wanted;
    wanted.name = name;
    wanted.num_partitions = partitions;
    wanted.replication_factor = 1;
    TopicRules rules{&config, NodeId{1}, controller_->online_directories(), &random};
    CreateTopicsDecision decided = decide_create_topics(image, {wanted}, rules);
    std::string refusal = decided.topics[0].refusal.message.value_or("");
    return Controller::Decision{std::move(decided.records), [&promise, refusal](const auto& outcome) {
                                  promise.set_value(outcome ? refusal : outcome.error().message());
                                }};
  });
  return promise.get_future().get();
}

std::string TestController::delete_topic(const std::string& name) {
  std::promise<std::string> promise;
  controller_->submit([&](const Image& image) {
    DeleteTopicsDecision decided = decide_delete_topics(image, {{name, {}}});
    std::string refusal = decided.topics[0].refusal.message.value_or("");
    return Controller::Decision{std::move(decided.records), [&promise, refusal](const auto& outcome) {
                                  promise.set_value(outcome ? refusal : outcome.error().message());
                                }};
  });
  return promise.get_future().get();
}

std::future<Result<void>> TestController::submit(std::vector<MetadataRecord> records) {
  auto promise = std::make_shared<std::promise<Result<void>>>();
  controller_->submit([promise, records = std::move(records)](const Image&) {
    return Controller::Decision{records, [promise](const auto& outcome) {
                                  promise->set_value(outcome ? Result<void>{} : Result<void>{outcome.error()});
                                }};
  });
  return promise->get_future();
}

const PartitionState& TestController::partition(const std::string& topic, std::int32_t index) {
  shown_ = image();
  const PartitionState* state = shown_->partition({topic, PartitionId{index}});
  static const PartitionState kNone;
  EXPECT_NE(state, nullptr) << topic;
  return state == nullptr ? kNone : *state;
}

std::vector<MetadataRecord> records_in_log(io::FileSystem& fs, const std::string& log_dir) {
  std::vector<MetadataRecord> records;
  BatchVisitor visitor;
  visitor.metadata = [&](const MetadataRecord& record, Offset) -> Result<void> {
    records.push_back(record);
    return {};
  };
  visitor.control = [](const ControlRecord&, Offset) -> Result<void> { return {}; };
  auto walked = walk_metadata_log(fs, io::join(log_dir, kMetadataPartition),
                                  [&](const record::BatchView& batch, const std::string& where) {
                                    return decode_batch(batch, where, visitor);
                                  });
  EXPECT_TRUE(walked) << walked.error().message();
  return records;
}

void copy_tree(io::FileSystem& from, const std::string& source, io::FileSystem& to, const std::string& target) {
  ASSERT_TRUE(to.create_directories(target));
  auto entries = from.list(source);
  ASSERT_TRUE(entries);
  for (const auto& entry : *entries) {
    std::string below = io::join(source, entry.name);
    if (entry.kind == io::DirectoryEntry::Kind::directory) {
      copy_tree(from, below, to, io::join(target, entry.name));
      continue;
    }
    auto bytes = io::read_file(from, below);
    auto file = to.open(io::join(target, entry.name), io::OpenMode::truncate);
    ASSERT_TRUE(bytes && file);
    ASSERT_TRUE((*file)->write_at({0}, *bytes));
  }
}

}  // namespace cordwood::broker::metadata
