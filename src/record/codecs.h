// record/codecs.h — the codecs behind compression.h, one pair of functions each. Internal to record/.
//
// Every compress_x appends to `out`. Every decompress_x appends to `out` until the input ends or `at_most` bytes would
// be exceeded; on error what it had inflated so far stays appended. decompress() takes it away again; validation looks
// at it, to find what Kafka's streaming reader would have found first. Threads: safe for all; contexts are per thread
// and hold no state between calls.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "record/batch.h"

namespace cordwood::record {

// Level -1 or 1..9.
void compress_gzip(BytesView plain, int level, ByteVector& out);
Result<void> decompress_gzip(BytesView compressed, std::size_t at_most, ByteVector& out);

void compress_snappy(BytesView plain, ByteVector& out);
Result<void> decompress_snappy(BytesView compressed, std::size_t at_most, ByteVector& out);

// Level 1..17; 9 is the fast compressor, as in Kafka, every other the high-compression one.
void compress_lz4(BytesView plain, int level, ByteVector& out);
// Wrappers of magic 0 carry a header checksum that was computed over the wrong bytes: `ignored` takes them.
enum class Lz4HeaderChecksum : std::uint8_t { required, ignored };
Result<void> decompress_lz4(BytesView compressed, std::size_t at_most, ByteVector& out,
                            Lz4HeaderChecksum checksum = Lz4HeaderChecksum::required);

// Level -131072..22.
void compress_zstd(BytesView plain, int level, ByteVector& out);
Result<void> decompress_zstd(BytesView compressed, std::size_t at_most, ByteVector& out);

// The one that `codec` names.
Result<void> decompress_partly(Codec codec, BytesView compressed, ByteCount at_most, ByteVector& out);

// xxHash32 with seed 0, the checksum inside LZ4 frames. xxhash32("") is 0x02cc5d05.
std::uint32_t xxhash32(BytesView bytes);

}  // namespace cordwood::record
