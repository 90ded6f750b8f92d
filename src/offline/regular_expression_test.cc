#include "offline/regular_expression.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace cordwood::offline {
namespace {

bool found(std::string_view expression, std::string_view text) {
  const RegularExpression parsed = RegularExpression::parse(expression).value();
  RegularExpressionMatcher matcher(parsed);
  const bool first = matcher.found_in(as_bytes(text));
  EXPECT_EQ(matcher.found_in(as_bytes(text)), first) << "the second search of " << expression << " differs";
  return first;
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
      {"\\x41", "A", true},           {"(?i)abc", "xABcx", true},     {"(?i)[a-c]+$", "ABC", true},
      {"(?:ab)+c", "ababc", true},    {"a|b|", "zzz", true},          {"x(y|z)?w", "xw", true},
      {"a+?b", "aab", true},          {"user-(1|22)\"", "user-22\"", true},
      {std::string_view("a\\x00b").data(), std::string_view("a\0b", 3), true},
  };
  for (const auto& c : kCases) EXPECT_EQ(found(c.expression, c.text), c.expected) << c.expression << " in " << c.text;
}

TEST(RegularExpression, NamesMistakes) {
  for (const char* wrong : {"(", ")", "a)", "[a", "*a", "a**", "a{2,1}", "a{x}", "a{", "\\", "\\q", "[b-a]", "(?=a)", "\\xg1",
                            "a{1001}", "(?<n>a)"}) {
    const auto parsed = RegularExpression::parse(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().code, Errc::invalid) << wrong;
  }
}

TEST(RegularExpression, LimitsSizeAndDepth) {
  EXPECT_EQ(RegularExpression::parse("((a{100}){100}){100}").error().code, Errc::limit);
  EXPECT_EQ(RegularExpression::parse(std::string(100'000, '(')).error().code, Errc::limit);
}

// What makes a backtracking engine take for ever: exponential here would be 2^30 steps and more.
TEST(RegularExpression, TakesLinearTime) {
  EXPECT_FALSE(found("(a+)+$", std::string(100'000, 'a') + "b"));
  EXPECT_FALSE(found("(a|aa)+$", std::string(100'000, 'a') + "b"));
  EXPECT_TRUE(found("(x+x+)+y", std::string(100'000, 'x') + "y"));
}

// As many deterministic states as 2^12: they are forgotten and made anew on the way.
TEST(RegularExpression, GoesOnWhenItsStatesAreForgotten) {
  SeededRandom random(7);
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += random.below(2) == 0 ? 'a' : 'b';
  const std::size_t last = text.size() - 13;
  text[last] = 'a';
  EXPECT_TRUE(found("a[ab]{12}$", text));
  text[last] = 'b';
  EXPECT_FALSE(found("a[ab]{12}$", text));
}

TEST(RegularExpression, KnowsWhatEveryMatchHolds) {
  const auto required = [](const char* expression) { return RegularExpression::parse(expression).value().required(); };
  EXPECT_EQ(required("abc"), "abc");
  EXPECT_EQ(required("ab*cde"), "cde");
  EXPECT_EQ(required("abc|d"), "");
  EXPECT_EQ(required("x(abc|d)yz"), "yz");
  EXPECT_EQ(required("abc?"), "ab");
  EXPECT_EQ(required("(?i)abc"), "");
  EXPECT_EQ(required("^id=\\d+"), "id=");
  EXPECT_TRUE(RegularExpression::parse("abc").value().is_literal());
  EXPECT_FALSE(RegularExpression::parse("^abc").value().is_literal());
}

}  // namespace
}  // namespace cordwood::offline
