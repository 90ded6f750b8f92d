#include "cli/inspector_client.h"

#include <gtest/gtest.h>

namespace cordwood::cli {
namespace {

TEST(InspectorAddress, IsTheLineOfTheBrokerOrLessOfIt) {
  const struct {
    const char* text;
    InspectorAddress address;
  } kCases[] = {
      {"http://127.0.0.1:9192/", {{"127.0.0.1", 9192}, ""}},
      {"http://0.0.0.0:8080/?token=a-b_c", {{"0.0.0.0", 8080}, "a-b_c"}},
      {"localhost:1", {{"localhost", 1}, ""}},
      {"localhost", {{"localhost", 9192}, ""}},
      {"[::1]:9000", {{"::1", 9000}, ""}},
      {"[::1]", {{"::1", 9192}, ""}},
  };
  for (const auto& c : kCases) {
    const auto address = parse_inspector_address(c.text);
    ASSERT_TRUE(address) << c.text << ": " << address.error().message();
    EXPECT_EQ(*address, c.address) << c.text;
  }
}

TEST(InspectorAddress, IsNothingElse) {
  for (const char* text : {"", "http://", "http:///", "localhost:", "localhost:x", "localhost:70000", "::1", "a b", "a,b", "a:1,b:2", "a:1/topics",
                           "a:1/?key=x", "a\nHost: b"}) {
    const auto address = parse_inspector_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, Errc::invalid) << text;
  }
  EXPECT_EQ(parse_inspector_address("https://localhost").error().code, Errc::unsupported);
}

TEST(PathWord, IsEncoded) {
  EXPECT_EQ(encode_path_word("orders-1_a.b~"), "orders-1_a.b~");
  EXPECT_EQ(encode_path_word("a/b ?\xff"), "a%2Fb%20%3F%FF");
}

}  // namespace
}  // namespace cordwood::cli
