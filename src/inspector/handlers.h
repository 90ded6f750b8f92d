// inspector/handlers.h — the endpoints: each finds its data in the Source and has a view made of it.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "inspector/actions.h"
#include "inspector/api.h"
#include "inspector/demos/demos.h"
#include "inspector/source.h"

namespace cordwood::inspector {

class PartitionChecks;
class SegmentMaps;

// Threads: any, several at once.
class SourceHandlers final : public api::Handlers {
 public:
  // `actions` is null where nothing may be changed. All must outlive it.
  SourceHandlers(Source& source, Actions* actions, const Clock& clock, std::string version);
  ~SourceHandlers() override;

  Result<api::About> about(const api::AboutQuery& query) override;
  Result<api::TopicPage> topics(const api::TopicsQuery& query) override;
  Result<api::Topic> topic(const api::TopicQuery& query) override;
  Result<api::Partition> partition(const api::PartitionQuery& query) override;
  Result<api::SegmentMap> segment_map(const api::SegmentMapQuery& query) override;
  Result<api::Batch> batch(const api::BatchQuery& query) override;
  Result<api::IndexPage> index(const api::IndexQuery& query) override;
  Result<api::RecordPage> records(const api::RecordsQuery& query) override;
  Result<api::Lookup> lookup(const api::LookupQuery& query) override;
  Result<api::Retention> retention(const api::RetentionQuery& query) override;
  Result<api::Compaction> compaction(const api::CompactionQuery& query) override;
  Result<api::CompactionPreview> compaction_keys(const api::CompactionKeysQuery& query) override;
  Result<api::Life> life(const api::LifeQuery& query) override;
  Result<api::GroupPage> groups(const api::GroupsQuery& query) override;
  Result<api::Group> group(const api::GroupQuery& query) override;
  Result<api::Done> produce(const api::ProduceQuery& query, const api::ProduceBody& body) override;
  Result<api::Done> add_partitions(const api::AddPartitionsQuery& query, const api::PartitionCount& body) override;
  Result<api::Done> reset_offsets(const api::ResetOffsetsQuery& query, const api::OffsetReset& body) override;
  Result<api::Done> maintain(const api::MaintainQuery& query, const api::Maintenance& body) override;
  Result<api::DemoList> demos(const api::DemosQuery& query) override;
  Result<api::Demo> demo(const api::DemoQuery& query) override;

 private:
  Result<PartitionAt> find(const std::string& topic, std::int64_t partition);

  Source& source_;
  Actions* const actions_;
  const Clock& clock_;
  const std::string version_;
  std::unique_ptr<SegmentMaps> maps_;
  std::unique_ptr<PartitionChecks> checks_;
  Demos demos_;
};

}  // namespace cordwood::inspector
