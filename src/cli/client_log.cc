#include "cli/client_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cordwood::cli {
namespace {

void log_mistakes(Session& session, const std::string& who, std::int32_t correlation_id,
                  const std::vector<client::TopicMistake>& mistakes) {
  log_line(session, Level::warn,
           fmt::format("[{}] The metadata response from the cluster reported a recoverable issue with correlation id {} : {}", who,
                       correlation_id, client::to_text(mistakes)),
           "org.apache.kafka.clients.NetworkClient");
  std::vector<std::string> invalid;
  for (const client::TopicMistake& mistake : mistakes) {
    if (mistake.code == protocol::ErrorCode::INVALID_TOPIC_EXCEPTION) invalid.push_back(mistake.topic);
  }
  if (!invalid.empty()) {
    log_line(session, Level::error, fmt::format("[{}] Metadata response reported invalid topics [{}]", who, fmt::join(invalid, ", ")),
             "org.apache.kafka.clients.Metadata");
  }
  session.err.flush();
}

}  // namespace

ProducerLog::ProducerLog(Session& session, const std::string& client_id)
    : session_(session),
      who_(fmt::format("Producer clientId={}", client_id)),
      connections_(session, who_, ConnectionLog::Bootstrap::told) {}

void ProducerLog::metadata_mistakes(std::int32_t correlation_id, const std::vector<client::TopicMistake>& mistakes) {
  log_mistakes(session_, who_, correlation_id, mistakes);
}

void ProducerLog::will_retry(const TopicPartition& partition, const client::Failure& failure, std::int32_t attempts_left) {
  log_line(session_, Level::warn,
           fmt::format("[{}] Got error produce response on topic-partition {}, retrying ({} attempts left). Error: {}", who_,
                       partition.to_string(), attempts_left, protocol::name_of(failure.code)),
           "org.apache.kafka.clients.producer.internals.Sender");
  session_.err.flush();
}

ConsumerLog::ConsumerLog(Session& session, const std::string& client_id, const std::string& group_id)
    : session_(session),
      who_(fmt::format("Consumer clientId={}, groupId={}", client_id, group_id)),
      connections_(session, who_, ConnectionLog::Bootstrap::told) {}

void ConsumerLog::metadata_mistakes(std::int32_t correlation_id, const std::vector<client::TopicMistake>& mistakes) {
  log_mistakes(session_, who_, correlation_id, mistakes);
}

std::string java_lines(const client::Delivery& delivery) {
  std::string lines = delivery.java_class.empty() ? client::to_java(*delivery.failure)
                                                  : fmt::format("{}: {}", delivery.java_class, delivery.failure->message);
  lines += '\n';
  if (delivery.cause) lines += fmt::format("Caused by: {}\n", client::to_java(*delivery.cause));
  return lines;
}

}  // namespace cordwood::cli
