// Fuzz entry point: offset and time index files. A hint may be wrong, but it never harms: lookups answer inside of the
// segment, and the file can be cut, appended to and read again.
//
// Input: byte 0 picks what opening does to the length, the rest is the file.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "io/memory_file_system.h"
#include "storage/offset_index.h"
#include "storage/time_index.h"

using namespace cordwood;
using namespace cordwood::storage;

namespace {

constexpr Offset kBase{1000};
constexpr ByteCount kCapacity{4096};

void use_offset_index(io::FileSystem& fs, OffsetIndex::Growth growth) {
  auto index = OffsetIndex::open(fs, "/i", kBase, kCapacity, growth).value();
  for (std::int64_t target : {INT64_MIN, std::int64_t{0}, std::int64_t{1000}, std::int64_t{1500}, INT64_MAX}) {
    IndexEntry found = index->lookup({target});
    CHECK(found.offset >= kBase && found.position.value >= 0);
    (void)index->first_at_or_after({target});
  }
  bool is_ordered = !index->first_disorder();
  for (std::int64_t i = 0; i < index->entries(); ++i) {
    IndexEntry entry = *index->entry(i);
    CHECK(!is_ordered || index->lookup(entry.offset) == entry);
  }
  index->truncate_to({1500}).value();
  auto last = index->last();
  CHECK(!is_ordered || !last || last->offset.value < 1500);
  index->resize_to_capacity().value();
  if (index->append({2000}, {100}).has_value()) CHECK(index->last() == (IndexEntry{{2000}, {100}}));
  index->trim().value();
  auto again = OffsetIndex::open(fs, "/i", kBase, kCapacity, OffsetIndex::Growth::as_it_is).value();
  CHECK(again->entries() == index->entries() && again->last() == index->last());
  index->reset().value();
  index->append({1001}, {1}).value();
  CHECK(!index->first_disorder());
}

void use_time_index(io::FileSystem& fs, OffsetIndex::Growth growth) {
  auto index = TimeIndex::open(fs, "/t", kBase, kCapacity, growth).value();
  for (std::int64_t target : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1500}, INT64_MAX}) {
    CHECK(index->lookup({target}).offset >= kBase);
  }
  bool is_ordered = !index->first_disorder();
  for (std::int64_t i = 0; i < index->entries(); ++i) {
    TimeEntry entry = *index->entry(i);
    CHECK(!is_ordered || index->lookup(entry.timestamp) == entry);
  }
  index->truncate_to({1500}).value();
  index->resize_to_capacity().value();
  (void)index->maybe_append({1500}, {2000}).has_value();
  (void)index->maybe_append({INT64_MAX}, {2001}, TimeIndex::Slot::closing).has_value();
  index->trim().value();
  auto again = TimeIndex::open(fs, "/t", kBase, kCapacity, OffsetIndex::Growth::as_it_is).value();
  CHECK(again->entries() == index->entries() && again->last_or_none() == index->last_or_none());
  index->reset().value();
  index->maybe_append({5}, {1001}).value();
  CHECK(!index->first_disorder());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Growth = OffsetIndex::Growth;
  if (size < 1) return 0;
  Growth growth = data[0] % 3 == 0 ? Growth::as_it_is : data[0] % 3 == 1 ? Growth::full : Growth::full_on_append;
  BytesView content = std::as_bytes(std::span(data, size)).subspan(1);
  io::MemFileSystem fs;
  io::write_file_atomically(fs, "/i", content, io::Fsync::no).value();
  io::write_file_atomically(fs, "/t", content, io::Fsync::no).value();
  use_offset_index(fs, growth);
  use_time_index(fs, growth);
  return 0;
}
