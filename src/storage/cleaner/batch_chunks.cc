#include "storage/cleaner/batch_chunks.h"

#include <fmt/format.h>

#include "record/walk.h"

namespace cordwood::storage {
namespace {

std::size_t to_size(ByteCount count) { return static_cast<std::size_t>(count.value); }

}  // namespace

Result<BytesView> BatchChunks::next() {
  chunk_ = position_;
  if (position_ >= end_) return BytesView();
  std::size_t wanted = record::kMagicPrefix;
  while (true) {
    const std::optional<BytesView> read = TRY(reader_.at_hand(position_, wanted));
    if (!read) {
      return Error{Errc::corrupt, fmt::format("an incomplete batch at position {}, {} bytes before the end of the file",
                                              position_, end_ - position_)};
    }
    std::size_t whole = 0;
    while (read->size() - whole >= record::kMagicPrefix) {
      const record::EntryPrefix prefix = TRY(record::read_prefix(read->subspan(whole)));
      wanted = to_size(prefix.total_size());
      if (wanted > read->size() - whole) break;
      whole += wanted;
    }
    if (whole > 0) {
      position_ += ByteCount{static_cast<std::int64_t>(whole)};
      return read->first(whole);
    }
  }
}

BytesView first_entry(BytesView chunk) {
  const std::int64_t length = load_be<std::int32_t>(chunk, record::kBatchLength);
  return chunk.first(static_cast<std::size_t>(length) + record::kLogOverhead);
}

}  // namespace cordwood::storage
