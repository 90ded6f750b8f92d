#include "cli/argparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cordwood::cli {
namespace {

constexpr std::size_t kColumns = 75;

bool is_whole_number(std::string_view word) {
  if (word.size() < 2 || word.front() != '-') return false;
  return std::ranges::all_of(word.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && !is_whole_number(word);
}

// "--config/-c"
std::string spelled(const OptionSpec& option) {
  if (option.letter == 0) return fmt::format("--{}", option.name);
  return fmt::format("--{}/-{}", option.name, option.letter);
}

// What turning `from` into `to` costs: putting a letter in 1, changing one 2, taking one out 3, swapping neighbours
// nothing; letters taken out of the front cost 1.
std::size_t cost_of_change(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(to.size() + 1);
  for (std::size_t j = 0; j < last.size(); ++j) last[j] = j;
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::vector<std::size_t> row{i + 1};
    for (std::size_t j = 0; j < to.size(); ++j) {
      std::size_t cost = last[j] + (from[i] == to[j] ? 0 : 2);
      if (i > 0 && j > 0 && from[i - 1] == to[j] && from[i] == to[j - 1]) cost = std::min(cost, before_last[j - 1]);
      row.push_back(std::min({cost, last[j + 1] + 3, row[j] + 1}));
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last.back();
}

// The cheapest of `names` to reach from `misspelt`, sorted; nothing when that is dear.
std::vector<std::string> cheapest(std::string_view misspelt, const std::vector<std::string_view>& names) {
  std::size_t best = 6;
  std::vector<std::string> nearest;
  for (std::string_view name : names) {
    std::size_t cost = misspelt.empty() ? 0 : cost_of_change(misspelt, name);
    if (cost < best) nearest.clear();
    if (cost <= best) nearest.emplace_back(name);
    best = std::min(best, cost);
  }
  std::ranges::sort(nearest);
  return nearest;
}

std::string_view java_name(Number number) {
  switch (number) {
    case Number::none:
      return "String";
    case Number::int32:
      return "Integer";
    case Number::int64:
      return "Long";
    case Number::float64:
      return "Double";
  }
  return {};
}

// What Java says of a text that is no number.
std::string conversion_mistake(const OptionSpec& option, std::string_view value) {
  std::string why = fmt::format("For input string: \"{}\"", value);
  bool blank = value.find_first_not_of(' ') == std::string_view::npos;
  if (option.number == Number::float64 && blank) why = "empty String";
  return fmt::format("argument {}: could not convert '{}' to {} ({})", spelled(option), value, java_name(option.number),
                     why);
}

bool is_number(Number number, std::string_view value) {
  switch (number) {
    case Number::none:
      return true;
    case Number::int32:
      return parse_number<std::int32_t>(value).has_value();
    case Number::int64:
      return parse_number<std::int64_t>(value).has_value();
    case Number::float64:
      return parse_number<double>(value).has_value();
  }
  return false;
}

}  // namespace

// Reads the words of one grammar: the tool's, or a sub-command's.
class ArgumentParser {
 public:
  ArgumentParser(const Grammar& grammar, const Grammar::Sub* command, std::span<const std::string> words)
      : grammar_(grammar), command_(command), words_(words) {
    options_.grammar_ = &grammar;
  }

  // Nothing when all words are read, or those before a sub-command: sub_command() and rest() then tell of it.
  std::optional<ArgumentOutcome> read() {
    while (next_ < words_.size()) {
      const std::string& word = words_[next_];
      if (word == "--") {
        ++next_;
        if (next_ < words_.size()) return surplus();
        return {};
      }
      if (!is_option(word)) return read_word(word);
      ++next_;
      auto outcome = word.starts_with("--") ? read_long(word) : read_letters(word);
      if (outcome) return outcome;
    }
    return {};
  }

  // What is required and missing, last first.
  std::optional<ArgumentOutcome> check_required() const {
    for (auto option = grammar_.options.rbegin(); option != grammar_.options.rend(); ++option) {
      if (option->required && !options_.has(option->name))
        return mistake(fmt::format("argument {} is required", spelled(*option)));
    }
    for (auto group = grammar_.exclusive.rbegin(); group != grammar_.exclusive.rend(); ++group) {
      if (!group->required || std::ranges::any_of(group->names, [&](auto name) { return options_.has(name); }))
        continue;
      std::string names;
      for (std::string_view name : group->names) names += " " + spelled(*grammar_.find(name));
      return mistake(fmt::format("one of the arguments{} is required", names));
    }
    return {};
  }

  ArgumentOutcome mistake(std::string message, std::vector<std::string> nearest = {}) const {
    return ArgumentMistake{std::move(message), std::move(nearest), command_};
  }

  const Grammar::Sub* sub_command() const { return sub_command_; }
  std::span<const std::string> rest() const { return words_.subspan(next_); }
  Options take_options() { return std::move(options_); }

 private:
  ArgumentOutcome surplus() const {
    return mistake(fmt::format("unrecognized arguments: '{}'", fmt::join(words_.subspan(next_), " ")));
  }

  // A word that belongs to no option.
  std::optional<ArgumentOutcome> read_word(const std::string& word) {
    if (grammar_.subcommands.empty()) return surplus();
    std::vector<std::string_view> names;
    std::vector<std::string_view> begins;
    for (const Grammar::Sub& sub : grammar_.subcommands) {
      names.push_back(sub.name);
      if (sub.name == word) sub_command_ = &sub;
      if (!word.empty() && sub.name.starts_with(word)) begins.push_back(sub.name);
    }
    std::ranges::sort(begins);
    if (sub_command_ == nullptr && begins.size() > 1) {
      return mistake(fmt::format("ambiguous command: {} could match {}", word, fmt::join(begins, ", ")));
    }
    if (sub_command_ == nullptr && begins.size() == 1) {
      sub_command_ = &*std::ranges::find(grammar_.subcommands, begins.front(), &Grammar::Sub::name);
    }
    if (sub_command_ == nullptr) {
      return mistake(fmt::format("invalid choice: '{}' (choose from '{}')", word, fmt::join(names, "', '")),
                     cheapest(word, names));
    }
    ++next_;
    return {};
  }

  ArgumentOutcome unrecognized(std::string_view word) const {
    std::string_view body = word;
    body.remove_prefix(std::min(body.find_first_not_of('-'), body.size()));
    std::vector<std::string> nearest;
    if (body.size() > 1) {
      std::vector<std::string_view> names{"help"};
      for (const OptionSpec& option : grammar_.options) names.push_back(option.name);
      for (std::string& name : cheapest(body, names)) nearest.push_back("--" + name);
    }
    return mistake(fmt::format("unrecognized arguments: '{}'", word), std::move(nearest));
  }

  std::optional<ArgumentOutcome> read_long(const std::string& word) {
    auto equals = word.find('=');
    std::string_view name = std::string_view(word).substr(2, equals == std::string::npos ? equals : equals - 2);
    std::optional<std::string> attached;
    if (equals != std::string::npos) attached = word.substr(equals + 1);
    const OptionSpec* option = grammar_.find(name);
    if (option == nullptr && name != "help") {
      std::vector<std::string> begins;
      for (const OptionSpec& candidate : grammar_.options) {
        if (candidate.name.starts_with(name)) begins.push_back(fmt::format("--{}", candidate.name));
      }
      if (std::string_view("help").starts_with(name)) begins.emplace_back("--help");
      std::ranges::sort(begins);
      if (begins.size() > 1) {
        return mistake(fmt::format("ambiguous option: --{} could match {}", name, fmt::join(begins, ", ")));
      }
      if (begins.empty()) return unrecognized(word);
      name = begins.front();
      name.remove_prefix(2);
      option = grammar_.find(name);
    }
    if (option == nullptr) return ArgumentOutcome(HelpAsked{command_});
    return take(*option, std::move(attached));
  }

  std::optional<ArgumentOutcome> read_letters(const std::string& word) {
    for (std::size_t at = 1; at < word.size(); ++at) {
      const OptionSpec* option = grammar_.find(word[at]);
      if (option == nullptr && word[at] == 'h') return ArgumentOutcome(HelpAsked{command_});
      if (option == nullptr) return unrecognized(word);
      std::optional<std::string> attached;
      if (at + 1 < word.size() && (option->takes_value() || (at == 1 && word[at + 1] == '='))) {
        attached = word.substr(word[at + 1] == '=' ? at + 2 : at + 1);
      }
      bool ends_word = option->takes_value() || attached;
      if (auto outcome = take(*option, std::move(attached))) return outcome;
      if (ends_word) break;
    }
    return {};
  }

  // `option` was named, perhaps with its value in the same word.
  std::optional<ArgumentOutcome> take(const OptionSpec& option, std::optional<std::string> attached) {
    if (option.name == "version") return ArgumentOutcome(VersionAsked{});
    for (const Exclusive& group : grammar_.exclusive) {
      if (std::ranges::find(group.names, option.name) == group.names.end()) continue;
      for (std::string_view other : group.names) {
        if (other == option.name || !options_.has(other)) continue;
        return mistake(
            fmt::format("argument {}: not allowed with argument {}", spelled(option), spelled(*grammar_.find(other))));
      }
    }
    if (!option.takes_value()) {
      if (attached)
        return mistake(fmt::format("argument {}: ignore implicit argument '{}'", spelled(option), *attached));
      keep(option, {});
      return {};
    }
    std::vector<std::string> values;
    if (attached) {
      values.push_back(*std::move(attached));
    } else {
      while (next_ < words_.size() && words_[next_] != "--" && !is_option(words_[next_])) {
        values.push_back(words_[next_++]);
        if (!option.takes_several) break;
      }
    }
    if (values.empty()) {
      return mistake(fmt::format("argument {}: expected {}", spelled(option),
                                 option.takes_several ? "1 argument(s)" : "one argument"));
    }
    for (const std::string& value : values) {
      if (!is_number(option.number, value)) return mistake(conversion_mistake(option, value));
      if (!option.choices.empty() && std::ranges::find(option.choices, value) == option.choices.end()) {
        return mistake(fmt::format("argument {}: invalid choice: '{}' (choose from {{{}}})", spelled(option), value,
                                   fmt::join(option.choices, ",")));
      }
    }
    if (!option.repeatable) std::erase_if(options_.given_, [&](const auto& given) { return given.option == &option; });
    for (std::string& value : values) keep(option, std::move(value));
    return {};
  }

  void keep(const OptionSpec& option, std::optional<std::string> value) {
    options_.given_.push_back({&option, std::move(value)});
  }

  const Grammar& grammar_;
  const Grammar::Sub* command_;
  std::span<const std::string> words_;
  std::size_t next_ = 0;
  Options options_;
  const Grammar::Sub* sub_command_ = nullptr;
};

ArgumentOutcome read_arguments(const Grammar& grammar, std::span<const std::string> words) {
  ArgumentParser tool(grammar, nullptr, words);
  if (auto outcome = tool.read()) return *std::move(outcome);
  Arguments arguments;
  arguments.command = tool.sub_command();
  if (arguments.command == nullptr) {
    if (auto outcome = tool.check_required()) return *std::move(outcome);
    if (!grammar.subcommands.empty()) return tool.mistake("too few arguments");
  } else {
    ArgumentParser command(*arguments.command->grammar, arguments.command, tool.rest());
    if (auto outcome = command.read()) return *std::move(outcome);
    if (auto outcome = tool.check_required()) return *std::move(outcome);
    if (auto outcome = command.check_required()) return *std::move(outcome);
    arguments.command_options = command.take_options();
  }
  arguments.options = tool.take_options();
  return arguments;
}

namespace {

// Pieces of `text` that lines may end behind: blanks, and hyphens before a letter. Blanks stand at the front of a
// piece.
std::vector<std::string_view> pieces_of(std::string_view text) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    bool behind_hyphen = text[i - 1] == '-' && text[i] != '-' && text[i] != ' ';
    if (text[i] != ' ' && !behind_hyphen) continue;
    pieces.push_back(text.substr(begin, i - begin));
    begin = i;
  }
  pieces.push_back(text.substr(begin));
  return pieces;
}

// `line` made kColumns wide by more blanks, the middle ones first.
std::string justified(std::string_view line) {
  auto gaps = static_cast<std::size_t>(std::ranges::count(line, ' '));
  if (gaps == 0 || line.size() >= kColumns) return std::string(line);
  std::size_t missing = kColumns - line.size();
  std::size_t each = missing / gaps;
  std::size_t more = missing % gaps;
  std::size_t first = (gaps - more + 1) / 2;
  std::string wide;
  std::size_t gap = 0;
  for (char c : line) {
    wide += c;
    if (c != ' ') continue;
    wide.append(each + (gap >= first && gap < first + more ? 1 : 0), ' ');
    ++gap;
  }
  return wide;
}

std::string justified_paragraph(std::string_view text) {
  std::string result;
  std::string line;
  for (std::string_view piece : pieces_of(text)) {
    if (!line.empty() && line.size() + piece.size() > kColumns) {
      result += justified(line) + "\n";
      line.clear();
    }
    if (line.empty() && piece.starts_with(' ') && !result.empty()) piece.remove_prefix(1);
    line += piece;
  }
  return result + line + "\n";
}

std::string in_usage(const OptionSpec& option) {
  std::string text = fmt::format("--{}", option.name);
  if (option.takes_value()) text += fmt::format(" {}", option.argument);
  if (option.takes_several) text += fmt::format(" [{} ...]", option.argument);
  return text;
}

bool is_exclusive(const Grammar& grammar, const OptionSpec& option) {
  return std::ranges::any_of(grammar.exclusive, [&](const Exclusive& group) {
    return std::ranges::find(group.names, option.name) != group.names.end();
  });
}

// What must or may be given: one text for each thing that stays on one line.
void usage_parts(const Grammar& grammar, bool required_only, std::vector<std::string>& parts) {
  if (!required_only) parts.emplace_back("[-h]");
  for (const OptionSpec& option : grammar.options) {
    if (is_exclusive(grammar, option)) continue;
    if (option.required) parts.push_back(in_usage(option));
    if (!option.required && !required_only) parts.push_back(fmt::format("[{}]", in_usage(option)));
  }
  for (const Exclusive& group : grammar.exclusive) {
    if (required_only && !group.required) continue;
    for (std::size_t i = 0; i < group.names.size(); ++i) {
      std::string text = in_usage(*grammar.find(group.names[i]));
      if (i == 0) text = (group.required ? "(" : "[") + text;
      text += i + 1 < group.names.size() ? " |" : group.required ? ")" : "]";
      parts.push_back(std::move(text));
    }
  }
}

}  // namespace

