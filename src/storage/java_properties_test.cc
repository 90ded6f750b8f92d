#include "storage/java_properties.h"

#include <gtest/gtest.h>

namespace cordwood::storage {
namespace {

std::string describe(std::string_view text) {
  auto parsed = parse_java_properties(text);
  if (!parsed) return fmt::format("<{}>", to_string(parsed.error().code));
  std::string all;
  for (const auto& [key, value] : *parsed) all += fmt::format("[{}|{}]", key, value);
  return all;
}

TEST(JavaProperties, Parses) {
  struct Case {
    std::string_view text, expected;
  };
  for (Case c : {
           Case{"", ""},
           {"a=1\nb=2", "[a|1][b|2]"},
           {"a=1\na=2\n", "[a|2]"},
           {"# a=1\n! b=2\n  # c=3\n\n \t\n", ""},
           {"a:1\nb 2\nc = 3\nd\t:\t4\n", "[a|1][b|2][c|3][d|4]"},
           {"a\nb=\nc :\n", "[a|][b|][c|]"},
           {"a==1\nb=:2\n", "[a|=1][b|:2]"},
           {"  a = 1 \n", "[a|1 ]"},
           {"a=one\\\n   two\n", "[a|onetwo]"},
           {"a=one\\\\\nb=2\n", "[a|one\\][b|2]"},
           {"a=1\\\n# no comment\n", "[a|1# no comment]"},
           {"a=1\r\nb=2\rc=3", "[a|1][b|2][c|3]"},
           {"a\\=b\\:c\\ d=1\n", "[a=b:c d|1]"},
           {"a=\\t\\n\\r\\f\\q\\\\\n", "[a|\t\n\r\fq\\]"},
           {"a=\\u0041\\u00e9\\uD83D\\uDE00\n", "[a|A\xc3\xa9\xf0\x9f\x98\x80]"},
           {"a=\\uD83D!\\uDE00\n", "[a|\xef\xbf\xbd!\xef\xbf\xbd]"},
           {"a=\xe9\n", "[a|\xc3\xa9]"},
           {"a=1\\", "[a|1]"},
           {"a=\\u12\n", "<corrupt>"},
           {"a=\\u12g4\n", "<corrupt>"},
           {"\\", "[|]"},
           {"=1\n", "[|1]"},
       }) {
    EXPECT_EQ(describe(c.text), c.expected) << "'" << c.text << "'";
  }
}

TEST(JavaProperties, EscapesWhatParsingWouldChange) {
  EXPECT_EQ(escape_java_property_value("plain_Id-1"), "plain_Id-1");
  EXPECT_EQ(escape_java_property_value("  a b=c:d#e!f\\"), "\\ \\ a b\\=c\\:d\\#e\\!f\\\\");
  EXPECT_EQ(escape_java_property_value("\t\n\r\f\x01"), "\\t\\n\\r\\f\\u0001");
  EXPECT_EQ(escape_java_property_value("\xc3\xa9\xf0\x9f\x98\x80"), "\\u00E9\\uD83D\\uDE00");
  for (std::string_view value : {"", " ", "   x ", "a=b", "\xc3\xa9 \xe2\x82\xac", "\xf0\x9f\x98\x80", "#\\u0041"}) {
    EXPECT_EQ(describe("k=" + escape_java_property_value(value)), fmt::format("[k|{}]", value));
  }
}

}  // namespace
}  // namespace cordwood::storage
