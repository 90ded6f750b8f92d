// The value of a record of the metadata log: whatever is accepted must encode to something that reads the same again.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "broker/metadata/metadata_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordwood;
  using namespace cordwood::broker::metadata;
  Result<MetadataRecord> record = decode_record(std::as_bytes(std::span(data, size)), "input");
  if (!record) return 0;
  ByteVector encoded = encode_record(*record);
  Result<MetadataRecord> again = decode_record(encoded, "encoded");
  // Compared as bytes: a NaN in a quota does not equal itself.
  if (!again || encode_record(*again) != encoded) std::abort();
  return 0;
}
