// inspect DIR: the inspector on data directories that no broker need run on, until it is interrupted. Nothing in them is changed.
#include <fmt/format.h>

#include <chrono>

#include "base/log.h"
#include "base/mutex.h"
#include "cli/help.h"
#include "inspector/broker_inspector.h"
#include "inspector/commands.h"
#include "inspector/directory_source.h"
#include "inspector/http_server.h"
#include "inspector/service.h"

namespace cordwood::inspector {
namespace {

using cli::Options;
using cli::Session;

constexpr std::int32_t kDefaultPort = 9192;
constexpr std::chrono::milliseconds kLookForInterruption{50};

constexpr cli::OptionSpec kInspectOptions[] = {
    {.name = "port", .argument = "PORT", .help = "the port to listen on; 9192, or any when that is taken", .letter = 'p', .number = cli::Number::int32},
    {.name = "listen", .argument = "HOST[:PORT]", .help = "the address to listen on, 127.0.0.1 when absent; any but loopback demands a token", .letter = 'l'},
    {.name = "token", .argument = "TOKEN", .help = "who asks must know it; made and printed where one is demanded and none given"},
    {.name = "config", .argument = "FILE", .help = "server.properties of the broker, for settings that are given there", .letter = 'c'},
    {.name = "help", .help = "this text", .letter = 'h'},
};
constexpr cli::Positional kInspectPositionals[] = {{.name = "DIR", .help = "a log directory, several with commas, or a partition's directory"}};
constexpr cli::Grammar kInspectGrammar{.habit = cli::Habit::own, .options = kInspectOptions, .positionals = kInspectPositionals};

Result<HttpAddress> address_of(const Options& options) {
  const auto port = options.int_value("port");
  if (!port) return Error{Errc::invalid, port.mistake().message};
  const auto listen = options.value("listen");
  if (!listen) return Error{Errc::invalid, listen.mistake().message};
  if (*port && (**port < 0 || **port > 65535)) return Error{Errc::invalid, fmt::format("{} is no port", **port)};
  HttpAddress address{"127.0.0.1", static_cast<std::uint16_t>((*port).value_or(kDefaultPort))};
  if (!*listen) return address;
  const std::string& text = **listen;
  const bool has_port = text.find(':') != std::string::npos && !text.ends_with(']');
  if (has_port) {
    address = TRY(HttpAddress::parse(text));
    if (*port && **port != address.port) return Error{Errc::invalid, "--listen and --port name different ports"};
    return address;
  }
  return HttpAddress::parse(fmt::format("{}:{}", text, address.port));
}

// The command has nothing else to tell than its one line.
class QuietLogger final : public Logger {
 public:
  void write(Severity, std::string_view) override {}
};

Result<int> inspect_directory(const Options& options, Session& session) {
  const auto config = options.value("config");
  const auto token = options.value("token");
  if (!config) return Error{Errc::invalid, config.mistake().message};
  if (!token) return Error{Errc::invalid, token.mistake().message};
  GuardRules rules;
  if (*token) {
    TRY(check_token(**token));
    rules.token = **token;
  }
  HttpServerOptions server_options;
  server_options.address = TRY(address_of(options));
  const std::string& dirs = options.words().front();
  const auto source = TRY(DirectorySource::open(session.files, session.clock, session.random, dirs, *config));

  QuietLogger logger;
  auto opened = HttpServer::open(server_options, session.clock, logger);
  const bool is_default_port = !options.has("port") && server_options.address.port == kDefaultPort;
  if (!opened && opened.error().code == Errc::locked && is_default_port) {
    // A broker's inspector has it, most likely.
    server_options.address.port = 0;
    opened = HttpServer::open(server_options, session.clock, logger);
  }
  const auto server = TRY(std::move(opened));
  rules.bound_host = server->host();
  rules.port = server->port();
  bool token_was_made = false;
  if (rules.token.empty() && !server->is_loopback()) {
    rules.token = make_token(session.random);
    token_was_made = true;
  }
  Service service({.source = *source, .files = session.files, .clock = session.clock, .version = session.version}, rules);
  service.set_ready(true);
  server->start(service);
  const std::string host = server->host().find(':') == std::string::npos ? server->host() : "[" + server->host() + "]";
  session.out.print("{} is shown at http://{}:{}/{} (Ctrl-C ends it)\n", dirs, host, server->port(), token_was_made ? "?token=" + rules.token : "");
  session.out.flush();

  Mutex mu;
  ConditionVariable changed;
  while (!session.interrupted) {
    MutexLock lock(mu);
    changed.wait_for(mu, kLookForInterruption);
  }
  server->stop();
  return 0;
}

int run_inspect(const cli::Command& self, const cli::Words& words, Session& session) {
  return cli::run_own(self, words, session, inspect_directory);
}

constexpr cli::Command kInspect{
    .name = "inspect",
    .kafka_name = {},
    .summary = "show data directories as a page, and as JSON for scripts",
    .details = "Segments, batches, indexes, look-ups, what retention and compaction do, groups: of directories as they lie, damaged ones too. A "
               "broker may use them meanwhile. Nothing on the disk is changed. docs/inspector-api.md describes the endpoints.",
    .grammar = &kInspectGrammar,
    .run = run_inspect,
};

}  // namespace

std::span<const cli::Command* const> commands() {
  static constexpr const cli::Command* kAll[] = {&kInspect};
  return kAll;
}

}  // namespace cordwood::inspector
