// Java's properties format: the cases below gave the same pairs with java.util.Properties 17, but for bytes above 127.
#include "base/properties.h"

#include <gtest/gtest.h>

namespace cordwood {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(Properties, AreReadAsJavaReadsThem) {
  struct Case {
    const char* text;
    Pairs pairs;
  };
  const Case cases[] = {
      {"", {}},
      {"a=b", {{"a", "b"}}},
      {"a=b\nc=d\r\ne=f\rg=h", {{"a", "b"}, {"c", "d"}, {"e", "f"}, {"g", "h"}}},
      {"  a  =  b  ", {{"a", "b  "}}},
      {"a:b", {{"a", "b"}}},
      {"a b", {{"a", "b"}}},
      {"a : = b", {{"a", "= b"}}},
      {"a==b", {{"a", "=b"}}},
      {"a\t\f:\tb", {{"a", "b"}}},
      {"a", {{"a", ""}}},
      {"a=", {{"a", ""}}},
      {"=b", {{"", "b"}}},
      {"# a=b\n! c=d\n   # e\na=#b", {{"a", "#b"}}},
      {"\n \n\t\na=b\n\n", {{"a", "b"}}},
      {"a=b\\\n   c\\\n\td", {{"a", "bcd"}}},
      {"a=b\\\r\n c", {{"a", "bc"}}},
      {"a=b\\\n# not a comment", {{"a", "b# not a comment"}}},
      {"# comment \\\na=b", {{"a", "b"}}},
      {"a=b\\\\\nc=d", {{"a", "b\\"}, {"c", "d"}}},
      {"a=b\\", {{"a", "b"}}},
      {"a\\ b\\:c\\=d=e", {{"a b:c=d", "e"}}},
      {"a=\\t\\n\\r\\f\\q\\\\\\\"", {{"a", "\t\n\r\fq\\\""}}},
      {"a=\\u0041\\u00e9\\u20AC", {{"a", "A\xC3\xA9\xE2\x82\xAC"}}},
      {"a=\\uD83D\\uDE00!", {{"a", "\xF0\x9F\x98\x80!"}}},
      {"a=\\uD83Dx\\uDE00", {{"a", "\xEF\xBF\xBDx\xEF\xBF\xBD"}}},
      {"\\u0061=b", {{"a", "b"}}},
      {"a=\xC3\xA9", {{"a", "\xC3\xA9"}}},
      {"a=1\na=2", {{"a", "1"}, {"a", "2"}}},
      {"a=\\ b", {{"a", " b"}}},
      {"a\\\n=b", {{"a", "b"}}},
  };
  for (const Case& test : cases) {
    auto pairs = parse_properties(test.text);
    ASSERT_TRUE(pairs.has_value()) << test.text;
    EXPECT_EQ(*pairs, test.pairs) << test.text;
  }
}

TEST(Properties, KnowTheirLines) {
  auto properties = read_properties("# one\na=b\\\n  c\n\nd=e\r\nf=g");
  ASSERT_TRUE(properties.has_value());
  EXPECT_EQ(*properties, (std::vector<Property>{{"a", "bc", 2}, {"d", "e", 5}, {"f", "g", 6}}));
}

TEST(Properties, NameTheLineOfAMalformedEscape) {
  for (const char* text : {"a=b\nc=\\u12", "a=b\nc=\\u12g4", "a=b\n\\u=x", "a=b\nc=\\uD83D\\uzzzz"}) {
    auto properties = read_properties(text);
    ASSERT_FALSE(properties.has_value()) << text;
    EXPECT_EQ(properties.error().code, Errc::invalid);
    EXPECT_EQ(properties.error().what, "line 2: \\u is not followed by four hexadecimal digits");
  }
}

}  // namespace
}  // namespace cordwood
