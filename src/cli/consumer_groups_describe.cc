// kafka-consumer-groups --describe: offsets, members or state of groups, a table for each.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/consumer_groups.h"
#include "cli/json_rows.h"

namespace cordwood::cli {
namespace {

using client::GroupDescription;
using client::DescribedMember;
using client::GroupPartition;

constexpr std::string_view kMissing = "-";

// Rows whose columns are as wide as their longest cell, but not narrower than a minimum; the last may be left as it is.
class Table {
 public:
  struct Column {
    std::string_view title;
    std::size_t minimum = 15;
    bool grows = false;  // with its cells
    bool filled = true;  // with blanks up to its width; false for a last column
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {
    rows_.emplace_back();
    for (const Column& column : columns_) rows_.back().emplace_back(column.title);
  }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }

  // A blank line, then the rows; or lines of JSON.
  void print(GroupsCommand& command) const {
    Output& out = command.session.out;
    if (command.options.has("json")) {
      out.write(rows_as_json_lines(rows_.front(), {rows_.begin() + 1, rows_.end()}));
      return;
    }
    out.write("\n");
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const Column& column = columns_[i];
        std::size_t width = column.minimum;
        if (column.grows) {
          for (std::size_t r = 1; r < rows_.size(); ++r) width = std::max(width, rows_[r][i].size());
        }
        line += fmt::format("{}{:<{}}", i == 0 ? "" : " ", row[i], column.filled ? width : 0);
      }
      out.print("{}\n", line);
    }
  }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

template <class Value>
std::string or_missing(const std::optional<Value>& value) {
  return value ? fmt::format("{}", *value) : std::string(kMissing);
}

// Says on stderr what there is to say of the state. Answers whether there may be something to show.
bool tell_state(GroupsCommand& command, const GroupDescription& group) {
  if (group.state == "Dead") {
    print_error(command.remarks(), fmt::format("Consumer group '{}' does not exist.", group.group_id));
    return false;
  }
  if (group.state == "Empty") {
    command.session.err.print("\nConsumer group '{}' has no active members.\n", group.group_id);
  } else if (group.state != "Stable") {
    command.session.err.print("\nWarning: Consumer group '{}' is rebalancing.\n", group.group_id);
  }
  return true;
}

// "cg1:0,1,2;cg2:0"? Kafka's order: topics sorted, partitions sorted.
std::string assignment_text(const std::vector<GroupPartition>& partitions) {
  if (partitions.empty()) return std::string(kMissing);
  std::string text;
  std::string_view topic;
  for (const GroupPartition& key : partitions) {
    if (key.topic != topic) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : ";", key.topic, key.partition);
      topic = key.topic;
    } else {
      text += fmt::format(",{}", key.partition);
    }
  }
  return text;
}

struct OffsetRow {
  GroupPartition key;
  std::string consumer;
  std::string host;
  std::string client;
};

MaybeStop describe_offsets(GroupsCommand& command, const std::vector<GroupDescription>& groups) {
  bool verbose = command.options.has("verbose");
  struct Described {
    const GroupDescription* group;
    std::map<GroupPartition, client::CommittedOffset> committed;
    std::map<GroupPartition, client::FoundOffset> ends;
    std::vector<OffsetRow> rows;
  };
  std::vector<Described> all;
  for (const GroupDescription& group : groups) {
    auto committed = command.groups.committed(group.group_id, command.deadline());
    if (!committed) return Stop(runtime_execution(committed.failure()));
    Described described{&group, *std::move(committed), {}, {}};
    std::vector<const DescribedMember*> members;
    for (const DescribedMember& member : group.members) {
      if (!member.assignment.empty()) members.push_back(&member);
    }
    std::ranges::stable_sort(members, std::greater<>(),
                             [](const DescribedMember* member) { return member->assignment.size(); });
    std::set<GroupPartition> assigned;
    for (const DescribedMember* member : members) {
      for (const GroupPartition& key : member->assignment) {
        assigned.insert(key);
        described.rows.push_back({key, member->member_id, member->host, member->client_id});
      }
    }
    for (const auto& [key, offset] : described.committed) {
      if (!assigned.contains(key)) {
        described.rows.push_back({key, std::string(kMissing), std::string(kMissing), std::string(kMissing)});
      }
    }
    std::map<GroupPartition, std::int64_t> wanted;
    for (const OffsetRow& row : described.rows) wanted[row.key] = client::kLatestTimestamp;
    if (!wanted.empty()) {
      auto ends = command.groups.offsets_at(wanted, command.deadline());
      if (!ends) return Stop(runtime_execution(ends.failure()));
      described.ends = *std::move(ends);
    }
    all.push_back(std::move(described));
  }
  for (const Described& described : all) {
    if (!tell_state(command, *described.group) || described.rows.empty()) continue;
    std::vector<Table::Column> columns{{"GROUP", 15, true}, {"TOPIC", 15, true}, {"PARTITION", 10}};
    if (verbose) columns.push_back({"LEADER-EPOCH"});
    for (std::string_view title : {"CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"}) columns.push_back({title});
    columns.push_back({"CONSUMER-ID", 15, true});
    columns.push_back({"HOST", 15, true});
    columns.push_back({"CLIENT-ID", 0, false, false});
    Table table(std::move(columns));
    for (const OffsetRow& row : described.rows) {
      std::optional<std::int64_t> current;
      std::optional<std::int32_t> epoch;
      if (auto found = described.committed.find(row.key); found != described.committed.end()) {
        current = found->second.offset;
        epoch = found->second.leader_epoch;
      }
      client::FoundOffset end;
      if (auto found = described.ends.find(row.key); found != described.ends.end()) end = found->second;
      std::optional<std::int64_t> lag;
      if (current && end) lag = *end - *current;
      std::vector<std::string> cells{described.group->group_id, row.key.topic, fmt::format("{}", row.key.partition)};
      if (verbose) cells.push_back(or_missing(epoch));
      for (const auto& number : {current, end, lag}) cells.push_back(or_missing(number));
      cells.insert(cells.end(), {row.consumer, row.host, row.client});
      table.add(std::move(cells));
    }
    table.print(command);
  }
  return {};
}