std::string usage_text(std::string_view program, const Grammar& grammar, const Grammar::Sub* command) {
  std::vector<std::string> parts;
  usage_parts(grammar, command != nullptr, parts);
  if (command != nullptr) {
    parts.emplace_back(command->name);
    usage_parts(*command->grammar, false, parts);
  } else if (!grammar.subcommands.empty()) {
    std::vector<std::string_view> names;
    for (const Grammar::Sub& sub : grammar.subcommands) names.push_back(sub.name);
    parts.push_back(fmt::format("{{{}}}", fmt::join(names, ",")));
    parts.emplace_back("...");
  }
  std::string text = fmt::format("usage: {}", program);
  std::size_t width = text.size();
  const std::size_t indent = std::min<std::size_t>(width + 1, 21);
  for (const std::string& part : parts) {
    if (width + 1 + part.size() > kColumns) {
      text += fmt::format("\n{:{}}", "", indent - 1);
      width = indent - 1;
    }
    text += " " + part;
    width += 1 + part.size();
  }
  return text + "\n";
}

std::string mistake_text(std::string_view program, const Grammar& grammar, const ArgumentMistake& mistake) {
  std::string text = usage_text(program, grammar, mistake.command);
  text += justified_paragraph(fmt::format("{}: error: {}", program, mistake.message));
  if (!mistake.nearest.empty()) text += fmt::format("\nDid you mean:\n\t{}\n", fmt::join(mistake.nearest, "\n\t"));
  return text;
}

