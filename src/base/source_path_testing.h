// base/source_path_testing.h — where the repository lies, for tests that read files of it.
#pragma once

#include <string>
#include <string_view>

namespace cordwood {

// The absolute path of a file of the repository. That path is compiled into one file alone, so that the objects of every
// test are the same in every clone and the compiler cache finds them.
std::string source_path(std::string_view relative);

}  // namespace cordwood
