// cli/command.h — what a command is: a name, the words it takes, and a function. The one declaration from which the parser,
// --help, shell completion and the man page are made.
//
// One binary has many names: `cordwood topics …` is the command `topics`, and so is the program when it is started under the
// name kafka-topics or kafka-topics.sh (a link to it).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "cli/session.h"

namespace cordwood::cli {

using Words = std::vector<std::string>;

struct Command {
  std::string_view name;        // "topics"
  std::string_view kafka_name;  // "kafka-topics"; empty for a command that only Cordwood has
  std::string_view summary;     // one line, without a full stop: "create, list, describe, alter and delete topics"
  std::string_view details;     // paragraphs for --help and the man page; may be empty
  const Grammar* grammar = nullptr;
  // Reads `words` (those behind the command's name), does the work, and answers the exit code. What goes wrong is told on
  // session.err by the command itself, in the way of the tool that it stands for. `self` is this declaration.
  int (*run)(const Command& self, const Words& words, Session& session) = nullptr;
};

// The commands of this folder. Each lies in a file of its own, as `const Command <name>_command`.
std::span<const Command* const> commands();

// The commands of all folders, for whoever lists them (install-links, completion, man pages, `cordwood help`).
class CommandList {
 public:
  explicit CommandList(std::vector<const Command*> commands);  // sorted by name here
  // By `name`, or by `kafka_name` with or without ".sh". Null when there is none.
  const Command* find(std::string_view name) const;
  std::span<const Command* const> all() const { return commands_; }

 private:
  std::vector<const Command*> commands_;
};

// The names nearest to a misspelt one, best first, at most three; those that are too far from it left out.
std::vector<std::string> nearest_names(std::string_view misspelt, std::span<const std::string_view> names);

}  // namespace cordwood::cli
