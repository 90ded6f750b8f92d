#include "net/payload_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace cordwood::net {

void PayloadWriter::start(protocol::Payload payload) {
  CHECK(!busy_, "an answer started inside of another");
  std::int64_t size = payload.size();
  CHECK(size <= INT32_MAX, "an answer of {} bytes does not fit into a frame", size);
  store_be<std::int32_t>(length_, 0, static_cast<std::int32_t>(size));
  payload_ = std::move(payload);
  length_sent_ = 0;
  piece_ = 0;
  piece_at_ = 0;
  busy_ = true;
}

bool PayloadWriter::goes_by_sendfile(const FileRange& range, const Transport& transport) const {
  return range.size.value >= kSendFileFrom && transport.can_send_file() && range.source->native_fd() >= 0;
}

// Collects the memory pieces that come next, up to the next range that goes by sendfile. False when a file failed.
bool PayloadWriter::gather(const Transport& transport) {
  gathered_.clear();
  file_follows_ = false;
  std::int64_t total = 0;
  if (length_sent_ < sizeof length_) {
    gathered_.push_back(BytesView(length_).subspan(length_sent_));
  }
  std::size_t skip = piece_at_;
  for (std::size_t i = piece_; i < payload_.pieces.size(); ++i, skip = 0) {
    if (gathered_.size() == Transport::kMostPieces || total >= kGatherAtMost) break;
    if (const auto* range = std::get_if<FileRange>(&payload_.pieces[i])) {
      if (range->size.value == 0) continue;
      if (goes_by_sendfile(*range, transport)) {
        file_follows_ = true;
        break;
      }
      if (!read_into_memory(i)) return false;
    }
    BytesView bytes = BytesView(std::get<ByteVector>(payload_.pieces[i])).subspan(skip);
    if (bytes.empty()) continue;
    gathered_.push_back(bytes);
    total += static_cast<std::int64_t>(bytes.size());
  }
  return true;
}

// Replaces a range by its bytes, or by its first kReadPiece bytes and the rest as a range.
bool PayloadWriter::read_into_memory(std::size_t index) {
  FileRange range = std::get<FileRange>(payload_.pieces[index]);
  std::int64_t size = std::min(range.size.value, kReadPiece);
  ByteVector bytes(static_cast<std::size_t>(size));
  auto count = range.source->read_at(range.position, bytes);
  if (!count) {
    fail(count.error().message());
    return false;
  }
  if (*count != bytes.size()) {
    fail(fmt::format("a file ended {} bytes into a range of {} that was to be sent", *count, range.size.value));
    return false;
  }
  ByteCount read{size};
  payload_.pieces[index] = std::move(bytes);
  if (range.size > read) {
    payload_.pieces.insert(payload_.pieces.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                           FileRange{std::move(range.source), range.position + read, range.size - read});
  }
  return true;
}

void PayloadWriter::advance(std::size_t count) {
  std::size_t of_length = std::min(count, sizeof length_ - length_sent_);
  length_sent_ += of_length;
  count -= of_length;
  while (piece_ < payload_.pieces.size()) {
    auto& piece = payload_.pieces[piece_];
    if (auto* range = std::get_if<FileRange>(&piece)) {
      if (range->size.value > 0) return;
    } else {
      auto& bytes = std::get<ByteVector>(piece);
      std::size_t step = std::min(count, bytes.size() - piece_at_);
      piece_at_ += step;
      count -= step;
      if (piece_at_ < bytes.size()) return;
      bytes = ByteVector();
    }
    ++piece_;
    piece_at_ = 0;
  }
}

PayloadWriter::Progress PayloadWriter::write(Transport& transport, ByteCount at_most) {
  for (std::int64_t written = 0;;) {
    advance(0);
    if (length_sent_ == sizeof length_ && piece_ == payload_.pieces.size()) {
      payload_ = {};
      busy_ = false;
      return Progress::done;
    }
    if (written >= at_most.value) return Progress::used_turn;
    if (!gather(transport)) return Progress::failed;

    Moved moved;
    FileRange* range = nullptr;
    if (!gathered_.empty()) {
      moved = transport.write(gathered_, file_follows_ ? More::yes : More::no);
    } else {
      range = &std::get<FileRange>(payload_.pieces[piece_]);
      ByteCount piece{std::min(range->size.value, at_most.value - written)};
      moved = transport.send_file(range->source->native_fd(), range->position, piece);
    }

    switch (moved.status) {
      case Moved::Status::would_block: return Progress::blocked;
      case Moved::Status::end:
        return fail(fmt::format("a file ended {} bytes before the end of a range that was to be sent",
                                range != nullptr ? range->size.value : 0));
      case Moved::Status::failed:
        return fail(fmt::format("send: {} ({})", std::strerror(moved.sys_errno), moved.sys_errno),
                    moved.sys_errno == EPIPE || moved.sys_errno == ECONNRESET || moved.sys_errno == ETIMEDOUT);
      case Moved::Status::some: break;
    }
    written += static_cast<std::int64_t>(moved.count);
    bytes_sent_ += moved.count;
    if (range != nullptr) {
      ByteCount count{static_cast<std::int64_t>(moved.count)};
      range->position += count;
      range->size -= count;
    } else {
      advance(moved.count);
    }
  }
}

PayloadWriter::Progress PayloadWriter::fail(std::string why, bool peer_is_gone) {
  error_ = std::move(why);
  peer_is_gone_ = peer_is_gone;
  return Progress::failed;
}

}  // namespace cordwood::net
