// record/codec_output.h — where an inflater writes: the end of a vector that may grow up to a cap. Internal to record/.
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/result.h"

namespace cordwood::record {

// Holds `out` longer than its contents while inflating; finish() (also done by the destructor) cuts it to what was
// written. One byte more than the cap is offered, so that exceeding it can be told from just reaching it.
class CodecOutput {
 public:
  CodecOutput(ByteVector& out, std::size_t at_most)
      : out_(out), start_(out.size()), at_(out.size()), at_most_(at_most) {}
  ~CodecOutput() { finish(); }
  CodecOutput(const CodecOutput&) = delete;
  CodecOutput& operator=(const CodecOutput&) = delete;

  std::size_t written() const { return at_ - start_; }
  bool exceeded() const { return written() > at_most_; }

  // Room for at least one and, if the cap allows, `wanted` bytes. Valid until the next call.
  MutableBytesView room(std::size_t wanted) {
    std::size_t largest = start_ + at_most_ + 1;
    if (at_most_ > SIZE_MAX - 1 - start_) largest = SIZE_MAX;
    if (out_.size() - at_ < wanted) {
      // Doubling what was really inflated, so that a small input cannot claim much memory at once.
      std::size_t target = std::max(at_ + wanted, at_ + written());
      out_.resize(std::max(out_.size(), std::min(target, std::max(largest, at_ + 1))));
    }
    return MutableBytesView(out_).subspan(at_);
  }
  void advance(std::size_t count) { at_ += count; }
  void append(BytesView bytes) {
    if (bytes.empty()) return;
    std::size_t largest = at_most_ - std::min(at_most_, written());
    std::size_t count = std::min(bytes.size(), largest + 1);
    MutableBytesView to = room(count);
    std::copy_n(bytes.begin(), count, to.begin());
    advance(count);
  }
  // What was written after `before` bytes of it.
  BytesView since(std::size_t before) const { return BytesView(out_).subspan(start_ + before, written() - before); }
  void finish() { out_.resize(at_); }

  Error limit_error() const {
    return Error{Errc::limit, fmt::format("the data inflates to more than the {} bytes allowed", at_most_)};
  }

 private:
  ByteVector& out_;
  std::size_t start_;
  std::size_t at_;
  std::size_t at_most_;
};

// How much room to offer before anything is known of the inflated size.
inline std::size_t first_guess(std::size_t compressed_size) {
  return std::clamp<std::size_t>(compressed_size * 4, 4 * 1024, 1024 * 1024);
}

}  // namespace cordwood::record
