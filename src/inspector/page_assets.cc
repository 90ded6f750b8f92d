#include "inspector/page_assets.h"

#include <array>
#include <utility>

// Of a file that tools/embed_page.py makes: ends with one whose path is null.
extern "C" const cordwood::inspector::PageAsset cordwood_page_assets[];

namespace cordwood::inspector {

const PageAsset* find_page_asset(std::string_view path) {
  for (const PageAsset* asset = cordwood_page_assets; asset->path != nullptr; ++asset) {
    if (asset->path == path) return asset;
  }
  return nullptr;
}

bool has_page() { return find_page_asset("/index.html") != nullptr; }

std::string_view content_type_of(std::string_view path) {
  static constexpr std::array kTypes{
      std::pair<std::string_view, std::string_view>{".html", "text/html; charset=utf-8"},
      std::pair<std::string_view, std::string_view>{".js", "text/javascript; charset=utf-8"},
      std::pair<std::string_view, std::string_view>{".css", "text/css; charset=utf-8"},
      std::pair<std::string_view, std::string_view>{".svg", "image/svg+xml"},
      std::pair<std::string_view, std::string_view>{".json", "application/json"},
      std::pair<std::string_view, std::string_view>{".webmanifest", "application/manifest+json"},
      std::pair<std::string_view, std::string_view>{".png", "image/png"},
      std::pair<std::string_view, std::string_view>{".ico", "image/x-icon"},
      std::pair<std::string_view, std::string_view>{".woff2", "font/woff2"},
      std::pair<std::string_view, std::string_view>{".txt", "text/plain; charset=utf-8"},
  };
  for (const auto& [ending, type] : kTypes) {
    if (path.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

}  // namespace cordwood::inspector
