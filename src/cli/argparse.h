// cli/argparse.h — command lines read in argparse4j's way, as some of Kafka's tools have it: kafka-storage,
// kafka-transactions, kafka-producer-perf-test, kafka-cluster, kafka-features, kafka-metadata-quorum. Found by trying
// version 0.7.0, theirs.
//
// Words are read from left to right, and the first thing that is wrong, or asks for help, ends it:
//   --name VALUE, --name=VALUE, and any beginning of a name that fits one option only
//   -n VALUE, -nVALUE, -n=VALUE, and flags in one word: -fgn VALUE
//   a value may not begin with '-' unless it is a whole number: --throughput -1
//   the first other word is the sub-command (or the beginning of its name); what follows is the sub-command's
//   behind "--" nothing is an option
// Only then comes what is missing: of the tool itself, then of the sub-command, the last one that its grammar declares
// first.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "cli/command.h"

namespace cordwood::cli {

struct Arguments {
  Options options;                        // of the tool itself
  const Grammar::Sub* command = nullptr;  // null for a tool without sub-commands
  Options command_options;
};

// Help of the tool (null) or of one sub-command was asked for; "help" with the letter h must be among no grammar's
// options: all have it.
struct HelpAsked {
  const Grammar::Sub* command;
};

// The option "version" was met, for tools that declare it.
struct VersionAsked {};

struct ArgumentMistake {
  std::string message;               // "argument --topic is required"
  std::vector<std::string> nearest;  // "Did you mean": commands, or options with their dashes
  const Grammar::Sub* command;       // whose words are wrong; null: the tool's own
};

using ArgumentOutcome = std::variant<Arguments, HelpAsked, VersionAsked, ArgumentMistake>;

// `grammar` must outlive the result. Numbers and choices are checked: int_value() and its like cannot fail afterwards.
ArgumentOutcome read_arguments(const Grammar& grammar, std::span<const std::string> words);

// "usage: kafka-storage format [-h] --config CONFIG …", wrapped at 75 columns. `program` is Kafka's name of the tool.
std::string usage_text(std::string_view program, const Grammar& grammar, const Grammar::Sub* command);
// The usage, the mistake wrapped and justified as argparse4j does, and what is near.
std::string mistake_text(std::string_view program, const Grammar& grammar, const ArgumentMistake& mistake);
// Usage, summary, sub-commands, options, and `details` for the tool itself: our words, in argparse4j's order.
std::string argument_help_text(std::string_view program, const Command& self, const Grammar::Sub* command);

// How a tool answers what is no command line to run.
struct ArgumentHabits {
  std::string_view program;  // "kafka-transactions.sh": not always the name of the command
  int help_code = 1;         // the exit code of --help
  std::string_view version = {};
};

// Reads the words, and answers them where nothing is to be run: help and version on stdout, a mistake on stderr (exit
// code 1). The alternative is the exit code.
std::variant<Arguments, int> arguments_or_exit_code(const Command& self, const ArgumentHabits& habits,
                                                    const Words& words, Session& session);

}  // namespace cordwood::cli
