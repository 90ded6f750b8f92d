// Fuzz entry point: the checkpoint files of offsets and of leader epochs. What was read is written and read again.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "io/memory_file_system.h"
#include "storage/checkpoint_file.h"
#include "storage/leader_epoch_cache.h"

using namespace cordwood;
using namespace cordwood::storage;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  io::MemFileSystem fs;
  io::write_file_atomically(fs, "/f", std::as_bytes(std::span(data, size)), io::Fsync::no).value();

  if (auto offsets = read_offset_checkpoint(fs, "/f")) {
    write_offset_checkpoint(fs, "/again", *offsets).value();
    CHECK(read_offset_checkpoint(fs, "/again").value() == *offsets);
  }
  if (auto epochs = read_epoch_checkpoint(fs, "/f")) {
    write_epoch_checkpoint(fs, "/again", *epochs).value();
    CHECK(read_epoch_checkpoint(fs, "/again").value() == *epochs);
  }
  auto opened = LeaderEpochCache::open(fs, "/f");
  if (!opened) return 0;
  LeaderEpochCache& cache = *opened;
  for (std::size_t i = 1; i < cache.entries().size(); ++i) {
    CHECK(cache.entries()[i - 1].epoch < cache.entries()[i].epoch);
    CHECK(cache.entries()[i - 1].start_offset < cache.entries()[i].start_offset);
  }
  for (std::int32_t epoch : {-1, 0, 5, INT32_MAX}) {
    EpochEndOffset end = cache.end_offset_for(epoch, {INT64_MAX});
    CHECK(end.epoch <= epoch && (end.epoch == -1) == (end.end_offset.value == -1));
  }
  for (std::int64_t offset : {std::int64_t{0}, std::int64_t{7}, INT64_MAX}) (void)cache.epoch_of({offset});
  cache.assign({3}, {30}).value();
  cache.truncate_from_start({10}).value();
  cache.truncate_from_end({20}).value();
  CHECK(LeaderEpochCache::open(fs, "/f")->entries() == cache.entries());
  return 0;
}
