// Fuzz entry point: the words of the commands on files (options, filters, regular expressions, times, sizes, partitions), on a
// directory without records, and the small files that they read.
//
// Input: byte 0 picks the command; the words, each ended by a line feed; an empty word ends them, and what follows is the content of
// /data/file.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "cli/command.h"
#include "io/memory_file_system.h"
#include "offline/commands.h"
#include "offline/offline_testing.h"

using namespace cordwood;

namespace {

// No fuzzer asks other machines: "--inspector", "-i", and what the two are short or long for.
bool names_inspector(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.starts_with("--i") || (word.starts_with('-') && !word.starts_with("--") && word.find('i') != std::string::npos)) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::span<const cli::Command* const> commands = offline::commands();
  const cli::Command& command = *commands[data[0] % commands.size()];
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<std::string> words;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word.empty()) break;
    words.emplace_back(word);
  }
  if (command.grammar->find("inspector") != nullptr && names_inspector(words)) return 0;
  io::MemFileSystem fs;
  fs.create_directories("/data/t-0").value();
  offline::put_file(fs, "/data/meta.properties", "version=1\ncluster.id=c\nnode.id=1\n");
  offline::put_file(fs, "/data/t-0/00000000000000000000.log", "");
  offline::put_file(fs, "/data/file", rest);
  const offline::CommandRun run = offline::run_command(command, words, fs);
  CHECK(run.code >= 0 && run.code <= 3, "{} answers {}", command.name, run.code);
  return 0;
}
