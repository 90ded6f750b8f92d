#include "cli/java_regex.h"

#include <fmt/format.h>

#include <boost/regex.hpp>

namespace cordwood::cli {

struct JavaRegex::Compiled {
  boost::regex regex;
};

Result<JavaRegex> JavaRegex::compile(std::string_view pattern) {
  // Boost's errors are exceptions and end here.
  try {
    auto compiled = std::make_shared<Compiled>();
    compiled->regex.assign(pattern.begin(), pattern.end(), boost::regex::perl | boost::regex::no_mod_s);
    return JavaRegex(std::move(compiled));
  } catch (const std::exception& error) {
    return Error{Errc::invalid, error.what()};
  }
}

bool JavaRegex::matches(std::string_view text) const {
  try {
    return boost::regex_match(text.begin(), text.end(), compiled_->regex);
  } catch (const std::exception&) {
    return false;
  }
}

Result<JavaRegex> compile_topic_filter(std::string_view text) {
  constexpr std::string_view kQuotes = "\"'";
  std::string pattern;
  for (char c : text) {
    if (c == ',') pattern += '|';
    else if (c != ' ') pattern += c;
  }
  pattern.erase(0, std::min(pattern.find_first_not_of(kQuotes), pattern.size()));
  pattern.erase(pattern.find_last_not_of(kQuotes) + 1);
  auto regex = JavaRegex::compile(pattern);
  if (!regex) return Error{Errc::invalid, fmt::format("{} is an invalid regex.", pattern)};
  return regex;
}

}  // namespace cordwood::cli
