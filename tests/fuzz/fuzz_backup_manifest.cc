// Fuzz entry point: manifest.jsonl of a backup, from any bytes to a manifest or an error; what is read comes back from its text.
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/check.h"
#include "offline/backup_manifest.h"

using namespace cordwood;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto manifest = offline::parse_manifest(as_text(std::as_bytes(std::span(data, size))));
  if (!manifest) return 0;
  for (const offline::BackupFile& file : manifest->files) {
    // As a path below the backup: it goes neither to the root nor up.
    CHECK(!file.name.empty() && file.name.front() != '/', "'{}' leads out of the backup", file.name);
    CHECK(("/" + file.name + "/").find("/../") == std::string::npos, "'{}' leads out of the backup", file.name);
  }
  const auto again = offline::parse_manifest(offline::to_text(*manifest));
  CHECK(again && *again == *manifest, "does not come back");
  return 0;
}
