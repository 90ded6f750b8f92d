// record/compression.h — the four codecs of Kafka's batches, each with its framing, every decompressed size capped.
//
// Framing and what Kafka's readers accept beyond their writers' output: docs/formats/record_batch.md, "compression".
#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "record/batch.h"

namespace cordwood::record {

// Kafka's meaning of a level: gzip -1 or 1..9, lz4 1..17, zstd -131072..22; absent is the codec's default (-1, 9, 3).
struct CompressionSettings {
  Codec codec = Codec::none;
  std::optional<int> level;
  bool operator==(const CompressionSettings&) const = default;
};

// Appends the compressed form of `plain` to `out`.
void compress(const CompressionSettings& settings, BytesView plain, ByteVector& out);

// The whole of `compressed`, inflated. Contexts are reused per thread. Errors: corrupt; limit above `at_most`;
// unsupported for a codec that is none of the five. Appends to `out`, which is left as it was on error.
Result<void> decompress(Codec codec, BytesView compressed, ByteCount at_most, ByteVector& out);

}  // namespace cordwood::record
