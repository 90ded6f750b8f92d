// offline/dump/text_writer.h — text in front of an Output, in large pieces: numbers and bytes go straight into one buffer.
// One thread. flush() at the end; the destructor does it too.
#pragma once

#include <cstring>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "cli/session.h"

namespace cordwood::offline {

class TextWriter {
 public:
  explicit TextWriter(cli::Output& out) : out_(out), buffer_(new char[kSize]) {}
  ~TextWriter() { flush(); }
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  void text(std::string_view text) {
    if (text.size() > kSize - used_) {
      flush();
      if (text.size() > kSize) {
        out_.write(text);
        return;
      }
    }
    std::memcpy(buffer_.get() + used_, text.data(), text.size());
    used_ += text.size();
  }
  void character(char c) {
    if (used_ == kSize) flush();
    buffer_[used_++] = c;
  }
  void number(std::int64_t value) {
    if (kSize - used_ < kLongestNumber) flush();
    std::uint64_t size = static_cast<std::uint64_t>(value);
    if (value < 0) {
      buffer_[used_++] = '-';
      size = 0 - size;
    }
    char digits[kLongestNumber];
    std::size_t at = kLongestNumber;
    while (size >= 100) {
      at -= 2;
      std::memcpy(digits + at, kPairs + 2 * (size % 100), 2);
      size /= 100;
    }
    if (size >= 10) {
      at -= 2;
      std::memcpy(digits + at, kPairs + 2 * size, 2);
    } else {
      digits[--at] = static_cast<char>('0' + size);
    }
    std::memcpy(buffer_.get() + used_, digits + at, kLongestNumber - at);
    used_ += kLongestNumber - at;
  }
  void flush() {
    if (used_ > 0) out_.write(std::string_view(buffer_.get(), used_));
    used_ = 0;
  }
  // The other end is gone.
  bool failed() const { return out_.failed(); }

 private:
  static constexpr std::size_t kSize = 256 * 1024;
  static constexpr std::size_t kLongestNumber = 20;
  static constexpr const char* kPairs =  // 00 to 99
      "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
      "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

  cli::Output& out_;
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
};

}  // namespace cordwood::offline
