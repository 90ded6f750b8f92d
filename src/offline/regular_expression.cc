#include "offline/regular_expression.h"

#include <fmt/format.h>
#include <re2/re2.h>


namespace cordwood::offline {

Result<RegularExpression> RegularExpression::parse(std::string_view text) {
  constexpr std::string_view kSpecial = "\\^$.|?*+()[]{}";
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  options.set_max_mem(kMemory.value);
  RegularExpression expression;
  auto compiled = std::make_shared<const re2::RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (!compiled->ok()) {
    bool too_large = compiled->error_code() == re2::RE2::ErrorPatternTooLarge;
    return Error{too_large ? Errc::limit : Errc::invalid, fmt::format("regular expression '{}': {}", text, compiled->error())};
  }
  expression.compiled_ = std::move(compiled);
  if (text.find_first_of(kSpecial) == std::string_view::npos) expression.literal_ = text;
  return expression;
}

bool RegularExpression::found_in(BytesView bytes) const {
  std::string_view text = as_text(bytes);
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

}  // namespace cordwood::offline
