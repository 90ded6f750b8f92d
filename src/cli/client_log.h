// cli/client_log.h — what producers and consumers of the commands log, as Kafka's log it.
#pragma once

#include <string>
#include <vector>

#include "cli/admin_client.h"
#include "cli/session.h"
#include "client/consumer.h"
#include "client/producer.h"

namespace cordwood::cli {

class ProducerLog final : public client::ProducerListener {
 public:
  ProducerLog(Session& session, const std::string& client_id);
  void cannot_connect(const client::Node& node, const std::string& address) override { connections_.cannot_connect(node, address); }
  void unresolvable(const client::HostPort& server) override { connections_.unresolvable(server); }
  void metadata_mistakes(std::int32_t correlation_id, const std::vector<client::TopicMistake>& mistakes) override;
  void will_retry(const TopicPartition& partition, const client::Failure& failure, std::int32_t attempts_left) override;

 private:
  Session& session_;
  std::string who_;
  ConnectionLog connections_;
};

class ConsumerLog : public client::ConsumerListener {
 public:
  ConsumerLog(Session& session, const std::string& client_id, const std::string& group_id);
  void cannot_connect(const client::Node& node, const std::string& address) override { connections_.cannot_connect(node, address); }
  void unresolvable(const client::HostPort& server) override { connections_.unresolvable(server); }
  void metadata_mistakes(std::int32_t correlation_id, const std::vector<client::TopicMistake>& mistakes) override;
  void position_reset(const TopicPartition&, Offset) override {}
  void partitions_assigned(const std::vector<TopicPartition>&) override {}
  void partitions_revoked(const std::vector<TopicPartition>&) override {}

 private:
  Session& session_;
  std::string who_;
  ConnectionLog connections_;
};

// Java's lines for what became of a record: "class: message", and one more for its cause.
std::string java_lines(const client::Delivery& delivery);

}  // namespace cordwood::cli
