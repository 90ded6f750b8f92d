// What commands say of words that make no sense, before they look for a broker: texts, stream and exit code of Kafka 4.4.0's tools.
#include <gtest/gtest.h>

#include "cli/session_testing.h"

namespace cordwood::cli {

extern const Command e2e_latency_command;
extern const Command groups_command;
extern const Command reassign_partitions_command;

namespace {

struct Case {
  const Command* command;
  Words words;
  std::string_view first_line;  // on stderr
};

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(ToolWords, AreRefusedAsKafkaRefusesThem) {
  const std::string b = "--bootstrap-server";
  const Case cases[] = {
      {&groups_command, {}, "Missing required option(s) [bootstrap-server]"},
      {&groups_command, {b, "h:1"}, "Command must include exactly one action: --list."},
      {&groups_command, {b, "h:1", "--list", "--group-type", "nope", "--consumer"}, "--group-type must be a valid group type."},
      {&groups_command, {b, "h:1", "--list", "--consumer", "--share"}, "Option \"[consumer]\" can't be used with option \"[share]\""},
      {&groups_command, {b, "h:1", "--list", "--share", "--streams"}, "Option \"[share]\" can't be used with option \"[streams]\""},
      {&groups_command, {"--foo"}, "foo is not a recognized option"},
      {&reassign_partitions_command, {}, "This tool helps to move topic partitions between replicas."},
      {&reassign_partitions_command, {"--list", "--execute"},
       "Command must include exactly one action: --generate, --execute, --verify, --cancel, --list"},
      {&reassign_partitions_command, {"--list"}, "Please specify either --bootstrap-server or --bootstrap-controller"},
      {&reassign_partitions_command, {"--list", b, "h:1", "--bootstrap-controller", "h:2"},
       "Please don't specify both --bootstrap-server and --bootstrap-controller"},
      {&reassign_partitions_command, {"--execute", b, "h:1", "--broker-list", "1"}, "Missing required argument \"[reassignment-json-file]\""},
      {&reassign_partitions_command, {"--list", b, "h:1", "--throttle", "1"}, "Option \"[throttle]\" can't be used with action \"[list]\""},
      {&reassign_partitions_command, {"--bootstrap-controller", "h:1", "--verify", "--reassignment-json-file", "f"},
       "Option \"[bootstrap-controller]\" can't be used with action \"[verify]\""},
      {&reassign_partitions_command, {"--lst"},
       "Exception in thread \"main\" joptsimple.UnrecognizedOptionException: lst is not a recognized option"},
      {&e2e_latency_command, {}, "This tool measures end-to-end latency in Kafka by sending messages and timing their reception."},
      {&e2e_latency_command, {"--topic=x"},
       "Invalid number of arguments. Expected 5 or 6 positional arguments, but got 1. Usage: bootstrap-server topic num-records "
       "producer-acks record-size [optional] command-config"},
      {&e2e_latency_command, {b, "h:1", "--topic", "t", "--num-records", "1", "--producer-acks", "1"},
       "Missing required argument \"[record-size]\""},
      {&e2e_latency_command, {"h:1", "t", "0", "2", "10"},
       "Invalid value for --producer-acks. Latency testing requires synchronous acknowledgement. Please use '1' or 'all'."},
      {&e2e_latency_command, {"h:1", "t", "0", "1", "10"}, "Value for --num-records must be a positive integer."},
      {&e2e_latency_command,
       {b, "h:1", "--topic", "t", "--num-records", "1", "--producer-acks", "all", "--record-size", "1", "--record-header-size", "-2"},
       "Value for --record-header-size must be a non-negative integer or -1 for null header value."},
  };
  for (const Case& c : cases) {
    TestSession test;
    EXPECT_EQ(c.command->run(*c.command, c.words, test.session), 1) << c.first_line;
    EXPECT_EQ(first_line_of(test.err.text()), c.first_line);
  }
}

TEST(ToolWords, MistakesOfReassignmentFilesGoToStdout) {
  TestSession test;
  const Command& command = reassign_partitions_command;
  EXPECT_EQ(command.run(command, {"--bootstrap-server", "localhost:1", "--execute", "--reassignment-json-file", "/none"}, test.session), 1);
  EXPECT_EQ(test.out.text(),
            "Error: Unable to read file /none\njava.io.IOException: Unable to read file /none\n"
            "Caused by: java.nio.file.NoSuchFileException: /none\n\n");
  EXPECT_EQ(test.err.text(), "");
}

}  // namespace
}  // namespace cordwood::cli
