// offline/regular_expression.h — regular expressions over bytes, searched in time proportional to the bytes whatever the
// expression: RE2, which takes them for Latin-1, so that '.' is one byte and nothing is invalid.
//
// RE2's syntax (Perl's without back-references and look-around). A value, cheap to copy, safe for all threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"

namespace re2 {
class RE2;
}

namespace cordwood::offline {

class RegularExpression {
 public:
  // Errors: invalid with RE2's reason; limit for an expression whose program takes more than kMemory.
  static Result<RegularExpression> parse(std::string_view text);
  static constexpr ByteCount kMemory{8 * MiB};

  // Whether it matches anywhere in `bytes`.
  bool found_in(BytesView bytes) const;
  // The bytes that whatever matches is made of, when the expression is nothing but them; else empty.
  const std::string& literal() const { return literal_; }

 private:
  std::shared_ptr<const re2::RE2> compiled_;
  std::string literal_;
};

}  // namespace cordwood::offline
