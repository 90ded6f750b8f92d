// Command lines of argparse4j's kind. What each of them gives was seen on argparse4j 0.7.0, which Kafka 4.4.0 uses.
#include "cli/argparse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace cordwood::cli {
namespace {

constexpr std::string_view kColours[] = {"red", "green"};
constexpr OptionSpec kFlat[] = {
    {.name = "alpha", .argument = "ALPHA", .letter = 'a'},
    {.name = "alpine", .argument = "ALPINE"},
    {.name = "flag", .letter = 'f'},
    {.name = "zeta", .argument = "ZETA", .letter = 'z', .required = true},
    {.name = "beta", .argument = "BETA", .letter = 'b', .required = true, .number = Number::int32},
    {.name = "gamma", .argument = "GAMMA", .letter = 'g', .takes_several = true},
    {.name = "many", .argument = "MANY", .letter = 'm', .repeatable = true},
    {.name = "col", .argument = "COLOUR", .choices = kColours},
    {.name = "rate", .argument = "RATE", .number = Number::float64},
    {.name = "one"},
    {.name = "two", .argument = "TWO"},
};
constexpr std::string_view kOneOrTwo[] = {"one", "two"};
constexpr Exclusive kFlatExclusive[] = {{.names = kOneOrTwo, .required = true}};
constexpr Grammar kFlatGrammar{.habit = Habit::argparse4j, .options = kFlat, .exclusive = kFlatExclusive};

constexpr OptionSpec kServer[] = {
    {.name = "server", .argument = "SERVER", .letter = 's', .required = true},
    {.name = "num", .argument = "NUM", .letter = 'n', .number = Number::int32},
    {.name = "version", .letter = 'v'},
};
constexpr OptionSpec kListOptions[] = {
    {.name = "zed", .argument = "ZED", .letter = 'z', .required = true},
    {.name = "num2", .argument = "NUM", .number = Number::int64},
};
constexpr Grammar kList{.habit = Habit::argparse4j, .options = kListOptions};
constexpr Grammar kBare{.habit = Habit::argparse4j};
constexpr Grammar::Sub kSubs[] = {{"list", "lists", &kList}, {"link", "links", &kBare}, {"other", "others", &kBare}};
constexpr Grammar kTreeGrammar{.habit = Habit::argparse4j, .options = kServer, .subcommands = kSubs};

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word == "''" ? "" : word);
  return words;
}

// The mistake; else what was given, as "name=value name …", the sub-command before its own.
std::string outcome(const Grammar& grammar, std::string_view line) {
  ArgumentOutcome result = read_arguments(grammar, words_of(line));
  if (auto* mistake = std::get_if<ArgumentMistake>(&result)) {
    std::string near = mistake->nearest.empty() ? "" : fmt::format(" ({}?)", fmt::join(mistake->nearest, ", "));
    return fmt::format("{}{}{}", mistake->command != nullptr ? fmt::format("{}: ", mistake->command->name) : "",
                       mistake->message, near);
  }
  if (auto* help = std::get_if<HelpAsked>(&result))
    return fmt::format("help {}", help->command == nullptr ? "" : help->command->name);
  if (std::holds_alternative<VersionAsked>(result)) return "version";
  auto& arguments = std::get<Arguments>(result);
  std::string text;
  auto add = [&](const Options& options) {
    for (std::string_view name : options.given()) {
      text += fmt::format("{}{}", text.empty() ? "" : " ", name);
      if (!options.values(name).empty()) text += fmt::format("={}", fmt::join(options.values(name), "|"));
    }
  };
  add(arguments.options);
  if (arguments.command != nullptr) {
    text += fmt::format(" {}:", arguments.command->name);
    add(arguments.command_options);
  }
  return text;
}

struct Case {
  std::string_view line;
  std::string_view outcome;
};

