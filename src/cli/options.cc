#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <type_traits>

#include "base/check.h"

namespace cordwood::cli {
namespace {

using Kind = ParseMistake::Kind;

ParseMistake unrecognized(Habit habit, std::string_view dashed, std::string_view name) {
  if (habit == Habit::own) return {Kind::unrecognized, std::string(name), fmt::format("unknown option '{}'", dashed)};
  return {Kind::unrecognized, std::string(name), fmt::format("{} is not a recognized option", name)};
}

ParseMistake missing_argument(Habit habit, const OptionSpec& option) {
  if (habit == Habit::own) {
    return {Kind::missing_argument, std::string(option.name),
            fmt::format("'--{}' needs {} behind it", option.name, option.argument)};
  }
  return {Kind::missing_argument, std::string(option.name), fmt::format("Option {} requires an argument", option.name)};
}

bool looks_like_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && word != "--";
}

// Words of a command line, taken one by one.
class WordReader {
 public:
  explicit WordReader(std::span<const std::string> words) : words_(words) {}
  bool more() const { return next_ < words_.size(); }
  const std::string& peek() const { return words_[next_]; }
  const std::string& take() { return words_[next_++]; }

 private:
  std::span<const std::string> words_;
  std::size_t next_ = 0;
};

// The part before the first '=' and, when there is one, what follows it.
std::pair<std::string_view, std::optional<std::string>> split_at_equals(std::string_view word) {
  auto equals = word.find('=');
  if (equals == std::string_view::npos) return {word, {}};
  return {word.substr(0, equals), std::string(word.substr(equals + 1))};
}

// The value of `option` that was just named: what stood behind '=', or the next word.
Parsed<std::optional<std::string>> value_of(Habit habit, const OptionSpec& option, std::optional<std::string> attached,
                                            WordReader& words) {
  if (!option.takes_value()) {
    if (habit == Habit::own && attached) {
      return ParseMistake{Kind::surplus_word, std::string(option.name),
                          fmt::format("'--{}' takes no value", option.name)};
    }
    return std::optional<std::string>();
  }
  // joptsimple takes "--name=" for a name without a value.
  if (attached && (habit == Habit::own || !attached->empty())) return attached;
  if (option.value_is_optional) {
    if (words.more() && !looks_like_option(words.peek()) && words.peek() != "--") return std::optional(words.take());
    // joptsimple: a negative number is a value where a number is expected.
    if (words.more() && option.number == Number::int32 && parse_number<std::int32_t>(words.peek())) return std::optional(words.take());
    return std::optional<std::string>();
  }
  if (!words.more()) return missing_argument(habit, option);
  return std::optional(words.take());
}

std::string_view name_of_number(std::int32_t) {
  return "int";
}
std::string_view name_of_number(std::int64_t) {
  return "long";
}
std::string_view name_of_number(double) {
  return "double";
}

// `text` in lines of at most `width`, broken at blanks.
std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    auto end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (line.size() + 1 + word.size() <= width) {
      line.append(" ").append(word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

std::string left_column(const OptionSpec& option) {
  std::string text = "  ";
  if (option.letter != 0) text += fmt::format("-{}, ", option.letter);
  text += fmt::format("--{}", option.name);
  if (option.takes_value())
    text += option.value_is_optional ? fmt::format(" [{}]", option.argument) : fmt::format(" {}", option.argument);
  return text;
}

std::string right_column(const OptionSpec& option) {
  std::string text(option.help);
  if (!option.choices.empty()) text += fmt::format(": {}", fmt::join(option.choices, ", "));
  if (option.required) text += " (required)";
  if (!option.default_text.empty()) text += fmt::format(" (default: {})", option.default_text);
  if (option.repeatable) text += " (may be repeated)";
  return text;
}

// A double may have blanks around it and a letter for its type behind it; a hexadecimal one needs its exponent.
std::optional<double> parse_double(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  if (text == "NaN") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (text == "Infinity") {
    value = std::numeric_limits<double>::infinity();
  } else {
    if (text.empty() || !(text.front() == '.' || (text.front() >= '0' && text.front() <= '9'))) return {};
    auto format = std::chars_format::general;
    if (text.starts_with("0x") || text.starts_with("0X")) {
      if (text.find_first_of("pP") == std::string_view::npos) return {};
      format = std::chars_format::hex;
      text.remove_prefix(2);
    }
    std::string_view type_letters = "dDfF";
    bool typed = text.size() > 1 && type_letters.find(text.back()) != std::string_view::npos;
    if (typed) text.remove_suffix(1);
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, format);
    if (end != text.data() + text.size() || error == std::errc::invalid_argument) return {};
    // Too large or too small is no mistake to Java: infinity, or nought.
    if (error == std::errc::result_out_of_range) {
      bool tiny = text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos;
      value = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    }
  }
  return negative ? -value : value;
}

}  // namespace

template <class Value>
std::optional<Value> parse_number(std::string_view text) {
  if constexpr (std::is_same_v<Value, double>) {
    return parse_double(text);
  } else {
    if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
    Value value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
  }
}
template std::optional<std::int32_t> parse_number(std::string_view text);
template std::optional<std::int64_t> parse_number(std::string_view text);
template std::optional<double> parse_number(std::string_view text);

const OptionSpec* Grammar::find(std::string_view name) const {
  auto found = std::ranges::find(options, name, &OptionSpec::name);
  return found == options.end() ? nullptr : &*found;
}

const OptionSpec* Grammar::find(char letter) const {
  auto found = std::ranges::find(options, letter, &OptionSpec::letter);
  return letter == 0 || found == options.end() ? nullptr : &*found;
}

std::string_view ParseMistake::java_class() const {
  switch (kind) {
    case Kind::unrecognized:
      return "joptsimple.UnrecognizedOptionException";
    case Kind::missing_argument:
      return "joptsimple.OptionMissingRequiredArgumentException";
    case Kind::multiple_arguments:
      return "joptsimple.MultipleArgumentsForOptionException";
    case Kind::conversion:
      return "joptsimple.OptionArgumentConversionException";
    case Kind::surplus_word:
    case Kind::missing_word:
    case Kind::bad_choice:
      break;
  }
  return {};
}

Parsed<Options> parse_options(const Grammar& grammar, std::span<const std::string> line) {
  CHECK(grammar.habit != Habit::argparse4j, "cli/argparse.h reads these");
  Options options;
  options.grammar_ = &grammar;
  const Habit habit = grammar.habit;
  WordReader words(line);
  while (words.more()) {
    const std::string& word = words.take();
    if (word == "--") {
      while (words.more()) options.words_.push_back(words.take());
      break;
    }
    if (!looks_like_option(word)) {
      options.words_.push_back(word);
      continue;
    }
    bool is_long = word.starts_with("--");
    auto [name, attached] = split_at_equals(std::string_view(word).substr(is_long ? 2 : 1));
    // joptsimple knows a long name behind one dash as well.
    const OptionSpec* option = is_long || habit == Habit::joptsimple ? grammar.find(name) : nullptr;
    if (option == nullptr && !is_long) {
      name = std::string_view(word).substr(1, 1);
      option = grammar.find(word[1]);
      attached.reset();
      if (option != nullptr && option->takes_value() && word.size() > 2) attached = word.substr(2);
      if (option != nullptr && !option->takes_value() && word.size() > 2) option = nullptr;  // no clusters
    }
    if (option == nullptr) return unrecognized(habit, word, name);
    auto value = value_of(habit, *option, std::move(attached), words);
    if (!value) return value.mistake();
    if (habit == Habit::own && *value && !option->choices.empty() &&
        std::ranges::find(option->choices, **value) == option->choices.end()) {
      return ParseMistake{
          Kind::bad_choice, std::string(option->name),
          fmt::format("'--{} {}': choose one of {}", option->name, **value, fmt::join(option->choices, ", "))};
    }
    options.given_.push_back({option, *std::move(value)});
  }
  if (habit != Habit::own) return options;
  std::size_t required = 0;
  bool repeatable = false;
  for (const Positional& positional : grammar.positionals) {
    if (positional.required) ++required;
    repeatable |= positional.repeatable;
  }
  if (options.has("help") && grammar.find("help") != nullptr) return options;
  if (options.words_.size() < required) {
    std::string name(grammar.positionals[options.words_.size()].name);
    return ParseMistake{Kind::missing_word, name, fmt::format("{} is missing", name)};
  }
  if (!repeatable && options.words_.size() > grammar.positionals.size()) {
    const std::string& surplus = options.words_[grammar.positionals.size()];
    return ParseMistake{Kind::surplus_word, surplus, fmt::format("'{}' is one word too many", surplus)};
  }
  return options;
}

bool Options::has(std::string_view name) const {
  return std::ranges::any_of(given_, [&](const Given& given) { return given.option->name == name; });
}

std::vector<std::string> Options::values(std::string_view name) const {
  CHECK(grammar_ != nullptr && grammar_->find(name) != nullptr, "no option {} is declared", name);
  std::vector<std::string> values;
  for (const Given& given : given_) {
    if (given.option->name == name && given.value) values.push_back(*given.value);
  }
  return values;
}

Parsed<std::optional<std::string>> Options::value(std::string_view name) const {
  std::vector<std::string> all = values(name);
  if (all.empty()) return std::optional<std::string>();
  // Our own tools let the last one count, as GNU's do, and so does argparse4j.
  if (grammar_->habit != Habit::joptsimple) return std::optional(all.back());
  if (all.size() > 1) {
    return ParseMistake{Kind::multiple_arguments, std::string(name),
                        fmt::format("Found multiple arguments for option {}, but you asked for only one", name)};
  }
  return std::optional(all.front());
}

template <class Value>
Parsed<std::optional<Value>> Options::number(std::string_view name) const {
  auto text = value(name);
  if (!text) return text.mistake();
  if (!*text) return std::optional<Value>();
  auto parsed = parse_number<Value>(**text);
  if (parsed) return parsed;
  std::string message = grammar_->habit == Habit::own
                            ? fmt::format("'--{} {}' is not a number (type {})", name, **text, name_of_number(Value{}))
                            : fmt::format("Cannot parse argument '{}' of option {}", **text, name);
  return ParseMistake{Kind::conversion, std::string(name), std::move(message)};
}

Parsed<std::optional<std::int32_t>> Options::int_value(std::string_view name) const {
  return number<std::int32_t>(name);
}
Parsed<std::optional<std::int64_t>> Options::long_value(std::string_view name) const {
  return number<std::int64_t>(name);
}
Parsed<std::optional<double>> Options::double_value(std::string_view name) const {
  return number<double>(name);
}

std::vector<std::string_view> Options::given() const {
  std::vector<std::string_view> names;
  for (const Given& given : given_) {
    if (std::ranges::find(names, given.option->name) == names.end()) names.push_back(given.option->name);
  }
  return names;
}

std::string option_table(const Grammar& grammar, std::size_t columns) {
  constexpr std::size_t kWidestLeft = 34;
  std::size_t left = 0;
  for (const OptionSpec& option : grammar.options) {
    std::size_t width = left_column(option).size();
    if (width <= kWidestLeft) left = std::max(left, width);
  }
  std::size_t indent = left + 2;
  std::size_t width = std::max<std::size_t>(columns > indent ? columns - indent : 0, 30);
  std::string table;
  for (const OptionSpec& option : grammar.options) {
    std::string name = left_column(option);
    std::vector<std::string> lines = wrap(right_column(option), width);
    bool own_line = name.size() > left;
    if (own_line) table += name + "\n";
    for (std::size_t i = 0; i < lines.size(); ++i) {
      table += fmt::format("{:<{}}{}\n", i == 0 && !own_line ? name : "", indent, lines[i]);
    }
  }
  return table;
}

}  // namespace cordwood::cli
