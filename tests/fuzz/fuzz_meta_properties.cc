// Fuzz entry point: the files that give directories their identity, and the names of partition directories.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "io/memory_file_system.h"
#include "storage/directory_files.h"
#include "storage/java_properties.h"

using namespace cordwood;
using namespace cordwood::storage;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = as_text(std::as_bytes(std::span(data, size)));
  io::MemFileSystem fs;

  if (auto properties = parse_meta_properties(text, "input")) {
    write_meta_properties(fs, "/", *properties, {1'700'000'000'000}).value();
    CHECK(read_meta_properties(fs, "/").value() == *properties);
  }
  // Any text survives as a value, be it UTF-8; other bytes are read as what they stand for in ISO-8859-1.
  auto once = parse_java_properties("k=" + escape_java_property_value(text)).value();
  auto twice = parse_java_properties("k=" + escape_java_property_value(once["k"])).value();
  CHECK(once == twice);

  if (auto id = parse_partition_metadata(text, "input")) {
    write_partition_metadata(fs, "/", *id).value();
    CHECK(read_partition_metadata(fs, "/").value() == *id);
  }
  write_clean_shutdown(fs, "/", parse_clean_shutdown(text)).value();
  CHECK(read_clean_shutdown(fs, "/").value()->broker_epoch == parse_clean_shutdown(text).broker_epoch);

  if (auto name = parse_partition_directory(text)) {
    auto deleted = parse_partition_directory(deleted_directory_name(name->partition, {1, 2}));
    CHECK(deleted && deleted->kind == PartitionDirectoryName::Kind::deleted);
    CHECK(deleted->partition.partition == name->partition.partition);
    CHECK(name->partition.topic.starts_with(deleted->partition.topic));
  }
  return 0;
}