std::string argument_help_text(std::string_view program, const Command& self, const Grammar::Sub* command) {
  const Grammar& grammar = command == nullptr ? *self.grammar : *command->grammar;
  std::string text = usage_text(program, *self.grammar, command);
  text += fmt::format("\n{}\n", command == nullptr ? self.summary : command->summary);
  if (!grammar.subcommands.empty()) {
    text += "\ncommands:\n";
    for (const Grammar::Sub& sub : grammar.subcommands) text += fmt::format("  {:<26}{}\n", sub.name, sub.summary);
  }
  std::vector<OptionSpec> options{{.name = "help", .help = "this text", .letter = 'h'}};
  options.insert(options.end(), grammar.options.begin(), grammar.options.end());
  text += "\noptions:\n" + option_table(Grammar{.options = options}, kColumns);
  if (command == nullptr && !self.details.empty()) text += fmt::format("\n{}\n", self.details);
  return text;
}

std::variant<Arguments, int> arguments_or_exit_code(const Command& self, const ArgumentHabits& habits,
                                                    const Words& words, Session& session) {
  ArgumentOutcome outcome = read_arguments(*self.grammar, words);
  if (auto* arguments = std::get_if<Arguments>(&outcome)) return std::move(*arguments);
  if (auto* help = std::get_if<HelpAsked>(&outcome)) {
    session.out.write(argument_help_text(habits.program, self, help->command));
    return habits.help_code;
  }
  if (std::holds_alternative<VersionAsked>(outcome)) {
    session.out.print("{}\n", habits.version);
    return 0;
  }
  session.err.write(mistake_text(habits.program, *self.grammar, std::get<ArgumentMistake>(outcome)));
  return 1;
}

}  // namespace cordwood::cli
