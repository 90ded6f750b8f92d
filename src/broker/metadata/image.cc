#include "broker/metadata/image.h"

#include <algorithm>

#include "broker/metadata/features.h"

namespace cordwood::broker::metadata {

std::shared_ptr<const TopicState> Image::topic(const std::string& name) const {
  auto at = topics.find(name);
  return at == topics.end() ? nullptr : at->second;
}

std::shared_ptr<const TopicState> Image::topic(Uuid id) const {
  auto at = topics_by_id.find(id);
  return at == topics_by_id.end() ? nullptr : at->second;
}

const PartitionState* Image::partition(const TopicPartition& wanted) const {
  auto topic_at = topics.find(wanted.topic);
  if (topic_at == topics.end()) return nullptr;
  auto at = topic_at->second->partitions.find(wanted.partition);
  return at == topic_at->second->partitions.end() ? nullptr : &at->second;
}

const ConfigValues& Image::config(const ConfigResource& resource) const {
  static const ConfigValues kNone;
  auto at = configs.find(resource);
  return at == configs.end() ? kNone : at->second;
}

std::int16_t Image::metadata_version() const { return feature(std::string(kMetadataVersion)); }

std::int16_t Image::feature(const std::string& name) const {
  auto at = features.find(name);
  return at == features.end() ? std::int16_t{0} : at->second;
}

bool same_content(const Image& a, const Image& b) {
  auto same_topics = [](const auto& left, const auto& right) {
    return std::ranges::equal(left, right,
                              [](const auto& x, const auto& y) { return x.first == y.first && *x.second == *y.second; });
  };
  return a.kraft_version == b.kraft_version && a.voters == b.voters && same_topics(a.topics, b.topics) &&
         same_topics(a.topics_by_id, b.topics_by_id) && a.configs == b.configs && a.features == b.features &&
         a.brokers == b.brokers && a.controllers == b.controllers && a.next_producer_id == b.next_producer_id &&
         a.quotas == b.quotas && a.scram == b.scram && a.acls == b.acls && a.tokens == b.tokens;
}

}  // namespace cordwood::broker::metadata
