#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>

namespace cordwood::cli {
namespace {

std::string usage_line(const Command& command) {
  const Grammar& grammar = *command.grammar;
  std::string line = fmt::format("usage: cordwood {}", command.name);
  if (!grammar.usage.empty()) return line + fmt::format(" {}\n", grammar.usage);
  if (!grammar.subcommands.empty()) line += " COMMAND";
  if (!grammar.options.empty()) line += " [OPTIONS]";
  for (const Positional& positional : grammar.positionals) {
    std::string name(positional.name);
    if (positional.repeatable) name += "...";
    line += positional.required ? " " + name : fmt::format(" [{}]", name);
  }
  return line + "\n";
}

}  // namespace

std::string help_text(const Command& command, std::size_t columns) {
  const Grammar& grammar = *command.grammar;
  std::string text = fmt::format("{}: {}\n\n{}", command.name, command.summary, usage_line(command));
  if (!command.kafka_name.empty()) text += fmt::format("       {} ... (Apache Kafka's name)\n", command.kafka_name);
  if (!grammar.subcommands.empty()) {
    text += "\ncommands:\n";
    for (const Grammar::Sub& sub : grammar.subcommands) text += fmt::format("  {:<22}{}\n", sub.name, sub.summary);
  }
  if (!grammar.positionals.empty()) {
    text += "\n";
    for (const Positional& positional : grammar.positionals) text += fmt::format("  {:<12}{}\n", positional.name, positional.help);
  }
  if (!grammar.options.empty()) text += "\noptions:\n" + option_table(grammar, columns);
  if (!command.details.empty()) text += fmt::format("\n{}\n", command.details);
  return text;
}

void complain(const Command& command, const ParseMistake& mistake, Session& session) {
  std::string hint;
  if (mistake.kind == ParseMistake::Kind::unrecognized) {
    std::vector<std::string_view> names;
    for (const OptionSpec& option : command.grammar->options) names.push_back(option.name);
    std::vector<std::string> near = nearest_names(mistake.option, names);
    if (!near.empty()) hint = fmt::format("; did you mean --{}?", fmt::join(near, " or --"));
  }
  session.err.print("cordwood {}: {}{}\n", command.name, mistake.message, hint);
  session.err.print("'cordwood {} --help' shows what there is\n", command.name);
}

void complain(const Command& command, const Error& error, Session& session) {
  session.err.print("cordwood {}: {}\n", command.name, error.message());
}

int run_own(const Command& command, const Words& words, Session& session, Result<int> (*body)(const Options&, Session&),
            int failure) {
  auto options = parse_options(*command.grammar, words);
  if (!options) {
    complain(command, options.mistake(), session);
    return failure;
  }
  if (command.grammar->find("help") != nullptr && options->has("help")) {
    session.out.write(help_text(command, session.out.columns()));
    return 0;
  }
  auto code = body(*options, session);
  if (!code) {
    complain(command, code.error(), session);
    return failure;
  }
  return *code;
}

}  // namespace cordwood::cli
