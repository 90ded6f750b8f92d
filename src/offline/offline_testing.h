// Directories of tests/golden in memory, and commands run on them.
#pragma once

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/source_path_testing.h"
#include "cli/command.h"
#include "io/memory_file_system.h"

namespace cordwood::offline {

inline void put_file(io::FileSystem& fs, const io::Path& path, std::string_view content) {
  fs.create_directories(io::Path(io::parent_of(path))).value();
  auto file = fs.open(path, io::OpenMode::truncate).value();
  file->write_at(FilePosition{0}, as_bytes(content)).value();
}

// tests/golden/kafka-4.4.0/NAME/data becomes /data.
inline void load_golden(io::FileSystem& fs, const std::string& name) {
  namespace disk = std::filesystem;
  const disk::path root = disk::path(source_path("tests/golden/kafka-4.4.0")) / name / "data";
  for (const auto& entry : disk::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    std::ostringstream content;
    content << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    put_file(fs, io::join("/data", disk::relative(entry.path(), root).string()), content.str());
  }
}

// Every file below `directory` with its content.
inline std::map<std::string, std::string> files_below(io::FileSystem& fs, const io::Path& directory) {
  std::map<std::string, std::string> files;
  const auto entries = fs.list(directory).value();
  for (const io::DirectoryEntry& entry : entries) {
    const io::Path path = io::join(directory, entry.name);
    if (entry.kind == io::DirectoryEntry::Kind::directory) {
      files.merge(files_below(fs, path));
    } else {
      files[path] = std::string(as_text(io::read_file(fs, path).value()));
    }
  }
  return files;
}

struct CommandRun {
  int code = 0;
  std::string out;
  std::string err;
};

inline CommandRun run_command(const cli::Command& command, const std::vector<std::string>& words, io::FileSystem& fs,
                              Clock* clock = nullptr) {
  ManualClock standing;
  SeededRandom random(1);
  cli::MemoryInput in("");
  cli::MemoryOutput out;
  cli::MemoryOutput err;
  const std::atomic<bool> interrupted = false;
  const cli::CommandList commands({});
  const auto no_variable = [](std::string_view) { return std::optional<std::string>(); };
  cli::Session session{clock != nullptr ? *clock : standing, random, fs, in, out, err, no_variable, interrupted, "test", commands};
  CommandRun run;
  run.code = command.run(command, words, session);
  run.out = out.text();
  run.err = err.text();
  return run;
}

}  // namespace cordwood::offline
