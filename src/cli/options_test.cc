// Options as Kafka's own parser (joptsimple) and GNU's habits take them; texts of mistakes were seen on Kafka 4.4.0.
#include "cli/options.h"

#include <gtest/gtest.h>

namespace cordwood::cli {
namespace {

constexpr std::string_view kColours[] = {"red", "green"};
constexpr OptionSpec kSpecs[] = {
    {.name = "topic", .argument = "NAME", .help = "a topic", .letter = 't'},
    {.name = "partitions", .argument = "N"},
    {.name = "list", .help = "a flag", .letter = 'l'},
    {.name = "state", .argument = "STATE", .value_is_optional = true},
    {.name = "colour", .argument = "COLOUR", .choices = kColours},
    {.name = "help"},
};
constexpr Positional kDirectory[] = {{.name = "DIR"}};
constexpr Grammar kKafka{.habit = Habit::joptsimple, .options = kSpecs};
constexpr Grammar kOwn{.habit = Habit::own, .options = kSpecs, .positionals = kDirectory};

Parsed<Options> parse(const Grammar& grammar, std::vector<std::string> words) { return parse_options(grammar, words); }

TEST(JoptsimpleOptions, TakeValuesFromTheNextWordOrBehindAnEqualsSign) {
  auto options = parse(kKafka, {"--topic", "a", "stray", "--partitions=3", "--list", "-topic", "--b"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->values("topic"), (std::vector<std::string>{"a", "--b"}));
  EXPECT_EQ(options->words(), (std::vector<std::string>{"stray"}));
  EXPECT_TRUE(options->has("list"));
  EXPECT_FALSE(options->has("state"));
  auto number = options->int_value("partitions");
  ASSERT_TRUE(number);
  EXPECT_EQ(*number, std::optional(3));
}

TEST(JoptsimpleOptions, TellMistakesAsTheOriginalDoes) {
  auto unknown = parse(kKafka, {"--li"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.mistake().message, "li is not a recognized option");
  EXPECT_EQ(unknown.mistake().java_class(), "joptsimple.UnrecognizedOptionException");
  auto missing = parse(kKafka, {"--topic"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.mistake().message, "Option topic requires an argument");
  auto twice = parse(kKafka, {"--topic", "a", "--topic", "b"});
  ASSERT_TRUE(twice);
  auto value = twice->value("topic");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.mistake().message, "Found multiple arguments for option topic, but you asked for only one");
  for (const char* text : {"abc", "", "1.5", "2147483648", "0x10", "+-1"}) {
    auto options = parse(kKafka, {"--partitions", text});
    ASSERT_TRUE(options);
    auto number = options->int_value("partitions");
    ASSERT_FALSE(number) << text;
    EXPECT_EQ(number.mistake().message, fmt::format("Cannot parse argument '{}' of option partitions", text));
  }
}

TEST(JoptsimpleOptions, LeaveAnOptionalValueOut) {
  auto options = parse(kKafka, {"--state", "--list"});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->has("state"));
  EXPECT_TRUE(options->values("state").empty());
  auto given = parse(kKafka, {"--state", "Stable"});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->values("state"), (std::vector<std::string>{"Stable"}));
}

TEST(OwnOptions, KnowLettersAndPositionals) {
  auto options = parse(kOwn, {"-tabc", "-l", "dir", "--colour", "red", "-t", "x"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->words(), (std::vector<std::string>{"dir"}));
  auto value = options->value("topic");
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, std::optional<std::string>("x"));  // the last one counts
}

TEST(OwnOptions, TellMistakes) {
  EXPECT_EQ(parse(kOwn, {"--tpoic", "a"}).mistake().message, "unknown option '--tpoic'");
  EXPECT_EQ(parse(kOwn, {"-x", "dir"}).mistake().message, "unknown option '-x'");
  EXPECT_EQ(parse(kOwn, {"dir", "--topic"}).mistake().message, "'--topic' needs NAME behind it");
  EXPECT_EQ(parse(kOwn, {"dir", "--list=1"}).mistake().message, "'--list' takes no value");
  EXPECT_EQ(parse(kOwn, {"dir", "--colour", "blue"}).mistake().message, "'--colour blue': choose one of red, green");
  EXPECT_EQ(parse(kOwn, {}).mistake().message, "DIR is missing");
  EXPECT_EQ(parse(kOwn, {"a", "b"}).mistake().message, "'b' is one word too many");
  EXPECT_TRUE(parse(kOwn, {"--help"}));
  EXPECT_EQ(parse(kOwn, {"--", "--list"})->words(), (std::vector<std::string>{"--list"}));
}

TEST(OptionTable, WrapsAtTheColumnsGiven) {
  constexpr OptionSpec kTwo[] = {
      {.name = "topic", .argument = "NAME", .help = "one two three four five six seven eight", .letter = 't', .required = true},
      {.name = "list", .help = "a flag"},
  };
  EXPECT_EQ(option_table(Grammar{.options = kTwo}, 48),
            "  -t, --topic NAME  one two three four five six\n"
            "                    seven eight (required)\n"
            "  --list            a flag\n");
}

}  // namespace
}  // namespace cordwood::cli
