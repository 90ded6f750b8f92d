#include "base/source_path_testing.h"

namespace cordwood {

std::string source_path(std::string_view relative) { return std::string(CORDWOOD_SOURCE_DIR "/").append(relative); }

}  // namespace cordwood
