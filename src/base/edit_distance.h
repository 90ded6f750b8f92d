// base/edit_distance.h — how far a misspelt word is from another one.
#pragma once

#include <cstddef>
#include <string_view>

namespace cordwood {

// How many letters (bytes) must be put in, left out or changed to make `b` of `a`.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace cordwood