TEST(Argparse, ReadsOptions) {
  constexpr Case kCases[] = {
      {"", "argument --beta/-b is required"},
      {"--one -b 1", "argument --zeta/-z is required"},
      {"-z 1 -b 1", "one of the arguments --one --two is required"},
      {"--one --two x -z 1 -b 1", "argument --two: not allowed with argument --one"},
      {"--two x --one -z 1 -b 1", "argument --one: not allowed with argument --two"},
      {"--one --two", "argument --two: not allowed with argument --one"},
      {"--two x --two y -z 1 -b 1", "two=y zeta=1 beta=1"},
      {"--one -z1 -b2 -f", "one zeta=1 beta=2 flag"},
      {"--one -z=1 -b=2", "one zeta=1 beta=2"},
      {"--one -fz1 -b 2", "one flag zeta=1 beta=2"},
      {"--one -ffz 1 -b 2", "one flag zeta=1 beta=2"},
      {"--one -fx -z 1 -b 2", "unrecognized arguments: '-fx' (--flag?)"},
      {"--al 3", "ambiguous option: --al could match --alpha, --alpine"},
      {"--al=3", "ambiguous option: --al could match --alpha, --alpine"},
      {"--z=1 --be=1 --o --alph 3", "zeta=1 beta=1 one alpha=3"},
      {"--one -z 1 -b 2 --alpha=3=4", "one zeta=1 beta=2 alpha=3=4"},
      {"--one -z 1 -b 2 --alpha ''", "one zeta=1 beta=2 alpha="},
      {"--alpha", "argument --alpha/-a: expected one argument"},
      {"--one -z 1 -b 2 --alpha -5", "one zeta=1 beta=2 alpha=-5"},
      {"--one -z 1 -b 2 --alpha -", "one zeta=1 beta=2 alpha=-"},
      {"--alpha -5.5", "argument --alpha/-a: expected one argument"},
      {"--alpha -- x", "argument --alpha/-a: expected one argument"},
      {"-fa", "argument --alpha/-a: expected one argument"},
      {"--flag=", "argument --flag/-f: ignore implicit argument ''"},
      {"-f=1", "argument --flag/-f: ignore implicit argument '1'"},
      {"-f1", "unrecognized arguments: '-f1' (--flag?)"},
      {"-ff=3", "unrecognized arguments: '-ff=3' (--flag?)"},
      {"--beta=x", "argument --beta/-b: could not convert 'x' to Integer (For input string: \"x\")"},
      {"-b 99999999999",
       "argument --beta/-b: could not convert '99999999999' to Integer (For input string: \"99999999999\")"},
      {"-b ''", "argument --beta/-b: could not convert '' to Integer (For input string: \"\")"},
      {"--one -z 1 -b +1", "one zeta=1 beta=+1"},
      {"--rate ''", "argument --rate: could not convert '' to Double (empty String)"},
      {"--rate 1e", "argument --rate: could not convert '1e' to Double (For input string: \"1e\")"},
      {"--one -z 1 -b 2 --rate 1.5f", "one zeta=1 beta=2 rate=1.5f"},
      {"-g", "argument --gamma/-g: expected 1 argument(s)"},
      {"--one -z 1 -b 2 -g a b -f", "one zeta=1 beta=2 gamma=a|b flag"},
      {"--one -z 1 -b 2 -g a b -g c", "one zeta=1 beta=2 gamma=c"},
      {"--one -z 1 -b 2 --gamma=a b", "unrecognized arguments: 'b'"},
      {"--one -z 1 -b 2 -m a -m b", "one zeta=1 beta=2 many=a|b"},
      {"--one -z 1 -b 2 -z 3", "one beta=2 zeta=3"},
      {"--col blue", "argument --col: invalid choice: 'blue' (choose from {red,green})"},
      {"--one -z 1 stray -b 2", "unrecognized arguments: 'stray -b 2'"},
      {"-5", "unrecognized arguments: '-5'"},
      {"-- --", "unrecognized arguments: '--'"},
      {"--", "argument --beta/-b is required"},
      {"--un=3 4", "unrecognized arguments: '--un=3'"},
      {"--onex", "unrecognized arguments: '--onex' (--one?)"},
      {"--unknown -h", "unrecognized arguments: '--unknown'"},
      {"-b x -h", "argument --beta/-b: could not convert 'x' to Integer (For input string: \"x\")"},
      {"-h -b x", "help "},
      {"--he", "help "},
  };
  for (const Case& c : kCases) EXPECT_EQ(outcome(kFlatGrammar, c.line), c.outcome) << c.line;
}

