// The file of kafka-consumer-groups --reset-offsets --from-file.
#include <fmt/format.h>

#include <algorithm>

#include "cli/consumer_groups.h"

namespace cordwood::cli {
namespace {

struct PlanCell {
  std::string text;
  std::size_t column = 0;  // in the line, from 1
};

std::vector<PlanCell> cells_of(std::string_view line) {
  std::vector<PlanCell> cells(1);
  cells.back().column = 1;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back().text += line[++i];
    } else if (line[i] == '"' && (quoted || cells.back().text.empty())) {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.push_back({{}, i + 2});
    } else {
      cells.back().text += line[i];
    }
  }
  return cells;
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.empty()) return Number{};
  return parse_number<Number>(text);
}

Thrown of_jackson(std::string_view class_name, std::string_view message, std::string_view place,
                  std::string_view behind = "") {
  return thrown(fmt::format("com.fasterxml.jackson.{}", class_name),
                fmt::format("{}\n at [Source: (StringReader); {}]{}", message, place, behind));
}

// Reads one line; what is thrown at it when it is none.
std::optional<Thrown> read_plan_line(std::string_view line, bool with_group, PlanLine& into) {
  if (line.empty()) {
    return of_jackson("databind.exc.MismatchedInputException", "No content to map due to end-of-input",
                      "line: UNKNOWN, column: UNKNOWN");
  }
  std::vector<PlanCell> cells = cells_of(line);
  std::size_t most = with_group ? 4 : 3;
  std::size_t count = cells.size();
  cells.resize(std::max(count, most));
  std::size_t next = 0;
  if (with_group) into.group = cells[next++].text;
  into.key.topic = cells[next++].text;
  auto mistake = [&](const PlanCell& cell, std::string_view type, std::string_view field) {
    return of_jackson(
        "databind.exc.InvalidFormatException",
        fmt::format("Cannot deserialize value of type `{}` from String \"{}\": not a valid `{}` value", type, cell.text,
                    type),
        fmt::format("line: 1, column: {}", cell.column),
        fmt::format(" (through reference chain: org.apache.kafka.tools.consumer.group.CsvUtils${}[\"{}\"])",
                    with_group ? "CsvRecordWithGroup" : "CsvRecordNoGroup", field));
  };
  auto partition = number_in<std::int32_t>(cells[next].text);
  if (!partition) return mistake(cells[next], "int", "partition");
  into.key.partition = *partition;
  ++next;
  auto offset = number_in<std::int64_t>(cells[next].text);
  if (!offset) return mistake(cells[next], "long", "offset");
  into.offset = *offset;
  if (count > most) {
    const PlanCell& surplus = cells[most];
    return of_jackson("dataformat.csv.CsvReadException",
                      fmt::format("Too many entries: expected at most {} (value #{} ({} chars) \"{}\")", most, most,
                                  surplus.text.size(), surplus.text),
                      fmt::format("line: 1, column: {}", surplus.column));
  }
  return {};
}

}  // namespace

std::optional<Thrown> parse_reset_plan(std::string_view text, bool only_group, std::vector<PlanLine>& plan) {
  std::optional<bool> with_group;
  if (!only_group) with_group = true;
  do {
    auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    PlanLine read;
    if (!with_group) {
      PlanLine trial;
      with_group = !line.empty() && read_plan_line(line, false, trial).has_value();
    }
    if (auto wrong = read_plan_line(line, *with_group, read)) return wrong;
    plan.push_back(std::move(read));
  } while (!text.empty());
  return {};
}

}  // namespace cordwood::cli
