#include "inspector/json_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "inspector/api.h"

namespace cordwood::inspector {
namespace {

std::string written(std::string_view text) {
  std::string out;
  write_string(out, text);
  return out;
}

TEST(JsonText, EscapesWhatWouldEndAString) {
  EXPECT_EQ(written("plain ü €"), "\"plain ü €\"");
  EXPECT_EQ(written("a\"b\\c\nd\te\r"), R"("a\"b\\c\nd\te\r")");
  EXPECT_EQ(written(std::string_view("\0\x01\x1f\x7f", 4)), R"("\u0000\u0001\u001f\u007f")");
  EXPECT_EQ(written("</script>"), "\"</script>\"");
}

TEST(JsonText, PutsTheReplacementCharacterWhereThereIsNoUtf8) {
  const std::string_view broken[] = {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"};
  for (const std::string_view text : broken) {
    const std::string out = written(text);
    EXPECT_TRUE(out.find("\\ufffd") != std::string::npos) << out;
    EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) << out;
  }
  EXPECT_EQ(written("a\xffz"), R"("a\ufffdz")");
}

TEST(JsonText, WritesNumbersThatJsonHas) {
  std::string out;
  write_int(out, std::numeric_limits<std::int64_t>::min());
  out += ' ';
  write_long(out, std::numeric_limits<std::int64_t>::max());
  out += ' ';
  write_float(out, std::nan(""));
  out += ' ';
  write_float(out, std::numeric_limits<double>::infinity());
  out += ' ';
  write_float(out, 0.5);
  EXPECT_EQ(out, "-9223372036854775808 \"9223372036854775807\" null null 0.5");
}

TEST(JsonText, ReadsBodiesAndNamesWhatIsWrong) {
  api::ProduceBody body;
  ASSERT_TRUE(api::read_json(R"({"key":"k","value":null,"headers":[{"key":"a","value":"b"}]})", body).has_value());
  EXPECT_EQ(body.key, "k");
  EXPECT_FALSE(body.value);
  ASSERT_EQ(body.headers.size(), 1u);
  EXPECT_EQ(body.headers[0].value, std::optional<std::string>("b"));
  struct Case {
    const char* json;
    const char* begins;
  };
  for (const Case& c : {Case{"", "body:"}, Case{"[]", "body:"}, Case{"{\"key\":1,\"headers\":[]}", "key:"}, Case{"{\"nokey\":1}", "nokey:"},
                        Case{"{\"partition\":1.5}", "partition:"}, Case{"{\"headers\":{}}", "headers:"}, Case{"{\"partition\":\"x\"}", "partition:"},
                        Case{"{\"partition\":99999999999999999999}", "partition:"}, Case{"{\"a\":[[[[[[[[[[1]]]]]]]]]]}", "body:"}}) {
    api::ProduceBody ignored;
    const auto read = api::read_json(c.json, ignored);
    ASSERT_FALSE(read.has_value()) << c.json;
    EXPECT_TRUE(read.error().what.starts_with(c.begins)) << c.json << " gave " << read.error().what;
  }
}

TEST(Target, IsSplitAndDecoded) {
  const auto target = api::parse_target("/api/v1/topics/or%20ders/?search=a%26b+c&from=&x#y").value();
  EXPECT_EQ(target.path, (std::vector<std::string>{"api", "v1", "topics", "or ders"}));
  ASSERT_EQ(target.query.size(), 3u);
  EXPECT_EQ(target.query[0], (std::pair<std::string, std::string>("search", "a&b c")));
  EXPECT_EQ(target.query[1], (std::pair<std::string, std::string>("from", "")));
  EXPECT_EQ(target.query[2].first, "x");
}

TEST(Target, RefusesBadEscapesAndEndlessOnes) {
  for (const char* bad : {"/%", "/%4", "/%zz", "/a?b=%", "/a?%x=1"}) EXPECT_FALSE(api::parse_target(bad).has_value()) << bad;
  EXPECT_EQ(api::parse_target(std::string(9000, 'a')).error().code, Errc::limit);
  EXPECT_TRUE(api::parse_target("").has_value());
  EXPECT_TRUE(api::parse_target("//").value().path.empty());
}

TEST(Target, HasTheRouteOfItsMethodAndPath) {
  const auto route = [](std::string_view method, std::string_view path) { return api::find_route(method, api::parse_target(path).value()); };
  EXPECT_EQ(route("GET", "/api/v1/about"), api::Route::about);
  EXPECT_EQ(route("POST", "/api/v1/about"), api::Route::none);
  EXPECT_EQ(route("GET", "/api/v1/topics/a/partitions/0"), api::Route::partition);
  EXPECT_EQ(route("POST", "/api/v1/topics/a/records"), api::Route::produce);
  EXPECT_EQ(route("GET", "/api/v1/topics/a/partitions/0/nothing"), api::Route::none);
  EXPECT_TRUE(api::path_is_known(api::parse_target("/api/v1/topics/a/records").value()));
}

}  // namespace
}  // namespace cordwood::inspector
