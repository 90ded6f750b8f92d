#include "cli/json_rows.h"

#include <algorithm>

#include <boost/json.hpp>

#include "base/check.h"
#include "cli/kafka_tool.h"

namespace cordwood::cli {
namespace {

enum class JsonCell { text, number, truth };

struct JsonColumn {
  std::string_view title;
  std::string_view field;
  JsonCell cell;
};

constexpr JsonColumn kJsonColumns[] = {
    {"#MEMBERS", "memberCount", JsonCell::number},
    {"#PARTITIONS", "partitionCount", JsonCell::number},
    {"ASSIGNMENT-STRATEGY", "assignorName", JsonCell::text},
    {"CLIENT-ID", "clientId", JsonCell::text},
    {"CONSUMER-ID", "memberId", JsonCell::text},
    {"COORDINATOR (ID)", "coordinator", JsonCell::text},
    {"CURRENT-ASSIGNMENT", "assignment", JsonCell::text},
    {"CURRENT-EPOCH", "memberEpoch", JsonCell::number},
    {"CURRENT-OFFSET", "committedOffset", JsonCell::number},
    {"CoordinatorEpoch", "coordinatorEpoch", JsonCell::number},
    {"Coordinator", "coordinatorId", JsonCell::number},
    {"CoordinatorId", "coordinatorId", JsonCell::number},
    {"CurrentTransactionStartOffset", "currentTxnStartOffset", JsonCell::number},
    {"CurrentTransactionStartTimeMs", "transactionStartTimeMs", JsonCell::number},
    {"DirectoryId", "replicaDirectoryId", JsonCell::text},
    {"Duration(min)", "durationMinutes", JsonCell::number},
    {"GROUP", "groupId", JsonCell::text},
    {"GROUP-EPOCH", "groupEpoch", JsonCell::number},
    {"GROUP-INSTANCE-ID", "groupInstanceId", JsonCell::text},
    {"HOST", "clientHost", JsonCell::text},
    {"LAG", "lag", JsonCell::number},
    {"LEADER-EPOCH", "committedLeaderEpoch", JsonCell::number},
    {"LOG-END-OFFSET", "logEndOffset", JsonCell::number},
    {"Lag", "lag", JsonCell::number},
    {"LastCaughtUpTimestamp", "lastCaughtUpTimestamp", JsonCell::text},
    {"LastFetchTimestamp", "lastFetchTimestamp", JsonCell::text},
    {"LastSequence", "lastSequence", JsonCell::number},
    {"LastTimestamp", "lastTimestamp", JsonCell::number},
    {"LatestCoordinatorEpoch", "coordinatorEpoch", JsonCell::number},
    {"LogEndOffset", "logEndOffset", JsonCell::number},
    {"NEW-OFFSET", "newOffset", JsonCell::number},
    {"NodeId", "replicaId", JsonCell::number},
    {"PARTITION", "partition", JsonCell::number},
    {"Partition", "partition", JsonCell::number},
    {"ProducerEpoch", "producerEpoch", JsonCell::number},
    {"ProducerId", "producerId", JsonCell::number},
    {"STATE", "groupState", JsonCell::text},
    {"STATUS", "status", JsonCell::text},
    {"StartOffset", "startOffset", JsonCell::number},
    {"Status", "status", JsonCell::text},
    {"TARGET-ASSIGNMENT", "targetAssignment", JsonCell::text},
    {"TARGET-ASSIGNMENT-EPOCH", "assignmentEpoch", JsonCell::number},
    {"TARGET-EPOCH", "assignmentEpoch", JsonCell::number},
    {"TOPIC", "topic", JsonCell::text},
    {"TYPE", "groupType", JsonCell::text},
    {"Topic", "topic", JsonCell::text},
    {"TopicPartitions", "topicPartitions", JsonCell::text},
    {"TransactionDurationMs", "transactionDurationMs", JsonCell::number},
    {"TransactionState", "transactionState", JsonCell::text},
    {"TransactionTimeoutMs", "transactionTimeoutMs", JsonCell::number},
    {"TransactionalId", "transactionalId", JsonCell::text},
    {"UPGRADED", "upgraded", JsonCell::truth},
};

const JsonColumn& json_column_of(std::string_view title) {
  auto found = std::ranges::find(kJsonColumns, title, &JsonColumn::title);
  CHECK(found != std::end(kJsonColumns), "no field for the column {}", title);
  return *found;
}

boost::json::value json_of_cell(const std::string& cell, JsonCell kind) {
  if (cell == "-" || (kind != JsonCell::text && (cell == "None" || cell == "null"))) return nullptr;
  if (kind == JsonCell::truth) return cell == "true";
  if (kind == JsonCell::number) {
    if (auto number = parse_java_long(cell)) return *number;
  }
  return boost::json::value(cell);
}

}  // namespace

std::string rows_as_json_lines(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const auto& row : rows) {
    boost::json::object object;
    for (std::size_t i = 0; i < titles.size() && i < row.size(); ++i) {
      const JsonColumn& column = json_column_of(titles[i]);
      object[column.field] = json_of_cell(row[i], column.cell);
    }
    text += boost::json::serialize(object) + "\n";
  }
  return text;
}

}  // namespace cordwood::cli
