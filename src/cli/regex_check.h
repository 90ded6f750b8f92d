// cli/regex_check.h — whether a text is a regular expression as RE2/J takes it, which brokers match topics with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cordwood::cli {

// What is wrong, in the words of RE2/J 1.8: "missing closing )". Nothing when it is good. Flags of a group, classes and
// repeats are checked; whether a Unicode class exists is not, beyond one-letter names and scripts' form.
std::optional<std::string> regex_mistake(std::string_view regex);

}  // namespace cordwood::cli