TEST(Argparse, ReadsSubCommands) {
  constexpr Case kCases[] = {
      {"", "argument --server/-s is required"},
      {"list", "argument --server/-s is required"},
      {"list -n x", "list: unrecognized arguments: '-n'"},
      {"list -z", "list: argument --zed/-z: expected one argument"},
      {"-s 1 list", "list: argument --zed/-z is required"},
      {"-s 1", "too few arguments"},
      {"-s 1 --", "too few arguments"},
      {"-s 1 -- list -z 1", "unrecognized arguments: 'list -z 1'"},
      {"-s 1 li", "ambiguous command: li could match link, list"},
      {"--serve=1 lis -z 1 --nu 2", "server=1 list: zed=1 num2=2"},
      {"-s 1 o", "server=1 other:"},
      {"-s 1 other --", "server=1 other:"},
      {"-s 1 lst", "invalid choice: 'lst' (choose from 'list', 'link', 'other') (list?)"},
      {"-s 1 zzz", "invalid choice: 'zzz' (choose from 'list', 'link', 'other')"},
      {"foo -h", "invalid choice: 'foo' (choose from 'list', 'link', 'other') (other?)"},
      {"-s 1 ''", "invalid choice: '' (choose from 'list', 'link', 'other') (link, list, other?)"},
      {"-s 1 other stray --num2", "other: unrecognized arguments: 'stray --num2'"},
      {"-s 1 list -z 1 --num2 x", "list: argument --num2: could not convert 'x' to Long (For input string: \"x\")"},
      {"-n x list", "argument --num/-n: could not convert 'x' to Integer (For input string: \"x\")"},
      {"list -h", "help list"},
      {"-h list", "help "},
      {"-v", "version"},
  };
  for (const Case& c : kCases) EXPECT_EQ(outcome(kTreeGrammar, c.line), c.outcome) << c.line;
}

TEST(Argparse, TellsWhatIsNear) {
  static constexpr Grammar::Sub kStorage[] = {
      {"info", "", &kBare}, {"format", "", &kBare}, {"version-mapping", "", &kBare}};
  constexpr Grammar kGrammar{.habit = Habit::argparse4j, .subcommands = kStorage};
  EXPECT_TRUE(outcome(kGrammar, "foo").ends_with(" (format, info?)"));
  EXPECT_TRUE(outcome(kGrammar, "version_mapping").ends_with(" (version-mapping?)"));
  EXPECT_TRUE(outcome(kGrammar, "mapping").ends_with("'version-mapping')"));
  EXPECT_EQ(outcome(kFlatGrammar, "--zteaa"), "unrecognized arguments: '--zteaa' (--zeta?)");
  EXPECT_EQ(outcome(kFlatGrammar, "--x"), "unrecognized arguments: '--x'");
}

TEST(Argparse, JustifiesMistakes) {
  static constexpr Grammar::Sub kStorage[] = {{"info", "", &kBare},
                                              {"format", "", &kBare},
                                              {"version-mapping", "", &kBare},
                                              {"feature-dependencies", "", &kBare},
                                              {"random-uuid", "", &kBare}};
  constexpr Grammar kGrammar{.habit = Habit::argparse4j, .subcommands = kStorage};
  auto text = [&](std::string message, std::vector<std::string> nearest = {}) {
    std::string all = mistake_text("kafka-storage", kGrammar, {std::move(message), std::move(nearest), nullptr});
    return all.substr(all.find("kafka-storage:"));
  };
  EXPECT_EQ(text("too few arguments"), "kafka-storage: error: too few arguments\n");
  EXPECT_EQ(text("invalid choice: 'foo' (choose from 'info', 'format', 'version-mapping', 'feature-dependencies', "
                 "'random-uuid')",
                 {"format", "info"}),
            "kafka-storage: error: invalid choice: 'foo'  (choose from 'info', 'format',\n"
            "'version-mapping', 'feature-dependencies', 'random-uuid')\n"
            "\n"
            "Did you mean:\n"
            "\tformat\n"
            "\tinfo\n");
  EXPECT_EQ(text("argument --no-initial-controllers/-N: not allowed with argument --standalone/-s"),
            "kafka-storage: error:  argument  --no-initial-controllers/-N:  not  allowed\n"
            "with argument --standalone/-s\n");
  std::string usage = usage_text("kafka-storage", kGrammar, &kStorage[0]);
  EXPECT_EQ(usage, "usage: kafka-storage info [-h]\n");
}

TEST(ParseNumber, ReadsDoublesAsJavaDoes) {
  constexpr std::pair<std::string_view, double> kGood[] = {{"1", 1},  {" 1.5 ", 1.5},  {".5", .5},
                                                           {"1.", 1}, {"-1e3", -1000}, {"+2d", 2.0},
                                                           {"3F", 3}, {"0x1p4", 16.0}, {"1e999", HUGE_VAL}};
  for (auto [text, value] : kGood) EXPECT_EQ(parse_number<double>(text), std::optional(value)) << text;
  for (std::string_view text : {"", " ", "x", "1,5", "inf", "nan", "1e", "0x10", "--1", "d"}) {
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace cordwood::cli
