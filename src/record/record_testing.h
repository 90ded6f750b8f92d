// record/record_testing.h — what the tests of this folder share: goldens, bytes from text, and batches read back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "record/batch.h"
#include "record/record.h"

namespace cordwood::record {

// 1700000000000, the time in most goldens.
inline constexpr TimestampMs kSomeTime{1'700'000'000'000};

// The bytes of tests/golden/record/<name>.hex. Fails the test, and gives nothing, when the annotated positions do not
// agree with the bytes in front of them.
ByteVector golden(std::string_view name);
// A whole file out of tests/golden/record.
ByteVector golden_file(std::string_view name);

ByteVector from_hex(std::string_view digits);
std::string to_hex(BytesView bytes);

// A record that owns what it holds.
struct OwnedRecord {
  Offset offset;
  TimestampMs timestamp;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  bool operator==(const OwnedRecord&) const = default;
};
// Fails the test when the batch does not read.
std::vector<OwnedRecord> read_records(BytesView batch);

// `batch` with `change` made to it and a CRC that fits again.
template <class Change>
ByteVector altered(ByteVector batch, Change&& change) {
  change(batch);
  if (batch.size() >= kHeaderSize) update_crc(batch);
  return batch;
}
// A batch of one time whose records section, before compression, is given; count and last offset delta fit.
ByteVector batch_of(std::int32_t count, std::string_view records_in_hex, Codec codec = Codec::none);

}  // namespace cordwood::record
