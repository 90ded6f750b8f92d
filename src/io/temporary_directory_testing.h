// io/temporary_directory_testing.h — a directory of its own for a test, removed with all that is in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/check.h"
#include "io/file_system.h"

namespace cordwood::io {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "cordwood-XXXXXX";
    const char* made = ::mkdtemp(pattern.data());
    CHECK(made != nullptr, "mkdtemp {}", pattern);
    path_ = made;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const Path& path() const { return path_; }
  Path operator/(std::string_view name) const { return join(path_, name); }

 private:
  Path path_;
};

}  // namespace cordwood::io
