#include "offline/regular_expression.h"

#include <gtest/gtest.h>

namespace cordwood::offline {
namespace {

bool found(std::string_view expression, std::string_view text) {
  return RegularExpression::parse(expression).value().found_in(as_bytes(text));
}

TEST(RegularExpression, FindsWhatItShould) {
  const struct {
    const char* expression;
    std::string_view text;
    bool expected;
  } kCases[] = {
      {"abc", "xxabcxx", true},       {"abc", "xxabxcx", false},      {"", "", true},
      {"", "anything", true},         {"a|b", "xb", true},            {"a|b", "xc", false},
      {"^a", "ab", true},             {"^a", "ba", false},            {"a$", "ba", true},
      {"a$", "ab", false},            {"^$", "", true},               {"^$", "x", false},
      {"^(a|bc)+$", "abcabc", true},  {"^(a|bc)+$", "abcab", false},  {"a*b", "b", true},
      {"a+b", "b", false},            {"a+b", "aaab", true},          {"colou?r", "color", true},
      {"^a{3}$", "aaa", true},        {"^a{3}$", "aa", false},        {"^a{2,3}$", "aaaa", false},
      {"^a{2,}$", "aaaaa", true},     {"^a{0}$", "", true},           {"[a-c]x", "bx", true},
      {"[^a-c]x", "bx", false},       {"[]x]", "]", true},            {"[a-]", "-", true},
      {"\\d+", "abc1", true},         {"\\D", "123", false},          {"\\w\\s\\w", "a b", true},
      {"\\.", "a.b", true},           {"\\.", "ab", false},           {"a.c", "a\nc", false},
      {"\\xff.", "\xff\xfe", true}, {"\\x41", "A", true},           {"(?i)abc", "xABcx", true},     {"(?i)[a-c]+$", "ABC", true},
      {"(?:ab)+c", "ababc", true},    {"a|b|", "zzz", true},          {"x(y|z)?w", "xw", true},
      {"a+?b", "aab", true},          {"user-(1|22)\"", "user-22\"", true},
      {std::string_view("a\\x00b").data(), std::string_view("a\0b", 3), true},
  };
  for (const auto& c : kCases) EXPECT_EQ(found(c.expression, c.text), c.expected) << c.expression << " in " << c.text;
}

TEST(RegularExpression, NamesMistakes) {
  for (const char* wrong : {"(", ")", "a)", "[a", "*a", "a**", "a{2,1}", "\\", "\\q", "[b-a]", "(?=a)", "\\xg1", "a{1001}", "(a)\\1"}) {
    const auto parsed = RegularExpression::parse(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().code, Errc::invalid) << wrong;
    EXPECT_TRUE(parsed.error().what.starts_with(fmt::format("regular expression '{}': ", wrong))) << parsed.error().what;
  }
}

TEST(RegularExpression, LimitsSizeAndDepth) {
  EXPECT_FALSE(RegularExpression::parse("((a{100}){100}){100}"));
  EXPECT_FALSE(RegularExpression::parse(std::string(100'000, '(')));
}

// What makes a backtracking engine take for ever: exponential here would be 2^30 steps and more.
TEST(RegularExpression, TakesLinearTime) {
  EXPECT_FALSE(found("(a+)+$", std::string(100'000, 'a') + "b"));
  EXPECT_FALSE(found("(a|aa)+$", std::string(100'000, 'a') + "b"));
  EXPECT_TRUE(found("(x+x+)+y", std::string(100'000, 'x') + "y"));
}

TEST(RegularExpression, KnowsWhenItIsNothingButItsBytes) {
  const auto literal = [](const char* expression) { return RegularExpression::parse(expression).value().literal(); };
  EXPECT_EQ(literal("id=7"), "id=7");
  EXPECT_EQ(literal("^id=7"), "");
  EXPECT_EQ(literal("id=\\d"), "");
  EXPECT_EQ(literal(""), "");
}

}  // namespace
}  // namespace cordwood::offline
