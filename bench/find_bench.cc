// How long does `find` take to search 1 GiB of records in the page cache, by all cores?
//   find_bench <folder> <MiB> <rounds>    makes <folder>/bench-0 when it is absent: values of 200 bytes, 64 in a batch
#include "cli/command.h"
#include "measuring.h"
#include "offline/commands.h"
#include "record/builder.h"

namespace {
using namespace cordwood;

void make_log(const std::string& folder, std::int64_t mib) {
  bench::Surroundings around;
  const std::string path = folder + "/making";
  bench::must(around.fs.create_directories(path));
  auto file = bench::must(around.fs.open(path + "/00000000000000000000.log", io::OpenMode::truncate));
  FilePosition end{0};
  // Values are parts of one random text.
  std::string text(static_cast<std::size_t>(1 * MiB), ' ');
  for (char& c : text) c = static_cast<char>('a' + around.random.below(26));
  for (std::int64_t offset = 0; end < FilePosition{mib * MiB};) {
    record::BatchOptions options;
    options.base_offset = {offset};
    record::BatchBuilder builder{options};
    for (int i = 0; i < 64; ++i, ++offset) {
      const std::string_view value = std::string_view(text).substr(around.random.below(text.size() - 200), 200);
      const std::string key = fmt::format("user-{}", offset % 100'000);
      builder.add({1'700'000'000'000 + offset}, as_bytes(key), as_bytes(value));
    }
    const ByteVector batch = builder.build();
    bench::must(file->write_at(end, batch));
    end += ByteCount{static_cast<std::int64_t>(batch.size())};
  }
  bench::must(around.fs.rename(path, folder + "/bench-0"));
}

int run(const std::string& folder, std::int64_t mib, int rounds) {
  SystemClock clock;
  SystemRandom random;
  io::PosixFileSystem fs;
  if (!bench::must(fs.exists(folder + "/bench-0"))) make_log(folder, mib);
  const cli::CommandList commands({offline::commands().begin(), offline::commands().end()});
  const std::vector<std::pair<const char*, std::vector<std::string>>> questions{
      {"key", {"--key", "user-4711"}},
      {"value regex with a literal", {"--value-matches", "needle-[0-9]+"}},
      {"value regex without", {"--value-matches", "(ab|ba)[cd]{3}z{2}"}},
      {"offset range", {"--from-offset", "1000", "--to-offset", "2000"}},
  };
  for (int round = 0; round < rounds; ++round) {
    for (const auto& [name, words] : questions) {
      std::vector<std::string> all{folder + "/bench-0", "--count"};
      all.insert(all.end(), words.begin(), words.end());
      cli::MemoryInput in("");
      cli::MemoryOutput out, err;
      const std::atomic<bool> interrupted = false;
      cli::Session session{clock, random, fs, in, out, err, [](std::string_view) { return std::optional<std::string>(); },
                           interrupted, "bench", commands};
      const cli::Command* find = commands.find("find");
      auto took = bench::measure(clock, [&] { find->run(*find, all, session); });
      std::string count = out.text();
      while (!count.empty() && count.back() == '\n') count.pop_back();
      fmt::print(R"({{"side": "cordwood", "bench": "find", "what": "{}", "round": {}, "mib": {}, "found": {}, "wall_s": {:.3f}, "cpu_s": {:.3f}}})" "\n",
                 name, round, mib, count.empty() ? "-1" : count, took.wall_s, took.cpu_s);
    }
  }
  return 0;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) return run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  std::fprintf(stderr, "usage: find_bench <folder> <MiB> <rounds>\n");
  return 1;
}
