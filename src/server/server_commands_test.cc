#include "server/server_commands.h"

#include <gtest/gtest.h>

namespace cordwood::server {
namespace {

TEST(ServerStop, KnowsBrokersByTheirCommandLine) {
  EXPECT_TRUE(is_broker_command_line({"cordwood"}));
  EXPECT_TRUE(is_broker_command_line({"/usr/bin/cordwood", "broker", "server.properties"}));
  EXPECT_TRUE(is_broker_command_line({"./cordwood", "--override", "node.id=2"}));
  EXPECT_TRUE(is_broker_command_line({"bin/kafka-server-start.sh", "-daemon", "server.properties"}));
  EXPECT_FALSE(is_broker_command_line({}));
  EXPECT_FALSE(is_broker_command_line({"cordwood", "topics", "--list"}));
  EXPECT_FALSE(is_broker_command_line({"cordwood", "server-stop"}));
  EXPECT_FALSE(is_broker_command_line({"vim", "broker"}));
}

}  // namespace
}  // namespace cordwood::server