void describe_members(GroupsCommand& command, const std::vector<GroupDescription>& groups) {
  bool verbose = command.options.has("verbose");
  for (const GroupDescription& group : groups) {
    if (!tell_state(command, group)) continue;
    if (group.state != "Empty" && group.members.empty()) continue;
    bool any_static =
        std::ranges::any_of(group.members, [](const DescribedMember& member) { return member.instance_id.has_value(); });
    bool any_type = verbose && !group.classic &&
                    std::ranges::any_of(group.members, [](const DescribedMember& m) { return m.upgraded == false; });
    std::vector<Table::Column> columns{{"GROUP", 15, true}, {"CONSUMER-ID", 15, true}};
    if (any_static) columns.push_back({"GROUP-INSTANCE-ID", 17, true});
    columns.push_back({"HOST", 15, true});
    columns.push_back({"CLIENT-ID", 15, true});
    columns.push_back({"#PARTITIONS", verbose ? 15U : 16U});
    if (verbose) {
      if (any_type) columns.push_back({"UPGRADED"});
      columns.push_back({"CURRENT-EPOCH"});
      columns.push_back({"CURRENT-ASSIGNMENT", 20, true});
      columns.push_back({"TARGET-EPOCH"});
      columns.push_back({"TARGET-ASSIGNMENT", 20, true});
    }
    Table table(std::move(columns));
    std::vector<const DescribedMember*> members;
    for (const DescribedMember& member : group.members) members.push_back(&member);
    std::ranges::stable_sort(members, std::greater<>(),
                             [](const DescribedMember* member) { return member->assignment.size(); });
    for (const DescribedMember* member : members) {
      std::vector<std::string> cells{group.group_id, member->member_id};
      if (any_static) cells.push_back(member->instance_id.value_or(""));
      cells.insert(cells.end(), {member->host, member->client_id, fmt::format("{}", member->assignment.size())});
      if (verbose) {
        if (any_type) cells.push_back(or_missing(member->upgraded));
        cells.push_back(or_missing(member->epoch));
        cells.push_back(assignment_text(member->assignment));
        cells.push_back(or_missing(group.target_assignment_epoch));
        cells.push_back(assignment_text(member->target_assignment.value_or(std::vector<GroupPartition>())));
      }
      table.add(std::move(cells));
    }
    table.print(command);
  }
}

void describe_states(GroupsCommand& command, const std::vector<GroupDescription>& groups) {
  bool verbose = command.options.has("verbose");
  for (const GroupDescription& group : groups) {
    if (!tell_state(command, group)) continue;
    std::vector<Table::Column> columns{
        {"GROUP", 15, true}, {"COORDINATOR (ID)", 25, true}, {"ASSIGNMENT-STRATEGY", 20}, {"STATE", 20}};
    if (verbose) {
      columns.push_back({"GROUP-EPOCH"});
      columns.push_back({"TARGET-ASSIGNMENT-EPOCH", 25});
    }
    columns.push_back({"#MEMBERS", 0, false, false});
    Table table(std::move(columns));
    std::vector<std::string> cells{
        group.group_id,
        fmt::format("{}:{}  ({})", group.coordinator.host, group.coordinator.port, group.coordinator.id),
        group.assignor.empty() ? std::string(kMissing) : group.assignor, group.state};
    if (verbose) cells.insert(cells.end(), {or_missing(group.group_epoch), or_missing(group.target_assignment_epoch)});
    cells.push_back(fmt::format("{}", group.members.size()));
    table.add(std::move(cells));
    table.print(command);
  }
}

}  // namespace

MaybeStop describe_groups(GroupsCommand& command) {
  std::vector<std::string> ids;
  if (auto stop = chosen_groups(command, ids)) return stop;
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.empty() && command.options.has("all-groups")) return {};
  std::vector<GroupDescription> groups;
  for (const std::string& id : ids) {
    auto group = command.groups.describe(id, command.deadline());
    if (!group) {
      Thrown exception = execution(group.failure());
      // The tool tells the cause, not what it came wrapped in.
      exception.message = client::to_java(group.failure());
      return Stop(std::move(exception));
    }
    groups.push_back(*std::move(group));
  }
  if (command.options.has("state")) {
    describe_states(command, groups);
  } else if (command.options.has("members")) {
    describe_members(command, groups);
  } else {
    return describe_offsets(command, groups);
  }
  return {};
}

}  // namespace cordwood::cli
