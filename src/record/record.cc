#include "record/record.h"

#include "record/compression.h"
#include "record/record_walk.h"

namespace cordwood::record {
namespace {

// The thread's spare buffer. It holds no state, only capacity.
ByteVector& spare_bytes() {
  thread_local ByteVector spare;
  return spare;
}

}  // namespace

ScratchBuffer::ScratchBuffer() : bytes_(std::exchange(spare_bytes(), {})) {
  bytes_.clear();
}

ScratchBuffer::~ScratchBuffer() {
  ByteVector& spare = spare_bytes();
  if (bytes_.capacity() <= kKeptBytes && bytes_.capacity() > spare.capacity()) spare = std::move(bytes_);
}

const char* to_string(StructureFault fault) {
  switch (fault) {
    case StructureFault::none:
      return "no fault";
    case StructureFault::premature_end:
      return "the records end before the declared count, or inside one";
    case StructureFault::left_over:
      return "bytes are left after the declared count of records";
    case StructureFault::bad_length:
      return "the record's length does not match its fields";
    case StructureFault::bad_varint:
      return "a variable-length number is too long";
    case StructureFault::bad_field:
      return "a field reaches beyond the record";
    case StructureFault::bad_header_count:
      return "the header count is negative or too large";
    case StructureFault::null_header_key:
      return "a header key is null";
    case StructureFault::record_too_large:
      return "the decompressed record is larger than allowed";
    case StructureFault::stopped:
      return "stopped by the visitor";
  }
  return "unknown fault";
}

Error structure_error(const WalkEnd& end) {
  Errc code = end.fault == StructureFault::record_too_large ? Errc::limit : Errc::corrupt;
  return Error{code, fmt::format("record {} of the batch: {}", end.index, to_string(end.fault))};
}

Result<BytesView> plain_records(const BatchView& batch, const BatchHeader& header, const DecompressionLimits& limits,
                                ScratchBuffer& scratch) {
  if (header.record_count < 0) return Error{Errc::corrupt, fmt::format("record count {}", header.record_count)};
  std::optional<Codec> codec = codec_from_bits(header.codec_bits());
  if (!codec) return Error{Errc::unsupported, fmt::format("compression id {} is no codec", header.codec_bits())};
  // A batch without records is never compressed, whatever its codec bits say.
  if (*codec == Codec::none || header.record_count == 0) return batch.payload();
  TRY(decompress(*codec, batch.payload(), limits.largest_batch, scratch.bytes()));
  return BytesView(scratch.bytes());
}

Result<void> for_each_record(const BatchView& batch, const std::function<Walk(const RecordView&)>& visit,
                             const DecompressionLimits& limits) {
  return walk_records(batch, visit, limits);
}

}  // namespace cordwood::record
