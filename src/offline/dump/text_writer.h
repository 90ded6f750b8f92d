// offline/dump/text_writer.h — text in front of an Output, in large pieces: numbers and bytes go straight into one buffer. Without an
// Output all of it is gathered.
// One thread. flush() at the end; the destructor does it too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "cli/session.h"

namespace cordwood::offline {

class TextWriter {
 public:
  static constexpr std::size_t kLongestNumber = 20;

  explicit TextWriter(cli::Output& out) : out_(&out), size_(kSize), buffer_(new char[kSize]) {}
  TextWriter() = default;
  ~TextWriter() { flush(); }
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  void text(std::string_view text) {
    if (text.size() > size_ - used_) {
      make_room(text.size());
      if (text.size() > size_) {
        out_->write(text);
        return;
      }
    }
    std::memcpy(buffer_.get() + used_, text.data(), text.size());
    used_ += text.size();
  }
  void character(char c) {
    if (used_ == size_) make_room(1);
    buffer_[used_++] = c;
  }
  void number(std::int64_t value) {
    if (size_ - used_ < kLongestNumber) make_room(kLongestNumber);
    used_ = static_cast<std::size_t>(put_number(buffer_.get() + used_, value) - buffer_.get());
  }
  // Room for `size` characters that the caller writes itself, up to wherever it says in advance_to(). Null: that is more than one
  // buffer holds.
  char* room(std::size_t size) {
    if (size > size_ - used_) make_room(size);
    return size > size_ ? nullptr : buffer_.get() + used_;
  }
  void advance_to(const char* end) { used_ = static_cast<std::size_t>(end - buffer_.get()); }

  // Writes at most kLongestNumber characters; answers where they end.
  static char* put_number(char* at, std::int64_t value) {
    std::uint64_t size = static_cast<std::uint64_t>(value);
    if (value < 0) {
      *at++ = '-';
      size = 0 - size;
    }
    char digits[kLongestNumber];
    std::size_t first = kLongestNumber;
    while (size >= 100) {
      first -= 2;
      std::memcpy(digits + first, kPairs + 2 * (size % 100), 2);
      size /= 100;
    }
    if (size >= 10) {
      first -= 2;
      std::memcpy(digits + first, kPairs + 2 * size, 2);
    } else {
      digits[--first] = static_cast<char>('0' + size);
    }
    std::memcpy(at, digits + first, kLongestNumber - first);
    return at + (kLongestNumber - first);
  }

  void flush() {
    if (out_ == nullptr) return;
    if (used_ > 0) out_->write(std::string_view(buffer_.get(), used_));
    used_ = 0;
  }
  // The other end is gone.
  bool failed() const { return out_ != nullptr && out_->failed(); }
  // What was gathered without an Output, until the next call of anything.
  std::string_view gathered() const { return {buffer_.get(), used_}; }
  void forget_gathered() { used_ = 0; }

 private:
  static constexpr std::size_t kSize = 256 * 1024;
  static constexpr const char* kPairs =  // 00 to 99
      "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
      "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

  void make_room(std::size_t wanted) {
    if (out_ != nullptr) {
      flush();
      return;
    }
    const std::size_t larger = std::max({used_ + wanted, 2 * size_, kSize});
    std::unique_ptr<char[]> fresh(new char[larger]);
    if (used_ > 0) std::memcpy(fresh.get(), buffer_.get(), used_);
    buffer_ = std::move(fresh);
    size_ = larger;
  }

  cli::Output* out_ = nullptr;
  std::size_t size_ = 0;
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
};

}  // namespace cordwood::offline
