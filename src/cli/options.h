// cli/options.h — options as data, and how the words of a command line are matched with them.
//
// Kafka's tools have two habits, and ours have a third; they differ in spelling and in the texts of mistakes:
//   joptsimple  --name value, --name=value; exact names; stray words are kept and mostly ignored
//   argparse4j  --name value, --name=value, -n value; sub-commands; what is required is checked while parsing
//   own         as GNU: --name value, --name=value, -n value, -nvalue, "--" ends the options
// A parsed line is only words matched with options. Numbers are converted when they are asked for, as joptsimple does:
// which mistake is told first depends on it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace cordwood::cli {

// Kinds of numbers, as Java has them.
enum class Number { none, int32, int64, float64 };

struct OptionSpec {
  std::string_view name;           // without dashes: "bootstrap-server"
  std::string_view argument = {};  // what the help calls the value: "HOST:PORT,…"; empty: it takes none
  std::string_view help = {};      // for --help, completion and the man page; a sentence of ours, without a full stop
  char letter = 0;                 // "-c" of argparse4j's and our own tools
  std::string_view default_text = {};
  bool repeatable = false;  // told in the help; argparse4j's parser keeps only the last value of others
  bool required = false;    // told in the help; argparse4j's parser checks it
  bool value_is_optional = false;
  std::span<const std::string_view> choices = {};  // for completion, and checked by argparse4j's and our own
  Number number = Number::none;                    // what argparse4j's parser checks the value to be
  bool takes_several = false;  // argparse4j: --name a b c; naming it again forgets the values before

  bool takes_value() const { return !argument.empty(); }
};

struct Positional {
  std::string_view name;  // "DIR"
  std::string_view help = {};
  bool required = true;
  bool repeatable = false;
};

// Options of which only one may be given. argparse4j's parser checks it.
struct Exclusive {
  std::span<const std::string_view> names;  // in the order in which a mistake lists them
  bool required = false;
};

enum class Habit { joptsimple, argparse4j, own };

// Options, and for tools with sub-commands the grammar of each.
struct Grammar {
  Habit habit = Habit::own;
  std::string_view usage = {};  // behind the program's name; empty: made from the rest
  std::span<const OptionSpec> options = {};
  std::span<const Positional> positionals = {};
  std::span<const Exclusive> exclusive = {};
  struct Sub {
    std::string_view name;
    std::string_view summary;
    const Grammar* grammar;
  };
  std::span<const Sub> subcommands = {};

  const OptionSpec* find(std::string_view name) const;
  const OptionSpec* find(char letter) const;
};

// What cannot be matched. `kind` tells which exception of joptsimple it is; a tool decides what is printed around it.
struct ParseMistake {
  enum class Kind {
    unrecognized,
    missing_argument,
    multiple_arguments,
    conversion,
    surplus_word,
    missing_word,
    bad_choice
  };
  Kind kind;
  std::string option;   // or the stray word
  std::string message;  // in the words of the habit's parser

  // "joptsimple.UnrecognizedOptionException"; empty for kinds that joptsimple does not have.
  std::string_view java_class() const;
};

template <class T>
class [[nodiscard]] Parsed {
 public:
  Parsed(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Parsed(ParseMistake mistake) : state_(std::in_place_index<1>, std::move(mistake)) {}
  explicit operator bool() const { return state_.index() == 0; }
  const T& operator*() const& { return std::get<0>(state_); }
  T& operator*() & { return std::get<0>(state_); }
  T operator*() && { return std::move(std::get<0>(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const ParseMistake& mistake() const { return std::get<1>(state_); }

 private:
  std::variant<T, ParseMistake> state_;
};

// The words of one command line, matched. Names are those of the grammar: asking for another one is a bug of ours.
class Options {
 public:
  bool has(std::string_view name) const;
  // All values in the order given; an optional value that was not given is left out.
  std::vector<std::string> values(std::string_view name) const;
  // The one value; nothing when the option was not given, or was given without its optional value.
  // Mistakes: multiple_arguments.
  Parsed<std::optional<std::string>> value(std::string_view name) const;
  // Mistakes: multiple_arguments, conversion ("Cannot parse argument 'abc' of option partitions").
  Parsed<std::optional<std::int32_t>> int_value(std::string_view name) const;
  Parsed<std::optional<std::int64_t>> long_value(std::string_view name) const;
  Parsed<std::optional<double>> double_value(std::string_view name) const;
  // Words that belong to no option.
  const std::vector<std::string>& words() const { return words_; }
  // The names of the options given, in order, each once.
  std::vector<std::string_view> given() const;

 private:
  friend Parsed<Options> parse_options(const Grammar&, std::span<const std::string>);
  friend class ArgumentParser;  // cli/argparse.cc
  struct Given {
    const OptionSpec* option;
    std::optional<std::string> value;
  };
  template <class Value>
  Parsed<std::optional<Value>> number(std::string_view name) const;

  const Grammar* grammar_ = nullptr;
  std::vector<Given> given_;
  std::vector<std::string> words_;
};

// For the habits joptsimple and own. `grammar` must outlive the result. argparse4j's tools: cli/argparse.h.
Parsed<Options> parse_options(const Grammar& grammar, std::span<const std::string> words);

// As Integer.valueOf, Long.valueOf and Double.valueOf read text; nothing where they throw.
template <class Value>
std::optional<Value> parse_number(std::string_view text);
extern template std::optional<std::int32_t> parse_number(std::string_view text);
extern template std::optional<std::int64_t> parse_number(std::string_view text);
extern template std::optional<double> parse_number(std::string_view text);

// The table of options, wrapped at `columns`: what --help prints below its first lines, and what follows a mistake.
std::string option_table(const Grammar& grammar, std::size_t columns);

}  // namespace cordwood::cli
