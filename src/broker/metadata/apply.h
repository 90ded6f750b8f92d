// broker/metadata/apply.h — metadata records make an Image: the only place where what the cluster is changes.
//
// Replay after a restart and running are this one function. A metadata transaction (BeginTransaction ... EndTransaction)
// takes effect when its end is seen, all at once, and not at all when it is aborted.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "broker/metadata/control_record.h"
#include "broker/metadata/image.h"
#include "broker/metadata/metadata_record.h"

namespace cordwood::broker::metadata {

// Builds one Image out of another and records, in order. One thread. After an error the builder is of no use any more:
// what it holds lies between two images.
class ImageBuilder {
 public:
  ImageBuilder() = default;
  explicit ImageBuilder(Image base) : image_(std::move(base)) {}

  // Errors: corrupt for a record that contradicts those before it (a partition of an unknown topic, a second id for a
  // topic name, an end of a transaction that was not begun), naming the record; Kafka exits on the same.
  Result<void> apply(const MetadataRecord& record);
  // KRAFT_VERSION and KRAFT_VOTERS count, the others say nothing of the cluster.
  void apply(const ControlRecord& record);
  // Everything below `next_offset` has been given; `epoch` is that of the last record.
  void set_position(Offset next_offset, std::int32_t epoch);

  // Records of a transaction that was begun and not ended are held back.
  bool in_transaction() const { return pending_.has_value(); }
  const std::string& transaction_name() const { return transaction_name_; }

  // The image so far, valid until the next apply().
  const Image& image() const { return image_; }
  // Hands the image out; the builder is empty afterwards.
  Image take();

 private:
  Result<void> apply_now(const MetadataRecord& record);
  Result<void> change(const RegisterBrokerRecord& record);
  Result<void> change(const UnregisterBrokerRecord& record);
  Result<void> change(const TopicRecord& record);
  Result<void> change(const PartitionRecord& record);
  Result<void> change(const ConfigRecord& record);
  Result<void> change(const PartitionChangeRecord& record);
  Result<void> change(const FenceBrokerRecord& record);
  Result<void> change(const UnfenceBrokerRecord& record);
  Result<void> change(const RemoveTopicRecord& record);
  Result<void> change(const DelegationTokenRecord& record);
  Result<void> change(const UserScramCredentialRecord& record);
  Result<void> change(const FeatureLevelRecord& record);
  Result<void> change(const ClientQuotaRecord& record);
  Result<void> change(const ProducerIdsRecord& record);
  Result<void> change(const BrokerRegistrationChangeRecord& record);
  Result<void> change(const AccessControlEntryRecord& record);
  Result<void> change(const RemoveAccessControlEntryRecord& record);
  Result<void> change(const NoOpRecord& record);
  Result<void> change(const ZkMigrationRecord& record);
  Result<void> change(const RemoveUserScramCredentialRecord& record);
  Result<void> change(const BeginTransactionRecord& record);
  Result<void> change(const EndTransactionRecord& record);
  Result<void> change(const AbortTransactionRecord& record);
  Result<void> change(const RemoveDelegationTokenRecord& record);
  Result<void> change(const RegisterControllerRecord& record);
  Result<void> change(const ClearElrRecord& record);
  Result<void> change(const UnregisterControllerRecord& record);

  // The topic as something to change: a copy of its own the first time, the same again afterwards. Null when unknown.
  TopicState* writable_topic(Uuid id);
  Result<BrokerRegistration*> registered(std::int32_t id, std::int64_t epoch, const char* record_name);

  Image image_;
  std::unordered_map<Uuid, std::shared_ptr<TopicState>> owned_;  // topics of image_ that nobody else holds
  std::optional<std::vector<MetadataRecord>> pending_;           // of the open transaction
  std::string transaction_name_;
};

// The image after `records`, which must hold whole transactions only and take the offsets from `base.next_offset` on.
// Errors: as ImageBuilder's; corrupt when a transaction is left open.
Result<Image> apply(const Image& base, std::span<const MetadataRecord> records, std::int32_t epoch);

}  // namespace cordwood::broker::metadata
