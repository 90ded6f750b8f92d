#include "cli/json_rows.h"

#include <algorithm>

#include <boost/json.hpp>

#include "base/check.h"
#include "cli/kafka_tool.h"

namespace cordwood::cli {
namespace {

enum class Cell { text, number, truth };

struct Column {
  std::string_view title;
  std::string_view field;
  Cell cell;
};

constexpr Column kColumns[] = {
    {"#MEMBERS", "memberCount", Cell::number},
    {"#PARTITIONS", "partitionCount", Cell::number},
    {"ASSIGNMENT-STRATEGY", "assignorName", Cell::text},
    {"CLIENT-ID", "clientId", Cell::text},
    {"CONSUMER-ID", "memberId", Cell::text},
    {"COORDINATOR (ID)", "coordinator", Cell::text},
    {"CURRENT-ASSIGNMENT", "assignment", Cell::text},
    {"CURRENT-EPOCH", "memberEpoch", Cell::number},
    {"CURRENT-OFFSET", "committedOffset", Cell::number},
    {"CoordinatorEpoch", "coordinatorEpoch", Cell::number},
    {"Coordinator", "coordinatorId", Cell::number},
    {"CoordinatorId", "coordinatorId", Cell::number},
    {"CurrentTransactionStartOffset", "currentTxnStartOffset", Cell::number},
    {"CurrentTransactionStartTimeMs", "transactionStartTimeMs", Cell::number},
    {"DirectoryId", "replicaDirectoryId", Cell::text},
    {"Duration(min)", "durationMinutes", Cell::number},
    {"GROUP", "groupId", Cell::text},
    {"GROUP-EPOCH", "groupEpoch", Cell::number},
    {"GROUP-INSTANCE-ID", "groupInstanceId", Cell::text},
    {"HOST", "clientHost", Cell::text},
    {"LAG", "lag", Cell::number},
    {"LEADER-EPOCH", "committedLeaderEpoch", Cell::number},
    {"LOG-END-OFFSET", "logEndOffset", Cell::number},
    {"Lag", "lag", Cell::number},
    {"LastCaughtUpTimestamp", "lastCaughtUpTimestamp", Cell::text},
    {"LastFetchTimestamp", "lastFetchTimestamp", Cell::text},
    {"LastSequence", "lastSequence", Cell::number},
    {"LastTimestamp", "lastTimestamp", Cell::number},
    {"LatestCoordinatorEpoch", "coordinatorEpoch", Cell::number},
    {"LogEndOffset", "logEndOffset", Cell::number},
    {"NEW-OFFSET", "newOffset", Cell::number},
    {"NodeId", "replicaId", Cell::number},
    {"PARTITION", "partition", Cell::number},
    {"Partition", "partition", Cell::number},
    {"ProducerEpoch", "producerEpoch", Cell::number},
    {"ProducerId", "producerId", Cell::number},
    {"STATE", "groupState", Cell::text},
    {"STATUS", "status", Cell::text},
    {"StartOffset", "startOffset", Cell::number},
    {"Status", "status", Cell::text},
    {"TARGET-ASSIGNMENT", "targetAssignment", Cell::text},
    {"TARGET-ASSIGNMENT-EPOCH", "assignmentEpoch", Cell::number},
    {"TARGET-EPOCH", "assignmentEpoch", Cell::number},
    {"TOPIC", "topic", Cell::text},
    {"TYPE", "groupType", Cell::text},
    {"Topic", "topic", Cell::text},
    {"TopicPartitions", "topicPartitions", Cell::text},
    {"TransactionDurationMs", "transactionDurationMs", Cell::number},
    {"TransactionState", "transactionState", Cell::text},
    {"TransactionTimeoutMs", "transactionTimeoutMs", Cell::number},
    {"TransactionalId", "transactionalId", Cell::text},
    {"UPGRADED", "upgraded", Cell::truth},
};

const Column& column_of(std::string_view title) {
  auto found = std::ranges::find(kColumns, title, &Column::title);
  CHECK(found != std::end(kColumns), "no field for the column {}", title);
  return *found;
}

boost::json::value value_of(const std::string& cell, Cell kind) {
  if (cell == "-" || (kind != Cell::text && (cell == "None" || cell == "null"))) return nullptr;
  if (kind == Cell::truth) return cell == "true";
  if (kind == Cell::number) {
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
      const Column& column = column_of(titles[i]);
      object[column.field] = value_of(row[i], column.cell);
    }
    text += boost::json::serialize(object) + "\n";
  }
  return text;
}

}  // namespace cordwood::cli
