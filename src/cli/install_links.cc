// install-links DIR: a link to this program for each of Kafka's commands, kafka-topics and kafka-topics.sh alike.
#include <unistd.h>

#include <array>
#include <cerrno>

#include "cli/command.h"
#include "cli/help.h"

namespace cordwood::cli {
namespace {

constexpr OptionSpec kInstallLinksOptions[] = {
    {.name = "force", .help = "replace files of these names that are no links to cordwood"},
    {.name = "help", .help = "this text", .letter = 'h'},
};
constexpr Positional kInstallLinksPositionals[] = {{.name = "DIR", .help = "where the links go, made when absent; a directory of your PATH"}};
constexpr Grammar kInstallLinksGrammar{.habit = Habit::own, .options = kInstallLinksOptions, .positionals = kInstallLinksPositionals};

Result<std::string> own_path() {
  std::array<char, 4096> path{};
  ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length < 0) return system_error("readlink /proc/self/exe", errno);
  return std::string(path.data(), static_cast<std::size_t>(length));
}

// Whether `path` is a link to a program that is called cordwood, or does not exist: what may be replaced.
bool may_be_replaced(const std::string& path) {
  std::array<char, 4096> target{};
  ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0) return errno == ENOENT;
  return io::file_name(std::string_view(target.data(), static_cast<std::size_t>(length))) == "cordwood";
}

Result<void> link_as(const std::string& program, const std::string& path, bool force) {
  if (!force && !may_be_replaced(path)) {
    return Error{Errc::exists, fmt::format("{} is there and is no link to cordwood; --force replaces it", path)};
  }
  std::string temporary = path + ".new";
  ::unlink(temporary.c_str());
  if (::symlink(program.c_str(), temporary.c_str()) != 0) return system_error(fmt::format("symlink {}", temporary), errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    int why = errno;
    ::unlink(temporary.c_str());
    return system_error(fmt::format("rename {} to {}", temporary, path), why);
  }
  return {};
}

Result<std::size_t> install(const std::string& directory, bool force, Session& session) {
  std::string program = TRY(own_path());
  TRY(session.files.create_directories(directory));
  std::size_t made = 0;
  for (const Command* command : session.commands.all()) {
    if (command->kafka_name.empty()) continue;
    for (const char* suffix : {"", ".sh"}) {
      TRY(link_as(program, io::join(directory, fmt::format("{}{}", command->kafka_name, suffix)), force));
      ++made;
    }
  }
  return made;
}

Result<int> install_links(const Options& options, Session& session) {
  const std::string& directory = options.words().front();
  std::size_t made = TRY(install(directory, options.has("force"), session));
  session.out.print("{} links in {}\n", made, directory);
  return 0;
}

int run_install_links(const Command& self, const Words& words, Session& session) { return run_own(self, words, session, install_links); }

}  // namespace

extern const Command install_links_command{
    .name = "install-links",
    .summary = "link this program under the names of Kafka's commands",
    .grammar = &kInstallLinksGrammar,
    .run = run_install_links,
};

}  // namespace cordwood::cli
