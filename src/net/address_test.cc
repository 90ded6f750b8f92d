#include "net/address.h"

#include <gtest/gtest.h>

namespace cordwood::net {
namespace {

TEST(Address, ReadsLiteralsOfBothFamilies) {
  auto v4 = resolve("127.0.0.1", 9092).value();
  EXPECT_EQ(v4.host(), "127.0.0.1");
  EXPECT_EQ(v4.port(), 9092);
  auto v6 = resolve("::1", 9093).value();
  EXPECT_EQ(v6.host(), "::1");
  EXPECT_EQ(v6.port(), 9093);
}

TEST(Address, TakesTheIpv4AddressOfLocalhost) { EXPECT_EQ(resolve("localhost", 1).value().host(), "127.0.0.1"); }

TEST(Address, WritesAMappedAddressAsIpv4) {
  EXPECT_EQ(resolve("::ffff:10.1.2.3", 1).value().host(), "10.1.2.3");
}

TEST(Address, NamesTheHostThatHasNone) {
  auto none = resolve("no-such-host.invalid", 1);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::not_found);
  EXPECT_NE(none.error().what.find("no-such-host.invalid"), std::string::npos);
}

TEST(Address, PutsBracketsAroundIpv6) {
  EXPECT_EQ(to_text("127.0.0.1", 80), "127.0.0.1:80");
  EXPECT_EQ(to_text("::1", 80), "[::1]:80");
}

}  // namespace
}  // namespace cordwood::net
