// server/command_line.h — what the program was asked to do.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace cordwood::server {

struct ShowHelp {
  bool operator==(const ShowHelp&) const = default;
};
struct ShowVersion {
  bool operator==(const ShowVersion&) const = default;
};
struct RunBroker {
  std::string properties_file;  // "" for none
  std::vector<std::pair<std::string, std::string>> overrides;  // in order; a later one of the same key wins
  bool operator==(const RunBroker&) const = default;
};
using Command = std::variant<RunBroker, ShowHelp, ShowVersion>;

// `arguments` without the program's name. Errors: invalid with one sentence for the user.
Result<Command> parse_command_line(const std::vector<std::string>& arguments);

std::string help_text();
std::string version_text();  // "0.1.0"

}  // namespace cordwood::server
