// Fuzz entry point: a request to the inspector of a data directory: its path, parameters and body, through the guard and the views.
//
// The first line is the method and the target, "GET /api/v1/topics?limit=3"; the rest is the body.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"
#include "inspector/directory_source.h"
#include "inspector/service.h"
#include "io/memory_file_system.h"
#include "record/builder.h"

namespace {

using namespace cordwood;

// A directory of one topic with a few batches, the same for all inputs.
struct World {
  ManualClock clock;
  io::MemFileSystem files{&clock};
  SeededRandom random{1};
  std::unique_ptr<inspector::DirectorySource> source;
  std::unique_ptr<inspector::Service> service;

  World() {
    put("/data/orders-0/00000000000000000000.log", 20);
    put("/data/orders-1/00000000000000000000.log", 0);
    source = inspector::DirectorySource::open(files, clock, random, "/data", {}).value();
    // As if actions were allowed, so that bodies are read; a directory refuses what they ask for.
    service = std::make_unique<inspector::Service>(
        inspector::ServiceParts{.source = *source, .files = files, .clock = clock, .version = "0"},
        inspector::GuardRules{.token = {}, .bound_host = "127.0.0.1", .port = 9192, .actions = true});
  }

  void put(const std::string& path, int batches) {
    files.create_directories(io::Path(io::parent_of(path))).value();
    auto file = files.open(path, io::OpenMode::create).value();
    FilePosition at{0};
    for (int i = 0; i < batches; ++i) {
      record::BatchOptions options;
      options.base_offset = Offset{i};
      record::BatchBuilder builder{options};
      const std::string key = "key " + std::to_string(i % 3);
      builder.add(TimestampMs{1'700'000'000'000 + i}, as_bytes(key), as_bytes("a value"));
      const ByteVector batch = builder.build();
      file->write_at(at, batch).value();
      at += ByteCount{static_cast<std::int64_t>(batch.size())};
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World world;
  std::string_view text = as_text(std::as_bytes(std::span(data, size)));
  inspector::HttpRequest request;
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string_view first = text.substr(0, line);
  const std::size_t space = std::min(first.find(' '), first.size());
  request.method = std::string(first.substr(0, space));
  // The server lets no other through.
  if (request.method != "GET" && request.method != "HEAD" && request.method != "POST") return 0;
  request.target = std::string(first.substr(std::min(space + 1, first.size())));
  request.body = std::string(text.substr(std::min(line + 1, text.size())));
  request.host = "localhost:9192";
  request.content_type = "application/json";
  auto answer = world.service->answer_at_once(request);
  if (!answer) answer = world.service->answer(request);
  // Whatever is asked, it is the caller's mistake or there is an answer.
  if (answer->status < 200 || answer->status == 500) std::abort();
  if (answer->body.size() > (32 << 20)) std::abort();
  return 0;
}
