#include "storage/cleaner/batch_chunks.h"

#include <fmt/format.h>

#include <algorithm>

#include "record/walk.h"

namespace cordwood::storage {
namespace {

std::size_t to_size(ByteCount count) { return static_cast<std::size_t>(count.value); }

}  // namespace

Result<BytesView> BatchChunks::next() {
  chunk_ = position_;
  // Room for a header, whatever the buffer's owner wanted.
  if (buffer_.size() < record::kHeaderSize) buffer_.resize(record::kHeaderSize);
  while (position_ < end_) {
    const std::size_t wanted = std::min(buffer_.size(), to_size(end_ - position_));
    const std::size_t have = TRY(file_.read_at(position_, MutableBytesView(buffer_).first(wanted)));
    const BytesView read(buffer_.data(), have);
    std::size_t whole = 0;
    std::size_t larger = 0;  // the size of the entry that did not fit
    while (read.size() - whole >= record::kMagicPrefix) {
      const record::EntryPrefix prefix = TRY(record::read_prefix(read.subspan(whole)));
      const std::size_t size = to_size(prefix.total_size());
      if (size > read.size() - whole) {
        larger = size;
        break;
      }
      whole += size;
    }
    if (whole > 0) {
      position_ += ByteCount{static_cast<std::int64_t>(whole)};
      return read.first(whole);
    }
    if (have < wanted || larger == 0 || larger > to_size(end_ - position_)) {
      return Error{Errc::corrupt, fmt::format("an incomplete batch at position {}, {} bytes before the end of the file",
                                              position_, end_ - position_)};
    }
    buffer_.resize(larger);
  }
  return BytesView();
}

BytesView first_entry(BytesView chunk) {
  const std::int64_t length = load_be<std::int32_t>(chunk, record::kBatchLength);
  return chunk.first(static_cast<std::size_t>(length) + record::kLogOverhead);
}

}  // namespace cordwood::storage
