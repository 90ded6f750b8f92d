// kafka-run-class: refused. It runs a class of Java, and there is none here.
#include <fmt/format.h>

#include "cli/command.h"

namespace cordwood::cli {
namespace {

constexpr Grammar kRunClassGrammar{.habit = Habit::own, .usage = "CLASS [ARGUMENTS]"};

int refuse_class(const Command& self, const Words& words, Session& session) {
  session.err.print("{}: there is no Java here, so {} cannot be run; 'cordwood help' shows the commands that stand for Kafka's tools\n",
                    self.kafka_name, words.empty() ? "no class" : words.front());
  return 1;
}

}  // namespace

extern const Command run_class_command{
    .name = "run-class",
    .kafka_name = "kafka-run-class",
    .summary = "is refused: there are no classes of Java to run",
    .grammar = &kRunClassGrammar,
    .run = refuse_class,
};

}  // namespace cordwood::cli
