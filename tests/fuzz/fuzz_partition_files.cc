// Fuzz entry point: a partition directory as verify and repair may find one. Whatever lies there is told and never harms, and what
// repair leaves is a log in which the checker finds nothing, of batches that were there.
//
// Input: for each file a byte that picks its name, two bytes for its length (big endian), and so many bytes.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/log.h"
#include "base/random.h"
#include "io/memory_file_system.h"
#include "offline/partition_repair.h"

using namespace cordwood;

namespace {

const io::Path kDirectory = "/data/t-0";
constexpr std::array<const char*, 18> kNames = {
    "00000000000000000000.log",      "00000000000000000000.index",    "00000000000000000000.timeindex", "00000000000000000000.txnindex",
    "00000000000000000008.log",      "00000000000000000008.index",    "00000000000000000008.timeindex", "00000000000000000008.txnindex",
    "00000000000000000008.snapshot", "00000000000000000031.log",      "00000000000000000031.index",     "00000000000000000031.timeindex",
    "00000000000000000031.txnindex", "00000000000000000031.snapshot", "00000000000000000056.snapshot",  "leader-epoch-checkpoint",
    "partition.metadata",            "00000000000000000056.txnindex"};

void put_files(io::FileSystem& fs, BytesView input) {
  fs.create_directories(kDirectory).value();
  while (input.size() >= 3) {
    const char* name = kNames[std::to_integer<std::size_t>(input[0]) % kNames.size()];
    const std::size_t size = std::min<std::size_t>(load_be<std::uint16_t>(input, 1), input.size() - 3);
    io::write_file_atomically(fs, io::join(kDirectory, name), input.subspan(3, size), io::Fsync::no).value();
    input = input.subspan(3 + size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ManualClock clock;
  io::MemFileSystem fs(&clock);
  SeededRandom random(1);
  MemoryLogger logger;
  put_files(fs, std::as_bytes(std::span(data, size)));
  for (const storage::StopKind stop : {storage::StopKind::clean, storage::StopKind::unclean}) {
    storage::CheckContext context;
    context.last_stop = stop;
    context.depth = storage::CheckDepth::records;
    const storage::PartitionCheck check = storage::check_partition(fs, kDirectory, context).value();
    for (const storage::CheckFinding& finding : check.findings) CHECK(!storage::describe(finding).empty());
  }
  const offline::PartitionRepair plan = offline::plan_repair(fs, kDirectory, {"t", PartitionId{0}}, {}).value();
  if (!plan.is_needed()) return 0;
  offline::RepairSettings settings;
  settings.environment = {.fs = &fs, .clock = &clock, .random = &random, .logger = &logger};
  settings.quarantine = "/data.quarantine/000001/t-0";
  const offline::Repaired repaired = offline::carry_out(plan, settings).value();
  std::int64_t batches = 0;
  for (const storage::SalvagedSegment& segment : plan.salvage.segments) {
    for (const storage::SalvagedRun& run : segment.runs) batches += run.batches;
  }
  CHECK(repaired.check.batches == batches);
  for (const storage::CheckFinding& finding : repaired.check.findings) {
    CHECK(finding.weight == storage::CheckFinding::Weight::note, "left damaged: {}", storage::describe(finding));
  }
  return 0;
}
