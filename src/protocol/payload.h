// protocol/payload.h — an encoded answer or request: pieces of memory and ranges of files, in sending order.
#pragma once

#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/file_range.h"

namespace cordwood::protocol {

// The content of a `records` field: batches in memory, or still in their file. Encoding never copies a file range.
struct Records {
  BytesView bytes;   // into the frame (decoding) or to memory that outlives the encoding
  FileRange range;   // used instead of `bytes` when its size is not 0
  std::int64_t size() const { return range.size.value > 0 ? range.size.value : static_cast<std::int64_t>(bytes.size()); }
  // For tests; file ranges compare by place.
  friend bool operator==(const Records& a, const Records& b) {
    return a.range.source == b.range.source && a.range.position == b.range.position && a.range.size == b.range.size &&
           a.bytes.size() == b.bytes.size() && std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin());
  }
};

// Without the four bytes of the frame's length: whoever sends it adds them.
struct Payload {
  using Piece = std::variant<ByteVector, FileRange>;
  std::vector<Piece> pieces;
  std::int64_t size() const {
    std::int64_t total = 0;
    for (const auto& piece : pieces) {
      if (const auto* bytes = std::get_if<ByteVector>(&piece)) {
        total += static_cast<std::int64_t>(bytes->size());
      } else {
        total += std::get<FileRange>(piece).size.value;
      }
    }
    return total;
  }
};

}  // namespace cordwood::protocol
