#include "server/command_line.h"

#include <gtest/gtest.h>

namespace cordwood::server {
namespace {

struct Case {
  std::vector<std::string> arguments;
  Command expected;
};

TEST(CommandLine, UnderstandsWhatItIsAskedFor) {
  const std::vector<Case> cases = {
      {{}, RunBroker{}},
      {{"broker"}, RunBroker{}},
      {{"broker", "server.properties"}, RunBroker{"server.properties", {}}},
      {{"broker", "--override", "a=b", "s.p", "--override=c=d=e"}, RunBroker{"s.p", {{"a", "b"}, {"c", "d=e"}}}},
      {{"broker", "--override", "empty="}, RunBroker{"", {{"empty", ""}}}},
      {{"--override", "node.id=3"}, RunBroker{"", {{"node.id", "3"}}}},
      {{"--help"}, ShowHelp{}},
      {{"-h"}, ShowHelp{}},
      {{"broker", "--help"}, ShowHelp{}},
      {{"--version"}, ShowVersion{}},
      {{"version"}, ShowVersion{}},
      {{"broker", "--version"}, ShowVersion{}},
  };
  for (const auto& each : cases) {
    auto command = parse_command_line(each.arguments);
    ASSERT_TRUE(command) << command.error().what;
    EXPECT_TRUE(*command == each.expected) << testing::PrintToString(each.arguments);
  }
}

TEST(CommandLine, SaysInOneSentenceWhatIsWrong) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"broker", "--frob"}, "unknown option '--frob'"},
      {{"broker", "--override"}, "'--override' needs key=value behind it"},
      {{"broker", "--override", "novalue"}, "'--override novalue' is not key=value"},
      {{"broker", "--override=" "=x"}, "'--override =x' is not key=value"},
      {{"broker", "a", "b"}, "one properties file is enough, 'b' is one too many"},
  };
  for (const auto& [arguments, sentence] : cases) {
    auto command = parse_command_line(arguments);
    ASSERT_FALSE(command) << sentence;
    EXPECT_EQ(command.error().message(), sentence + "; 'cordwood broker --help' shows what there is");
  }
}

TEST(CommandLine, NamesTheNearestCommands) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"brokr", "unknown command 'brokr'; did you mean broker? 'cordwood --help' shows what there is"},
      {"topicz", "unknown command 'topicz'; did you mean topics? 'cordwood --help' shows what there is"},
      {"", "unknown command ''; 'cordwood --help' shows what there is"},
  };
  for (const auto& [word, sentence] : cases) {
    auto command = parse_command_line({word});
    ASSERT_FALSE(command) << sentence;
    EXPECT_EQ(command.error().message(), sentence);
  }
}

}  // namespace
}  // namespace cordwood::server
