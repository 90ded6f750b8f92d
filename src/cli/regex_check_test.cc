// Texts as kafka-consumer-groups --validate-regex of Kafka 4.4.0 tells them.
#include "cli/regex_check.h"

#include <gtest/gtest.h>

#include <utility>

namespace cordwood::cli {
namespace {

TEST(RegexCheck, AcceptsWhatRe2Does) {
  for (std::string_view regex :
       {"",     "a.*",       "x{",    "x{,3}",      "(?<n>a)", "(?P<n>a)",  "(?i)a|b",         "(?i-s:a)",      "[]a]",
        "[a-]", "[^a-z\\d]", "\\pL+", "\\x{1F600}", "a{2,}?",  "\\Qa(b\\E", "(a{1000}){1000}", "[[:alpha:]_]+", "\\.",
        "a*?",  "(|a)+"}) {
    EXPECT_EQ(regex_mistake(regex), std::nullopt) << regex;
  }
}

TEST(RegexCheck, TellsWhatIsWrong) {
  constexpr std::pair<std::string_view, std::string_view> kBad[] = {
      {"(", "missing closing )"},
      {"[", "missing closing ]"},
      {"a)", "regexp/syntax: internal error"},
      {"*a", "missing argument to repetition operator"},
      {"a|*", "missing argument to repetition operator"},
      {"a**", "invalid nested repetition operator"},
      {"a{1001}", "invalid repeat count"},
      {"a{2,1}", "invalid repeat count"},
      {"\\", "trailing backslash at end of expression"},
      {"\\8", "invalid escape sequence"},
      {"\\xZZ", "invalid escape sequence"},
      {"[z-a]", "invalid character class range"},
      {"\\pX", "invalid character class range"},
      {"[[:foo:]]", "invalid character class range"},
      {"(?=a)", "invalid or unsupported Perl syntax"},
      {"(?i", "invalid or unsupported Perl syntax"},
      {"(?z)", "invalid or unsupported Perl syntax"},
      {"(?P<n>a)(?P<n>b)", "duplicate capture group name"},
      {"(?P<n", "invalid named capture"},
  };
  for (auto [regex, mistake] : kBad) EXPECT_EQ(regex_mistake(regex), std::optional<std::string>(mistake)) << regex;
}

}  // namespace
}  // namespace cordwood::cli
