#include "client/http_call.h"

#include <gtest/gtest.h>

namespace cordwood::client {
namespace {

TEST(HttpReply, HasStatusAndBody) {
  const auto reply = parse_http_reply("HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\ncontent-length:  4\r\n\r\n{}\r\nmore");
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(*reply, (HttpReply{404, "{}\r\n"}));
}

TEST(HttpReply, WithoutALengthEndsWithTheConnection) {
  const auto reply = parse_http_reply("HTTP/1.0 200 OK\r\n\r\nall of it");
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->body, "all of it");
}

TEST(HttpReply, ThatIsNoneIsRefused) {
  for (const char* bytes : {"", "\r\n\r\n", "\0\0\0\x04kafka", "HTTP/1.1 200 OK\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 20\r\n\r\n",
                            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}"}) {
    const auto reply = parse_http_reply(bytes);
    ASSERT_FALSE(reply) << bytes;
    EXPECT_EQ(reply.error().code, Errc::corrupt) << bytes;
  }
}

}  // namespace
}  // namespace cordwood::client
