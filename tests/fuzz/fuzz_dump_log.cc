// Fuzz entry point: dump-log over a file of any content, with each decoder and each kind of file.
//
// Input: byte 0 picks the kind of file and the options, the rest is the file.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "cli/command.h"
#include "io/memory_file_system.h"
#include "offline/offline_testing.h"

namespace cordwood::offline {
extern const cli::Command dump_log_command;
}

using namespace cordwood;

namespace {

constexpr std::array<const char*, 5> kEndings = {".log", ".index", ".timeindex", ".txnindex", ".snapshot"};
const std::array<std::vector<std::string>, 8> kOptions = {{{},
                                                           {"--deep-iteration"},
                                                           {"--print-data-log"},
                                                           {"--offsets-decoder"},
                                                           {"--transaction-log-decoder"},
                                                           {"--cluster-metadata-decoder"},
                                                           {"--share-group-state-decoder"},
                                                           {"--remote-log-metadata-decoder"}}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  io::MemFileSystem fs;
  // Decoders are for .log files; the others have no options.
  const std::size_t pick = data[0] % (kOptions.size() + kEndings.size() - 1);
  const bool is_log = pick < kOptions.size();
  const io::Path path = std::string("/data/t-0/00000000000000000000") + (is_log ? kEndings[0] : kEndings[pick - kOptions.size() + 1]);
  offline::put_file(fs, path, as_text(std::as_bytes(std::span(data, size)).subspan(1)));
  std::vector<std::string> words{"--files", path};
  if (is_log) words.insert(words.end(), kOptions[pick].begin(), kOptions[pick].end());
  const offline::CommandRun run = offline::run_command(offline::dump_log_command, words, fs);
  CHECK(!run.out.empty() || !run.err.empty());
  return 0;
}
