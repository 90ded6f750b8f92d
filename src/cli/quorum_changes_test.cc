#include "cli/quorum_changes.h"

#include <gtest/gtest.h>

#include "cli/json_rows.h"
#include "cli/refused_tools.h"
#include "cli/session_testing.h"

namespace cordwood::cli {
namespace {

void write_meta(io::FileSystem& files, const std::string& directory, std::string_view text) {
  ASSERT_TRUE(files.create_directories(directory));
  ASSERT_TRUE(io::write_file_atomically(files, directory + "/meta.properties", as_bytes(text)));
}

TEST(NewController, IsReadFromItsOwnFile) {
  TestSession test;
  write_meta(test.files, "/m", "version=1\ndirectory.id=4kJIAfIkSmWadhPweoLT1w\n");
  const Properties properties = {{"node.id", "9"},
                                 {"process.roles", "broker, controller"},
                                 {"log.dirs", "/l"},
                                 {"metadata.log.dir", "/m"},
                                 {"listeners", "PLAINTEXT://:1,C://:4444,D://0.0.0.0:4445"},
                                 {"advertised.listeners", "D://you:4446"},
                                 {"controller.listener.names", "C,D"}};
  auto controller = new_controller(properties, test.session);
  ASSERT_TRUE(controller);
  EXPECT_EQ(controller->id, 9);
  EXPECT_EQ(controller->directory_id.to_string(), "4kJIAfIkSmWadhPweoLT1w");
  EXPECT_EQ(controller->endpoints, (std::vector<ControllerEndpoint>{{"C", "localhost", 4444}, {"D", "you", 4446}}));
}

TEST(NewController, TellsWhatItsFileLacks) {
  TestSession test;
  write_meta(test.files, "/l", "directory.id=4kJIAfIkSmWadhPweoLT1w\n");
  write_meta(test.files, "/old", "version=1\n");
  struct Case {
    Properties properties;
    std::string_view message;
  };
  const std::string roles = "controller";
  const Case cases[] = {
      {{}, "node.id not found in configuration file. Is this a valid controller configuration file?"},
      {{{"node.id", "-1"}}, "node.id was negative in configuration file. Is this a valid controller configuration file?"},
      {{{"node.id", "9"}, {"process.roles", "broker"}},
       "process.roles did not contain 'controller' in configuration file. Is this a valid controller configuration file?"},
      {{{"node.id", "9"}, {"process.roles", roles}},
       "Neither metadata.log.dir nor log.dirs were found. Is this a valid controller configuration file?"},
      {{{"node.id", "9"}, {"process.roles", roles}, {"log.dirs", "/none"}}, "Unable to read meta.properties from /none"},
      {{{"node.id", "9"}, {"process.roles", roles}, {"log.dirs", "/old"}}, "No directory id found in /old"},
      {{{"node.id", "9"}, {"process.roles", roles}, {"log.dirs", "/l,/x"}},
       "controller.listener.names was not found. Is this a valid controller configuration file?"},
      {{{"node.id", "9"}, {"process.roles", roles}, {"log.dirs", "/l"}, {"controller.listener.names", "C"}},
       "Cannot find information about controller listener name: C"},
  };
  for (const Case& c : cases) {
    auto controller = new_controller(c.properties, test.session);
    ASSERT_FALSE(controller) << c.message;
    EXPECT_EQ(controller.error().message, c.message);
  }
}

TEST(DirectoryId, IsReadAsJavaReadsIt) {
  EXPECT_EQ(parse_directory_id("AAAAAAAAAAAAAAAAAAAAAQ")->low, 1U);
  EXPECT_EQ(parse_directory_id("y").error().message, "Input byte[] should at least have 2 bytes for base64 bytes");
  EXPECT_EQ(parse_directory_id("AA/A").error().message, "Illegal base64 character 2f");
  EXPECT_EQ(parse_directory_id("AAAA").error().message,
            "Input string `AAAA` decoded as 3 bytes, which is not equal to the expected 16 bytes of a base64-encoded UUID");
  EXPECT_EQ(parse_directory_id("AAAAAAAAAAAAAAAAAAAAAAAAA").error().message,
            "Input string with prefix `AAAAAAAAAAAAAAAAAAAAAAAA` is too long to be decoded as a base64 UUID");
}

TEST(RefusedTools, SayWhatTheyAreAndFail) {
  EXPECT_FALSE(refused_commands().empty());
  for (const Command& command : refused_commands()) {
    TestSession test;
    EXPECT_EQ(command.run(command, {"--help"}, test.session), 1);
    EXPECT_EQ(test.out.text(), "");
    EXPECT_TRUE(test.err.text().starts_with(std::string(command.kafka_name) + ": ")) << test.err.text();
    EXPECT_TRUE(command.summary.starts_with("is refused: ")) << command.name;
  }
}

TEST(JsonRows, NameFieldsAndKeepNumbers) {
  EXPECT_EQ(rows_as_json_lines({"GROUP", "PARTITION", "LAG", "UPGRADED"}, {{"7", "0", "-", "true"}, {"-", "1", "12", "-"}}),
            "{\"groupId\":\"7\",\"partition\":0,\"lag\":null,\"upgraded\":true}\n"
            "{\"groupId\":null,\"partition\":1,\"lag\":12,\"upgraded\":null}\n");
  EXPECT_EQ(rows_as_json_lines({"TransactionalId", "TransactionDurationMs"}, {{"None", "None"}}),
            "{\"transactionalId\":\"None\",\"transactionDurationMs\":null}\n");
  EXPECT_EQ(rows_as_json_lines({"GROUP"}, {}), "");
}

}  // namespace
}  // namespace cordwood::cli
