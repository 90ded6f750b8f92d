// inspector/sentences.h — numbers in sentences as the page writes them: "offset 6,704".
#pragma once

#include <string>
#include <string_view>

namespace cordwood::inspector {

// Numbers of four digits and more get a comma at each thousand. What is no number stays as it is: times, names of files, versions,
// hex, what stands behind '=', '-', '_', '/' or '.', and whatever begins with a zero.
std::string with_separators(std::string_view text);

}  // namespace cordwood::inspector
