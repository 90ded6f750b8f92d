// The program: finds out what it was asked for, does it, and turns the outcome into an exit code.
#include <cstdio>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "server/command_line.h"
#include "server/run_broker.h"
#include "server/run_command.h"

namespace {

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

int complain(const cordwood::Error& error) {
  std::fprintf(stderr, "cordwood: %s\n", error.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace cordwood;
  SystemClock clock;
  MonotonicNs began = clock.monotonic();
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (auto code = server::run_command(argc > 0 ? argv[0] : "", words)) return *code;
  auto command = server::parse_command_line(words);
  if (!command) return complain(command.error());
  if (std::holds_alternative<server::ShowHelp>(*command)) return print(server::help_text());
  if (std::holds_alternative<server::ShowVersion>(*command)) return print("cordwood " + server::version_text() + "\n");
  auto ran = server::run_broker(std::get<server::RunBroker>(*command), clock, began);
  return ran ? *ran : complain(ran.error());
}
