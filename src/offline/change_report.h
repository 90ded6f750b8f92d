// offline/change_report.h — what roll, retain, compact and reindex print, of a directory and of a running broker.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/types.h"
#include "cli/session.h"
#include "offline/rendering.h"

namespace cordwood::offline {

// Adds fields to a line's JSON form. May be empty.
using FieldsOfLine = std::function<void(JsonLine&)>;

struct ChangeReport {
  cli::Session& session;
  std::string_view command;
  bool json = false;

  // One line about one log.
  void tell(const TopicPartition& partition, std::string_view text, const FieldsOfLine& fields = {}) const {
    if (!json) {
      session.out.print("{}: {}\n", partition.to_string(), text);
      return;
    }
    std::string out;
    JsonLine line(out);
    line.text("command", command).text("topic", partition.topic).number("partition", partition.partition.value);
    if (fields) fields(line);
    line.text("says", text);
    line.end();
    session.out.write(out);
  }
};

}  // namespace cordwood::offline
