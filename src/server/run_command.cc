#include "server/run_command.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>

#include "base/clock.h"
#include "base/random.h"
#include "cli/command.h"
#include "inspector/commands.h"
#include "io/file_system.h"
#include "offline/commands.h"
#include "server/command_line.h"
#include "server/server_commands.h"

namespace cordwood::server {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void note_interruption(int number) {
  if (interrupted.exchange(true)) ::_exit(128 + number);
}

// Without SA_RESTART, so that whatever waits in a system call looks at the flag.
void listen_for_interruptions() {
  struct sigaction action{};
  action.sa_handler = note_interruption;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

const cli::CommandList& all_commands() {
  static const cli::CommandList list = [] {
    std::vector<const cli::Command*> all(cli::commands().begin(), cli::commands().end());
    all.insert(all.end(), offline::commands().begin(), offline::commands().end());
    all.insert(all.end(), inspector::commands().begin(), inspector::commands().end());
    all.insert(all.end(), server_commands().begin(), server_commands().end());
    return cli::CommandList(std::move(all));
  }();
  return list;
}

// Takes the command's name off `words`. Null when they are the broker's.
const cli::Command* take_command(std::string_view own_name, std::vector<std::string>& words) {
  if (own_name != "cordwood") {
    if (const cli::Command* linked = all_commands().find(own_name)) return linked;
  }
  if (words.empty()) return nullptr;
  const std::string name = words.front() == "--help" || words.front() == "-h" ? "help" : words.front();
  const cli::Command* command = all_commands().find(name);
  if (command != nullptr) words.erase(words.begin());
  return command;
}

std::optional<std::string> environment_variable(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  if (value == nullptr) return {};
  return value;
}

}  // namespace

std::optional<int> run_command(const std::string& program, const std::vector<std::string>& words) {
  std::vector<std::string> rest = words;
  const cli::Command* command = take_command(io::file_name(program), rest);
  if (command == nullptr) return {};
  listen_for_interruptions();
  SystemClock clock;
  SystemRandom random;
  io::PosixFileSystem files;
  cli::DescriptorInput in(STDIN_FILENO);
  cli::DescriptorOutput out(STDOUT_FILENO);
  cli::DescriptorOutput err(STDERR_FILENO);
  cli::Session session{clock, random, files, in, out, err, environment_variable, interrupted, version_text(), all_commands()};
  int code = command->run(*command, rest, session);
  out.flush();
  err.flush();
  return code;
}

std::vector<std::string> commands_near(std::string_view misspelt) {
  std::vector<std::string_view> names = {"broker", "version"};
  for (const cli::Command* command : all_commands().all()) names.push_back(command->name);
  return cli::nearest_names(misspelt, names);
}

}  // namespace cordwood::server
