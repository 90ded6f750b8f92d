#include "server/server_commands.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/clock.h"
#include "cli/help.h"
#include "server/command_line.h"
#include "server/run_broker.h"

namespace cordwood::server {
namespace {

using cli::Session;
using cli::Words;

constexpr std::string_view kStartUsage = "USAGE: kafka-server-start [-daemon] server.properties [--override property=value]*";

// Where -daemon writes what would have gone to the terminal: as Kafka, kafkaServer.out in $LOG_DIR.
Result<std::string> console_file(Session& session) {
  std::string directory = session.variable("LOG_DIR").value_or("logs");
  TRY(session.files.create_directories(directory));
  return io::join(directory, "kafkaServer.out");
}

// In the parent true; the child goes on in the background, its streams tied to `console`.
Result<bool> leave_terminal(const std::string& console) {
  int out = ::open(console.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (out < 0) return system_error(fmt::format("open {}", console), errno);
  int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  pid_t child = in < 0 ? -1 : ::fork();
  if (child < 0) return system_error("fork", errno);
  if (child > 0) return true;
  ::setsid();
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  return false;
}

int start_server(const cli::Command& self, const Words& words, Session& session) {
  Words rest = words;
  bool daemon = !rest.empty() && rest.front() == "-daemon";
  if (daemon) rest.erase(rest.begin());
  if (rest.empty()) {
    session.err.print("{}\n", kStartUsage);
    return 1;
  }
  rest.insert(rest.begin(), "broker");
  auto fail = [&](const Error& error) {
    cli::complain(self, error, session);
    return 1;
  };
  auto asked = parse_command_line(rest);
  if (!asked) return fail(asked.error());
  if (!std::holds_alternative<RunBroker>(*asked)) {
    session.out.print("{}\n", std::holds_alternative<ShowVersion>(*asked) ? version_text() : std::string(kStartUsage));
    return 0;
  }
  if (daemon) {
    auto console = console_file(session);
    if (!console) return fail(console.error());
    auto parent = leave_terminal(*console);
    if (!parent) return fail(parent.error());
    if (*parent) return 0;
  }
  SystemClock clock;
  auto ran = run_broker(std::get<RunBroker>(*asked), clock, clock.monotonic());
  return ran ? *ran : fail(ran.error());
}

std::vector<std::string> command_line_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", process), std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (std::size_t from = 0; from < text.size();) {
    std::size_t end = std::min(text.find('\0', from), text.size());
    words.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

// The brokers of this user, whichever copy of the program they run.
std::vector<pid_t> brokers() {
  std::vector<pid_t> found;
  std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), ::closedir);
  if (!processes) return found;
  while (const dirent* entry = ::readdir(processes.get())) {
    std::string_view name = entry->d_name;
    pid_t process = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error != std::errc() || end != name.data() + name.size() || process == ::getpid()) continue;
    struct stat status{};
    if (::stat(fmt::format("/proc/{}", process).c_str(), &status) != 0 || status.st_uid != ::getuid()) continue;
    if (is_broker_command_line(command_line_of(process))) found.push_back(process);
  }
  return found;
}

int stop_server(const cli::Command&, const Words&, Session& session) {
  std::vector<pid_t> found = brokers();
  if (found.empty()) {
    session.out.write("No kafka server to stop\n");
    return 1;
  }
  int code = 0;
  for (pid_t process : found) {
    if (::kill(process, SIGTERM) == 0) continue;
    session.err.print("kill {}: {}\n", process, system_error("", errno).message());
    code = 1;
  }
  return code;
}

constexpr cli::OptionSpec kStartOptions[] = {
    {.name = "daemon", .help = "in the background; written with one dash, and before the file"},
    {.name = "override", .argument = "KEY=VALUE", .help = "sets one key of the file", .repeatable = true},
};
constexpr cli::Positional kStartFile[] = {{.name = "FILE", .help = "a server.properties"}};
constexpr cli::Grammar kStartGrammar{.usage = "[-daemon] FILE [--override KEY=VALUE]...", .options = kStartOptions, .positionals = kStartFile};
constexpr cli::Grammar kStopGrammar{.habit = cli::Habit::own};

constexpr cli::Command kServerStart{
    .name = "server-start",
    .kafka_name = "kafka-server-start",
    .summary = "run a broker with the settings of a server.properties",
    .grammar = &kStartGrammar,
    .run = start_server,
};
constexpr cli::Command kServerStop{
    .name = "server-stop",
    .kafka_name = "kafka-server-stop",
    .summary = "end the brokers of this user cleanly (SIGTERM)",
    .grammar = &kStopGrammar,
    .run = stop_server,
};

}  // namespace

std::span<const cli::Command* const> server_commands() {
  static constexpr const cli::Command* kAll[] = {&kServerStart, &kServerStop};
  return kAll;
}

bool is_broker_command_line(const std::vector<std::string>& words) {
  if (words.empty()) return false;
  std::string_view program = io::file_name(words.front());
  if (program == "kafka-server-start" || program == "kafka-server-start.sh") return true;
  if (program != "cordwood") return false;
  // Without words it is a broker, too.
  return words.size() == 1 || words[1] == "broker" || words[1] == "server-start" || words[1].starts_with("--override");
}

}  // namespace cordwood::server
