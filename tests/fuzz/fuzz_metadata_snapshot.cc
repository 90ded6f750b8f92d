// A file of the metadata directory, read as a snapshot and as a log: refused or understood, never harmful.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/log.h"
#include "broker/metadata/metadata_log.h"
#include "broker/metadata/snapshot.h"
#include "io/memory_file_system.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordwood;
  using namespace cordwood::broker::metadata;
  io::MemFileSystem fs;
  MemoryLogger logger;
  const std::string directory = std::string("/d/") + kMetadataPartition;
  if (!fs.create_directories(directory)) std::abort();
  for (const char* name : {"/00000000000000000000.log", "/00000000000000000007-0000000001.checkpoint"}) {
    auto file = fs.open(directory + name, io::OpenMode::create);
    if (!file || !(*file)->write_at({0}, std::as_bytes(std::span(data, size)))) std::abort();
  }
  Result<SnapshotContent> content = read_snapshot_file(fs, directory + "/00000000000000000007-0000000001.checkpoint");
  if (content) {
    Result<Image> image = image_of(*content, {Offset{7}, 1});
    // What is understood can be written as a snapshot and read as the same image.
    if (image) {
      Result<Image> again = image_of({image->kraft_version, image->voters, image_to_records(*image)}, {Offset{7}, 1});
      if (!again) std::abort();
    }
  }
  Result<LoadedMetadata> loaded = load_metadata(fs, "/d", logger);
  if (!loaded && loaded.error().what.empty()) std::abort();
  return 0;
}
