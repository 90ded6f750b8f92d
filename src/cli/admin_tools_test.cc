// What the administrative commands work out by themselves: orders, expressions, lists, lines. Conversations with brokers are in
// tests/differential/cli.
#include <gtest/gtest.h>

#include "cli/completion.h"
#include "cli/configs_words.h"
#include "cli/feature_levels.h"
#include "cli/java_regex.h"
#include "cli/json_words.h"
#include "cli/kafka_tool.h"
#include "cli/partition_filter.h"
#include "cli/topic_lines.h"
#include "cli/topics_words.h"

namespace cordwood::cli {
namespace {

TEST(JavaRegex, FitsWholeTexts) {
  struct Case {
    const char* pattern;
    const char* text;
    bool fits;
  };
  for (const auto& [pattern, text, fits] : std::initializer_list<Case>{
           {"o.*|conf", "orders", true},     {"o.*|conf", "conf2", false},    {"(?!__).*", "__consumer_offsets", false},
           {"(?!__).*", "orders", true},     {"a++b", "aaab", true},          {"\\Qa.b\\E", "a.b", true},
           {"\\Qa.b\\E", "axb", false},      {"([ab])\\1", "aa", true},       {"[\\w&&[^x]]+", "", false},
           {"\\p{Alpha}+", "", false},       {"", "", true},                  {".*", "", true}}) {
    auto regex = JavaRegex::compile(pattern);
    if (!regex) continue;
    EXPECT_EQ(regex->matches(text), fits) << pattern << " " << text;
  }
  EXPECT_FALSE(JavaRegex::compile("[").has_value());
  EXPECT_FALSE(JavaRegex::compile("(").has_value());
}

TEST(JavaRegex, EndsOnHostileInput) {
  auto regex = JavaRegex::compile("(a|aa)+$");
  ASSERT_TRUE(regex.has_value());
  EXPECT_FALSE(regex->matches(std::string(200, 'a') + "b"));
  // Depth is no stack: std::regex ends a program here.
  auto deep = JavaRegex::compile("(x|y)*");
  ASSERT_TRUE(deep.has_value());
  EXPECT_TRUE(deep->matches(std::string(20'000, 'x')));
}

TEST(TopicFilter, TakesListsAndQuotes) {
  auto filter = compile_topic_filter(" 'a, b.*' ");
  ASSERT_TRUE(filter.has_value());
  EXPECT_TRUE(filter->matches("a"));
  EXPECT_TRUE(filter->matches("bc"));
  EXPECT_FALSE(filter->matches("ca"));
  auto wrong = compile_topic_filter("[");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().what, "[ is an invalid regex.");
}

TEST(PartitionFilter, TakesNumbersAndRanges) {
  auto filter = PartitionFilter::from_rules("a:1,b:1-3,c:-2,d:2-,:9,e");
  ASSERT_TRUE(filter.has_value());
  struct Case {
    const char* topic;
    int partition;
    bool allowed;
  };
  for (const auto& [topic, partition, allowed] : std::initializer_list<Case>{
           {"a", 1, true}, {"a", 2, false}, {"b", 1, true}, {"b", 2, true}, {"b", 3, false}, {"c", 0, true}, {"c", 1, true},
           {"c", 2, false}, {"d", 2, true}, {"d", 1, false}, {"z", 9, true}, {"z", 8, false}, {"e", 7, true}}) {
    EXPECT_EQ(filter->allows(topic, partition), allowed) << topic << partition;
  }
  auto wrong = PartitionFilter::from_rules("a:x");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().message, "org.apache.kafka.tools.TerseException: Invalid rule specification: a:x");
}

TEST(ReplicaAssignment, IsReadAsKafkaDoes) {
  auto good = parse_replica_assignment("0:1,1:2");
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(*good, (ReplicaAssignment{{0, {0, 1}}, {1, {1, 2}}}));
  EXPECT_EQ(parse_replica_assignment("1:1").error().message, "Partition replica lists may not contain duplicate entries: 1");
  EXPECT_EQ(parse_replica_assignment("1,1:2").error().message, "Partition 1 has different replication factor: [1, 2]");
  EXPECT_EQ(parse_replica_assignment("x").error().to_string(), "java.lang.NumberFormatException: For input string: \"x\"");
}

TEST(AddedConfigs, AreReadAsKafkaDoes) {
  EXPECT_EQ(*parse_added_configs("a=1,b=[x,y],c=[k=v,m=n]"), (Settings{{"a", "1"}, {"b", "x,y"}, {"c", "k=v,m=n"}}));
  EXPECT_EQ(*parse_added_configs("cleanup.policy=[compact"), (Settings{{"cleanup.policy", "compact"}}));
  EXPECT_EQ(*parse_added_configs("retention.ms="), (Settings{{"retention.ms", ""}}));
  EXPECT_FALSE(parse_added_configs("retention.ms").has_value());
  EXPECT_FALSE(parse_added_configs("a=b=c").has_value());
  EXPECT_EQ(parse_added_configs("a b=c").error().message, "Invalid character found for config key: a b");
}

TEST(TopicLines, FollowTheFilters) {
  DescribedTopic topic;
  topic.description = {"t", Uuid{1, 2}, false, {{0, 1, {1, 2}, {1}, {}, {}}, {1, {}, {1, 2}, {1, 2}, {{}}, {{}}}}};
  topic.configs = {{"min.insync.replicas", "1", client::ConfigSource::built_in, false, false, {}},
                   {"retention.ms", "5", client::ConfigSource::dynamic_topic, false, false, {}}};
  TopicSurroundings all_alive{{1, 2}, {}};
  EXPECT_EQ(topic_lines(topic, {}, all_alive),
            fmt::format("Topic: t\tTopicId: {}\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: retention.ms=5\n"
                        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\tElr: N/A\tLastKnownElr: N/A\n"
                        "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 1,2\tIsr: 1,2\tElr: \tLastKnownElr: \n",
                        Uuid{1, 2}.to_string()));
  auto partitions = [&](TopicFilters filters) {
    std::string shown;
    boost::json::value json = topic_json(topic, filters, all_alive);
    for (const auto& partition : json.as_object().at("partitions").as_array()) {
      shown += fmt::format("{}", partition.at("partition").as_int64());
    }
    return shown;
  };
  EXPECT_EQ(partitions({.under_replicated = true}), "0");
  EXPECT_EQ(partitions({.unavailable = true}), "1");
  EXPECT_EQ(partitions({.at_min_isr = true}), "0");
  EXPECT_TRUE(topic_json(topic, {.under_min_isr = true}, all_alive).is_null());
  // What is being added does not count as missing.
  TopicSurroundings moving{{1, 2}, {{{"t", 0}, {{1, 2}, {2}, {}}}}};
  EXPECT_EQ(topic_lines(topic, {.under_replicated = true}, moving), "");
}

TEST(JavaTexts, AreJavas) {
  EXPECT_EQ(double_text(1024), "1024.0");
  EXPECT_EQ(double_text(50.5), "50.5");
  EXPECT_EQ(double_text(1e7), "1.0E7");
  EXPECT_EQ(double_text(1.25e-5), "1.25E-5");
  EXPECT_EQ(split_as_java("a,b,,", ','), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(split_as_java(",", ','), std::vector<std::string>());
  EXPECT_EQ(split_as_java("", ','), std::vector<std::string>{""});
  JavaError error = execution_exception({protocol::ErrorCode::INVALID_CONFIG, "no"});
  EXPECT_EQ(error.stack_trace(),
            "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.InvalidConfigurationException: no\n"
            "Caused by: org.apache.kafka.common.errors.InvalidConfigurationException: no\n");
}

TEST(JsonWords, TellWhatIsWrongAsKafkaDoes) {
  auto json = parse_json(R"({"topic": "t", "partition": "x"})", admin_operation("bad"));
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(*json_string(*json, "topic"), "t");
  EXPECT_EQ(json_int(*json, "partition").error().message, "Expected `Integer` value, received \"x\"");
  EXPECT_EQ(json_long(*json, "offset").error().message, "No such field exists: `offset`");
  EXPECT_EQ(parse_json("hello", admin_operation("bad")).error().message, "bad");
}

TEST(Releases, AreFound) {
  EXPECT_EQ(find_release("4.0")->name, "4.0-IV3");
  EXPECT_EQ(find_release("3.3-IV3")->metadata_version, 7);
  EXPECT_EQ(find_release("4.5"), nullptr);
  EXPECT_EQ(find_release("9"), nullptr);
  for (const Release& release : releases()) EXPECT_EQ(release_of_level(release.metadata_version), &release);
}

constexpr OptionSpec kSampleOptions[] = {{.name = "file-name", .argument = "FILE", .help = "a file", .letter = 'f', .required = true}};
constexpr Grammar kSampleGrammar{.options = kSampleOptions};
constexpr Command kSample{.name = "sample", .kafka_name = "kafka-sample", .summary = "do what it's for", .grammar = &kSampleGrammar};

TEST(Completion, KnowsCommandsAndOptions) {
  CommandList commands({&kSample});
  std::string bash = bash_completion(commands);
  EXPECT_NE(bash.find("compgen -W 'broker sample' --"), std::string::npos) << bash;
  EXPECT_NE(bash.find("sample|kafka-sample|kafka-sample.sh) words='--file-name' ;;"), std::string::npos) << bash;
  EXPECT_NE(bash.find("complete -o default -F _cordwood cordwood kafka-sample kafka-sample.sh\n"), std::string::npos) << bash;
  std::string zsh = zsh_completion(commands);
  EXPECT_TRUE(zsh.starts_with("#compdef cordwood kafka-sample kafka-sample.sh\n"));
  EXPECT_NE(zsh.find("'sample:do what it'\\''s for'"), std::string::npos) << zsh;
  EXPECT_EQ(fish_completion(commands),
            "# Completion of Cordwood's commands for fish, under their own and Kafka's names.\n"
            "complete -c cordwood -n __fish_use_subcommand -f -a broker -d 'run a broker'\n"
            "complete -c cordwood -n __fish_use_subcommand -f -a sample -d 'do what it\\'s for'\n"
            "complete -c kafka-sample.sh -w kafka-sample\n"
            "complete -c cordwood -n '__fish_seen_subcommand_from sample' -l file-name -s f -r -d 'a file'\n"
            "complete -c kafka-sample -l file-name -s f -r -d 'a file'\n");
}

TEST(ManPage, IsRoff) {
  EXPECT_EQ(man_page(kSample, "1.0"),
            ".TH CORDWOOD\\-sample 1 \"\" \"Cordwood 1.0\"\n.SH NAME\ncordwood sample \\- do what it's for\n.SH SYNOPSIS\n"
            "\\fBcordwood sample\\fR [\\fIOPTIONS\\fR]\n.br\n\\fBkafka\\-sample\\fR ... (Apache Kafka's name)\n.SH OPTIONS\n"
            ".TP\n\\fB\\-f\\fR, \\fB\\-\\-file\\-name\\fR \\fIFILE\\fR\na file (required).\n");
}

}  // namespace
}  // namespace cordwood::cli
