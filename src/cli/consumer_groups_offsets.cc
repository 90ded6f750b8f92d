// kafka-consumer-groups --reset-offsets and --delete-offsets.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/admin_client.h"
#include "cli/consumer_groups.h"
#include "cli/json_rows.h"
#include "client/java_order.h"

namespace cordwood::cli {
namespace {

using client::GroupPartition;
using protocol::ErrorCode;

using GroupOffsets = std::vector<std::pair<GroupPartition, std::int64_t>>;  // in the order of Java's map
using Found = std::map<GroupPartition, client::FoundOffset>;

std::int32_t hash_of(const GroupPartition& key) {
  return client::java_hash_code(key.topic, key.partition);
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    auto end = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

class Resetter {
 public:
  explicit Resetter(GroupsCommand& command) : command_(command) {}

  MaybeStop run() {
    std::vector<std::string> groups;
    if (auto stop = chosen_groups(command_, groups)) return stop;
    std::vector<std::string> distinct;
    for (std::string& group : groups) {
      if (std::ranges::find(distinct, group) == distinct.end()) distinct.push_back(std::move(group));
    }
    distinct = client::in_java_order(std::move(distinct), [](const std::string& id) { return client::java_hash_code(id); });
    bool only_shown = command_.options.has("dry-run") || !command_.options.has("execute");
    std::map<std::string, std::string> states;
    for (const std::string& group : distinct) {
      auto description = command_.groups.describe(group, command_.deadline());
      if (description) {
        states[group] = description->state;
      } else if (description.failure().code == ErrorCode::GROUP_ID_NOT_FOUND) {
        states[group] = "Dead";
      } else {
        return Stop(runtime_execution(description.failure()));
      }
    }
    std::vector<std::pair<std::string, GroupOffsets>> results;
    for (const std::string& group : distinct) {
      results.emplace_back(group, GroupOffsets());
      if (states[group] != "Empty" && states[group] != "Dead") {
        print_error(
            command_.remarks(),
            fmt::format("Assignments can only be reset if the group '{}' is inactive, but the current state is {}.",
                        group, states[group]));
        continue;
      }
      if (auto stop = prepare(group, distinct.size() == 1, results.back().second)) return stop;
      if (only_shown || results.back().second.empty()) continue;
      std::map<GroupPartition, std::int64_t> offsets(results.back().second.begin(), results.back().second.end());
      auto committed = command_.groups.commit(group, offsets, command_.deadline());
      if (!committed) return Stop(runtime_execution(committed.failure()));
    }
    print(results);
    return {};
  }

 private:
  MaybeStop prepare(const std::string& group, bool only_group, GroupOffsets& offsets) {
    if (command_.options.has("from-file")) return from_file(group, only_group, offsets);
    std::vector<GroupPartition> partitions;
    if (auto stop = partitions_to_reset(group, partitions)) return stop;
    partitions = client::in_java_order(std::move(partitions), hash_of);
    const Options& options = command_.options;
    if (options.has("to-offset")) return to_offset(partitions, offsets);
    if (options.has("to-earliest")) return to_time(partitions, client::kEarliestTimestamp, offsets);
    if (options.has("to-latest")) return to_time(partitions, client::kLatestTimestamp, offsets);
    if (options.has("shift-by")) return shift_by(group, partitions, offsets);
    if (options.has("to-datetime")) return to_datetime(partitions, offsets);
    if (options.has("by-duration")) return by_duration(partitions, offsets);
    if (options.has("to-current")) return to_current(group, partitions, offsets);
    return Stop(
        UsageMistake{"Option '[reset-offsets]' requires one of the following scenarios: [[to-offset], [to-datetime], "
                     "[by-duration], [to-earliest], "
                     "[to-latest], [shift-by], [from-file], [to-current]]"});
  }

  MaybeStop partitions_to_reset(const std::string& group, std::vector<GroupPartition>& partitions) {
    if (command_.options.has("all-topics")) {
      auto committed = command_.groups.committed(group, command_.deadline());
      if (!committed) return Stop(runtime_execution(committed.failure()));
      for (const auto& [key, offset] : *committed) partitions.push_back(key);
      return {};
    }
    if (!command_.options.has("topic")) {
      return Stop(UsageMistake{"One of the reset scopes should be defined: --all-topics, --topic."});
    }
    std::vector<std::string> missing;
    std::set<GroupPartition> named;
    for (const std::string& word : command_.options.values("topic")) {
      auto argument = parse_topic_argument(word);
      if (auto* mistake = std::get_if<std::string>(&argument)) return Stop(UsageMistake{*mistake});
      const auto& topic = std::get<TopicArgument>(argument);
      auto there = command_.groups.partitions_of(topic.topic, "describeTopics", command_.deadline());
      if (!there) return Stop(plain(there.failure()));
      for (std::int32_t partition : topic.partitions.value_or(*there)) {
        GroupPartition key{topic.topic, partition};
        if (std::ranges::find(*there, partition) == there->end()) missing.push_back(key.to_string());
        if (named.insert(key).second) partitions.push_back(key);
      }
    }
    if (!missing.empty()) {
      return Stop(thrown("org.apache.kafka.common.errors.UnknownTopicOrPartitionException",
                         fmt::format("The partitions \"{}\" do not exist", fmt::join(missing, ", "))));
    }
    return {};
  }

  MaybeStop find(const std::vector<GroupPartition>& partitions, std::int64_t timestamp, Found& found) {
    if (partitions.empty()) return {};
    std::map<GroupPartition, std::int64_t> wanted;
    for (const GroupPartition& key : partitions) wanted[key] = timestamp;
    auto answer = command_.groups.offsets_at(wanted, command_.deadline());
    if (!answer) return Stop(runtime_execution(answer.failure()));
    found = *std::move(answer);
    return {};
  }

  MaybeStop to_time(const std::vector<GroupPartition>& partitions, std::int64_t timestamp, GroupOffsets& offsets) {
    Found found;
    if (auto stop = find(partitions, timestamp, found)) return stop;
    for (const GroupPartition& key : partitions) offsets.emplace_back(key, found[key].value_or(0));
    return {};
  }

  // The offsets that are asked for, each drawn into what its partition has.
  MaybeStop within_range(const GroupOffsets& wanted, GroupOffsets& offsets) {
    std::vector<GroupPartition> partitions;
    for (const auto& [key, offset] : wanted) partitions.push_back(key);
    Found begins;
    Found ends;
    if (auto stop = find(partitions, client::kEarliestTimestamp, begins)) return stop;
    if (auto stop = find(partitions, client::kLatestTimestamp, ends)) return stop;
    auto warn = [&](std::string_view which, const GroupPartition& key, std::int64_t offset, std::int64_t instead) {
      log_line(command_.session, Level::warn,
               fmt::format("New offset ({}) is {} offset for topic partition {}. Value will be set to {}.", offset,
                           which, key.to_string(), instead),
               "org.apache.kafka.tools.GroupOffsetsResetter");
    };
    for (const auto& [key, offset] : wanted) {
      std::int64_t begin = begins[key].value_or(0);
      std::int64_t end = ends[key].value_or(0);
      if (offset > end) warn("higher than latest", key, offset, end);
      if (offset <= end && offset < begin) warn("lower than earliest", key, offset, begin);
      offsets.emplace_back(key, offset > end ? end : std::max(offset, begin));
    }
    return {};
  }

  MaybeStop to_offset(const std::vector<GroupPartition>& partitions, GroupOffsets& offsets) {
    auto offset = command_.options.long_value("to-offset");
    if (!offset) return Stop(of_options(offset.mistake()));
    GroupOffsets wanted;
    for (const GroupPartition& key : partitions) wanted.emplace_back(key, offset->value_or(0));
    return within_range(wanted, offsets);
  }

  MaybeStop shift_by(const std::string& group, const std::vector<GroupPartition>& partitions, GroupOffsets& offsets) {
    auto committed = command_.groups.committed(group, command_.deadline());
    if (!committed) return Stop(runtime_execution(committed.failure()));
    auto shift = command_.options.long_value("shift-by");
    if (!shift) return Stop(of_options(shift.mistake()));
    GroupOffsets wanted;
    for (const GroupPartition& key : partitions) {
      auto current = committed->find(key);
      if (current == committed->end()) {
        return Stop(UsageMistake{fmt::format(
            "Cannot shift offset for partition {} since there is no current committed offset", key.to_string())});
      }
      auto shifted = static_cast<std::int64_t>(static_cast<std::uint64_t>(current->second.offset) +
                                               static_cast<std::uint64_t>(shift->value_or(0)));
      wanted.emplace_back(key, shifted);
    }
    return within_range(wanted, offsets);
  }

  MaybeStop to_first_at(const std::vector<GroupPartition>& partitions, std::int64_t timestamp, GroupOffsets& offsets) {
    Found found;
    if (auto stop = find(partitions, timestamp, found)) return stop;
    std::vector<GroupPartition> behind;
    for (const GroupPartition& key : partitions) {
      if (!found[key]) behind.push_back(key);
    }
    for (const GroupPartition& key : client::in_java_order(behind, hash_of)) {
      command_.remarks().print("\nWarn: Partition {} from topic {} is empty. Falling back to latest known offset.\n",
                                 key.partition, key.topic);
    }
    Found ends;
    if (auto stop = find(behind, client::kLatestTimestamp, ends)) return stop;
    for (const GroupPartition& key : partitions) {
      client::FoundOffset offset = found[key] ? found[key] : ends[key];
      offsets.emplace_back(key, offset.value_or(0));
    }
    return {};
  }

  MaybeStop to_datetime(const std::vector<GroupPartition>& partitions, GroupOffsets& offsets) {
    auto text = command_.options.value("to-datetime");
    if (!text) return Stop(of_options(text.mistake()));
    std::string mistake;
    auto time = parse_java_datetime(text->value_or(""), mistake);
    if (!time) return Stop(thrown("java.text.ParseException", mistake).wrapped("java.lang.RuntimeException"));
    return to_first_at(partitions, *time, offsets);
  }

  MaybeStop by_duration(const std::vector<GroupPartition>& partitions, GroupOffsets& offsets) {
    auto text = command_.options.value("by-duration");
    if (!text) return Stop(of_options(text.mistake()));
    auto duration = parse_java_duration(text->value_or(""));
    if (!duration)
      return Stop(thrown("java.time.format.DateTimeParseException", "Text cannot be parsed to a Duration"));
    return to_first_at(partitions, command_.session.clock.now().value - *duration, offsets);
  }

  MaybeStop to_current(const std::string& group, const std::vector<GroupPartition>& partitions, GroupOffsets& offsets) {
    auto committed = command_.groups.committed(group, command_.deadline());
    if (!committed) return Stop(runtime_execution(committed.failure()));
    std::vector<GroupPartition> without;
    for (const GroupPartition& key : partitions) {
      if (!committed->contains(key)) without.push_back(key);
    }
    Found ends;
    if (auto stop = find(without, client::kLatestTimestamp, ends)) return stop;
    for (const GroupPartition& key : partitions) {
      auto current = committed->find(key);
      offsets.emplace_back(key, current != committed->end() ? current->second.offset : ends[key].value_or(0));
    }
    return {};
  }

  MaybeStop read_plan(bool only_group, std::vector<PlanLine>& plan) {
    auto file = command_.options.value("from-file");
    if (!file) return Stop(of_options(file.mistake()));
    constexpr ByteCount kLargestPlan{256 * MiB};
    auto bytes = io::read_file(command_.session.files, file->value_or(""), kLargestPlan);
    if (!bytes) {
      Thrown exception = thrown("java.io.IOException", fmt::format("Unable to read file {}", file->value_or("")));
      exception.classes.push_back(fmt::format("java.nio.file.NoSuchFileException: {}", file->value_or("")));
      return Stop(exception.wrapped("java.lang.RuntimeException"));
    }
    if (auto mistake = parse_reset_plan(as_text(*bytes), only_group, plan))
      return Stop(mistake->wrapped("java.lang.RuntimeException"));
    return {};
  }

  MaybeStop from_file(const std::string& group, bool only_group, GroupOffsets& offsets) {
    if (!plan_) {
      plan_.emplace();
      if (auto stop = read_plan(only_group, *plan_)) return stop;
    }
    GroupOffsets wanted;
    for (const PlanLine& line : *plan_) {
      if (line.group != group && !(only_group && line.group.empty())) continue;
      std::erase_if(wanted, [&](const auto& earlier) { return earlier.first == line.key; });
      wanted.emplace_back(line.key, line.offset);
    }
    if (wanted.empty()) {
      print_error(command_.remarks(), fmt::format("No reset plan for group {} found.", group));
      return {};
    }
    wanted = client::in_java_order(std::move(wanted), [](const auto& offset) { return hash_of(offset.first); });
    return within_range(wanted, offsets);
  }

  void print(const std::vector<std::pair<std::string, GroupOffsets>>& results) {
    Output& out = command_.session.out;
    if (command_.options.has("export")) {
      for (const auto& [group, offsets] : results) {
        for (const auto& [key, offset] : offsets) {
          if (results.size() > 1) out.print("{},", group);
          out.print("{},{},{}\n", key.topic, key.partition, offset);
        }
      }
      out.write("\n");
      return;
    }
    if (command_.options.has("json")) {
      std::vector<std::vector<std::string>> rows;
      for (const auto& [group, offsets] : results) {
        for (const auto& [key, offset] : offsets) {
          rows.push_back({group, key.topic, fmt::format("{}", key.partition), fmt::format("{}", offset)});
        }
      }
      out.write(rows_as_json_lines({"GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"}, rows));
      return;
    }
    std::size_t group_width = 15;
    std::size_t topic_width = 15;
    for (const auto& [group, offsets] : results) {
      if (offsets.empty()) continue;
      group_width = std::max(group_width, group.size());
      for (const auto& [key, offset] : offsets) topic_width = std::max(topic_width, key.topic.size());
    }
    out.print("\n{:<{}} {:<{}} {:<10} {}\n", "GROUP", group_width, "TOPIC", topic_width, "PARTITION", "NEW-OFFSET");
    for (const auto& [group, offsets] : results) {
      for (const auto& [key, offset] : offsets) {
        out.print("{:<{}} {:<{}} {:<10} {}\n", group, group_width, key.topic, topic_width, key.partition, offset);
      }
    }
  }

  GroupsCommand& command_;
  std::optional<std::vector<PlanLine>> plan_;
};

// What became of the whole request of --delete-offsets.
void tell_deleted(GroupsCommand& command, const std::string& group, const std::optional<client::Failure>& top, bool any_partition_failed) {
  if (top) {
    switch (top->code) {
      case ErrorCode::INVALID_GROUP_ID:
      case ErrorCode::GROUP_ID_NOT_FOUND:
      case ErrorCode::GROUP_AUTHORIZATION_FAILED:
      case ErrorCode::NON_EMPTY_GROUP:
        print_error(command.remarks(), client::text_of(top->code));
        break;
      default:
        print_error(command.remarks(), fmt::format("Encountered some unknown error: {}", protocol::name_of(top->code)));
    }
  } else if (any_partition_failed) {
    print_error(command.remarks(), "Encountered some partition-level error, see the follow-up details.");
  } else if (!command.options.has("json")) {
    command.session.out.print("Request succeeded for deleting offsets from group {}.\n", group);
  }
}

// Rows of topic, partition, status.
void print_deleted(GroupsCommand& command, const std::vector<std::vector<std::string>>& rows) {
  Output& out = command.session.out;
  if (command.options.has("json")) {
    out.write(rows_as_json_lines({"TOPIC", "PARTITION", "STATUS"}, rows));
    return;
  }
  std::size_t width = 15;
  for (const auto& row : rows) width = std::max(width, row.front().size());
  auto line = [&](std::string_view topic, std::string_view partition, std::string_view status) {
    out.print("{:<{}} {:<10} {:<15}\n", topic, width, partition, status);
  };
  out.write("\n");
  line("TOPIC", "PARTITION", "STATUS");
  for (const auto& row : rows) line(row[0], row[1], row[2]);
}

}  // namespace

std::variant<TopicArgument, std::string> parse_topic_argument(const std::string& text) {
  auto colon = text.find(':');
  if (colon == std::string::npos) return TopicArgument{text, {}};
  TopicArgument argument{text.substr(0, colon), std::vector<std::int32_t>()};
  for (const std::string& part : split_at_commas(std::string_view(text).substr(colon + 1))) {
    auto partition = parse_number<std::int32_t>(part);
    if (!partition) return fmt::format("Invalid partition '{}' specified in topic arg '{}''", part, text);
    argument.partitions->push_back(*partition);
  }
  return argument;
}

MaybeStop reset_offsets(GroupsCommand& command) {
  return Resetter(command).run();
}

MaybeStop delete_offsets(GroupsCommand& command) {
  std::string group = command.options.values("group").front();
  std::map<std::string, client::Failure> bad_topics;
  std::set<GroupPartition> partitions;
  std::optional<client::Failure> top;
  for (const std::string& word : command.options.values("topic")) {
    auto argument = parse_topic_argument(word);
    if (auto* mistake = std::get_if<std::string>(&argument)) return Stop(UsageMistake{*mistake});
    const auto& topic = std::get<TopicArgument>(argument);
    if (topic.partitions) {
      for (std::int32_t partition : *topic.partitions) partitions.insert({topic.topic, partition});
      continue;
    }
    auto there = command.groups.partitions_of(topic.topic, "listNodes", command.deadline());
    if (!there) {
      bad_topics[topic.topic] = there.failure();
      continue;
    }
    for (std::int32_t partition : *there) partitions.insert({topic.topic, partition});
  }
  std::map<GroupPartition, ErrorCode> codes;
  std::optional<ErrorCode> of_partition;
  if (!partitions.empty()) {
    auto answer = command.groups.remove_offsets(group, partitions, command.deadline());
    if (answer) {
      codes = *std::move(answer);
      for (const auto& [key, code] : codes) {
        if (code != ErrorCode::NONE && !of_partition) of_partition = code;
      }
    } else {
      top = answer.failure();
    }
  } else {
    for (const auto& [topic, failure] : bad_topics) {
      if (failure.code == ErrorCode::REQUEST_TIMED_OUT) top = failure;
    }
  }
  tell_deleted(command, group, top, of_partition.has_value());
  std::vector<std::vector<std::string>> rows;
  for (const GroupPartition& key : partitions) {
    auto code = codes.find(key);
    std::string status = "Successful";
    if (top) status = fmt::format("Error: {}", client::to_java(*top));
    if (!top && code != codes.end() && code->second != ErrorCode::NONE) {
      status = fmt::format("Error: {}", client::to_java(client::failure_of(code->second)));
    }
    rows.push_back({key.topic, fmt::format("{}", key.partition), status});
  }
  for (const auto& [topic, failure] : bad_topics) rows.push_back({topic, "-", fmt::format("Error: {}", client::to_java(failure))});
  print_deleted(command, rows);
  return {};
}

}  // namespace cordwood::cli
