// Kafka's scripts that have no counterpart here: each says what it is in Kafka, why it is not here, and what to use instead.
#include <fmt/format.h>

#include "cli/refused_tools.h"

namespace cordwood::cli {
namespace {

constexpr Grammar kRefusedGrammar{.habit = Habit::own, .usage = "[ARGUMENTS]"};

// `details` of the declaration is the whole answer.
int refuse(const Command& self, const Words&, Session& session) {
  session.err.print("{}: {}\n", self.kafka_name, self.details);
  return 1;
}

constexpr Command refused(std::string_view name, std::string_view kafka_name, std::string_view summary, std::string_view answer) {
  return {.name = name, .kafka_name = kafka_name, .summary = summary, .details = answer, .grammar = &kRefusedGrammar, .run = refuse};
}

#define CORDWOOD_NO_JAVA "it is a program of Java, and Cordwood has none; "
#define CORDWOOD_CONNECT CORDWOOD_NO_JAVA "run Kafka's own script, with the address of this broker as bootstrap.servers"
#define CORDWOOD_SHARE "share groups (KIP-932) are not served by Cordwood; "

constexpr Command kRefused[] = {
    refused("acls", "kafka-acls", "is refused: there is no authorizer",
            "it lists and changes the rules of an authorizer, and Cordwood has none; who may connect is for the listeners' addresses and a "
            "firewall to say. Towards a cluster of Kafka use Kafka's own kafka-acls"),
    refused("client-metrics", "kafka-client-metrics", "is refused: metrics of clients are not collected",
            "it changes what metrics a cluster asks its clients for, and Cordwood collects none. What a cluster of Kafka asks for: kafka-configs "
            "--entity-type client-metrics"),
    refused("connect-distributed", "connect-distributed", "is refused: a Java program", CORDWOOD_CONNECT),
    refused("connect-mirror-maker", "connect-mirror-maker", "is refused: a Java program", CORDWOOD_CONNECT),
    refused("connect-plugin-path", "connect-plugin-path", "is refused: a Java program",
            CORDWOOD_NO_JAVA "it looks at plugins of Kafka Connect: run Kafka's own script"),
    refused("connect-standalone", "connect-standalone", "is refused: a Java program", CORDWOOD_CONNECT),
    refused("console-share-consumer", "kafka-console-share-consumer", "is refused: there are no share groups",
            CORDWOOD_SHARE "kafka-console-consumer reads as a consumer, alone or in a group"),
    refused("delegation-tokens", "kafka-delegation-tokens", "is refused: there are no delegation tokens",
            "it makes and renews tokens that stand for a user's credentials, and Cordwood knows none"),
    refused("jmx", "kafka-jmx", "is refused: a Java program", CORDWOOD_NO_JAVA "there is no JMX to ask"),
    refused("metadata-shell", "kafka-metadata-shell", "is refused: dump-log and explain tell the same",
            "it looks through a snapshot of a cluster's metadata; kafka-dump-log --cluster-metadata-decoder prints such a snapshot or log, record by "
            "record, and 'cordwood explain' says what a directory holds"),
    refused("replica-verification", "kafka-replica-verification", "is refused: there is one replica",
            "it compares the replicas of partitions, and is deprecated in Kafka; Cordwood has one replica of each, which 'cordwood verify' checks. "
            "How far the replicas of a cluster of Kafka are: kafka-topics --describe --under-replicated-partitions"),
    refused("run-class", "kafka-run-class", "is refused: there are no classes of Java to run",
            CORDWOOD_NO_JAVA "'cordwood help' shows the commands that stand for Kafka's tools"),
    refused("share-consumer-perf-test", "kafka-share-consumer-perf-test", "is refused: there are no share groups",
            CORDWOOD_SHARE "kafka-consumer-perf-test tells how fast a consumer reads"),
    refused("share-groups", "kafka-share-groups", "is refused: there are no share groups",
            CORDWOOD_SHARE "kafka-consumer-groups is for groups of consumers, kafka-groups lists all there are"),
    refused("streams-application-reset", "kafka-streams-application-reset", "is refused: a tool for Kafka Streams",
            CORDWOOD_NO_JAVA "what it does with a broker, kafka-consumer-groups --reset-offsets and kafka-topics --delete do; or run Kafka's own script"),
    refused("streams-groups", "kafka-streams-groups", "is refused: there are no groups of the Streams protocol",
            "groups of the Streams protocol (KIP-1071) are not served by Cordwood; applications with the classic protocol are consumer groups: "
            "kafka-consumer-groups"),
    refused("trogdor", "trogdor", "is refused: a Java program", CORDWOOD_NO_JAVA "it is the test framework of Kafka itself"),
    refused("verifiable-consumer", "kafka-verifiable-consumer", "is refused: a program for Kafka's own tests",
            CORDWOOD_NO_JAVA "it is part of the tests of Kafka itself; kafka-console-consumer reads records"),
    refused("verifiable-producer", "kafka-verifiable-producer", "is refused: a program for Kafka's own tests",
            CORDWOOD_NO_JAVA "it is part of the tests of Kafka itself; kafka-console-producer sends records"),
    refused("verifiable-share-consumer", "kafka-verifiable-share-consumer", "is refused: a program for Kafka's own tests",
            CORDWOOD_NO_JAVA "it is part of the tests of Kafka itself"),
};

#undef CORDWOOD_NO_JAVA
#undef CORDWOOD_CONNECT
#undef CORDWOOD_SHARE

}  // namespace

std::span<const Command> refused_commands() { return kRefused; }

}  // namespace cordwood::cli
