// inspector/page_assets.h — the files of the page, as they lie gzipped in the program.
#pragma once

#include <cstdint>
#include <string_view>

namespace cordwood::inspector {

struct PageAsset {
  const char* path;  // "/assets/index-1a2b.js"; null behind the last one
  const char* bytes;
  std::uint64_t size;

  std::string_view gzipped() const { return {bytes, static_cast<std::size_t>(size)}; }
};

// Null when there is none of that path.
const PageAsset* find_page_asset(std::string_view path);
// Whether the program was built with its page.
bool has_page();
// By the end of its name.
std::string_view content_type_of(std::string_view path);

}  // namespace cordwood::inspector
