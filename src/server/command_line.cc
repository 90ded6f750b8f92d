#include "server/command_line.h"

#include <fmt/ranges.h>

#include "server/run_command.h"

namespace cordwood::server {
namespace {

Error usage(std::string what) {
  return Error{Errc::invalid, std::move(what) + "; 'cordwood broker --help' shows what there is"};
}

Result<std::pair<std::string, std::string>> parse_override(const std::string& text) {
  auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return usage(fmt::format("'--override {}' is not key=value", text));
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Result<Command> parse_broker(const std::vector<std::string>& arguments, std::size_t at) {
  RunBroker broker;
  for (; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    constexpr std::string_view kOverride = "--override";
    if (argument == kOverride) {
      if (++at == arguments.size()) return usage("'--override' needs key=value behind it");
      broker.overrides.push_back(TRY(parse_override(arguments[at])));
    } else if (argument.starts_with(kOverride) && argument[kOverride.size()] == '=') {
      broker.overrides.push_back(TRY(parse_override(argument.substr(kOverride.size() + 1))));
    } else if (argument == "--help" || argument == "-h") {
      return Command(ShowHelp{});
    } else if (argument == "--version") {
      return Command(ShowVersion{});
    } else if (argument.starts_with("-")) {
      return usage(fmt::format("unknown option '{}'", argument));
    } else if (broker.properties_file.empty() && !argument.empty()) {
      broker.properties_file = argument;
    } else {
      return usage(fmt::format("one properties file is enough, '{}' is one too many", argument));
    }
  }
  return Command(std::move(broker));
}

}  // namespace

Result<Command> parse_command_line(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return Command(RunBroker{});
  const std::string& first = arguments.front();
  if (first == "broker") return parse_broker(arguments, 1);
  if (first == "version") return Command(ShowVersion{});
  if (first.starts_with("-")) return parse_broker(arguments, 0);
  const std::vector<std::string> near = commands_near(first);
  return Error{Errc::invalid, fmt::format("unknown command '{}'; {}'cordwood --help' shows what there is", first,
                                          near.empty() ? "" : fmt::format("did you mean {}? ", fmt::join(near, " or ")))};
}

std::string help_text() {
  return R"(Cordwood, a broker for Apache Kafka's clients and data directories.

usage:
  cordwood                          a broker on ./cordwood-data, listening on 127.0.0.1:9092; its page is at 127.0.0.1:9192
  cordwood broker [FILE] [OPTIONS]  a broker with the settings of a server.properties
  cordwood --help                   the other commands

options:
  --override KEY=VALUE   sets one key of server.properties, after the file; may be repeated

The keys are Apache Kafka's. Those mostly needed: listeners, advertised.listeners, log.dirs, node.id.
The page's own: cordwood.inspector.listener (HOST:PORT, empty for none), .token, .actions (true lets it change things).
SIGTERM and SIGINT stop the broker cleanly; a second one ends it at once.
)";
}

std::string version_text() { return CORDWOOD_VERSION; }

}  // namespace cordwood::server
