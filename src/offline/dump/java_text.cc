#include "offline/dump/java_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>

namespace cordwood::offline {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool is_continuation(std::uint8_t byte) { return (byte & 0xc0) == 0x80; }

// How many bytes at the start of `rest` make one character; negative: so many bytes make one replacement.
// The cases are those of OpenJDK's String: a surrogate of three bytes gives one replacement, and so does a cut end.
int utf8_step(std::span<const std::uint8_t> rest) {
  const std::uint8_t first = rest[0];
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) {
    if (rest.size() < 2) return -1;
    return is_continuation(rest[1]) ? 2 : -1;
  }
  const auto second_is_bad_of_three = [&] { return (first == 0xe0 && (rest[1] & 0xe0) == 0x80) || !is_continuation(rest[1]); };
  if (first >= 0xe0 && first <= 0xef) {
    if (rest.size() < 3) {
      if (rest.size() == 2 && second_is_bad_of_three()) return -1;
      return -static_cast<int>(rest.size());
    }
    if (second_is_bad_of_three()) return -1;
    if (!is_continuation(rest[2])) return -2;
    const bool is_surrogate = first == 0xed && rest[1] >= 0xa0;
    return is_surrogate ? -3 : 3;
  }
  if (first >= 0xf0 && first <= 0xf7) {
    const auto second_is_bad = [&] {
      return (first == 0xf0 && (rest[1] < 0x90 || rest[1] > 0xbf)) || (first == 0xf4 && (rest[1] & 0xf0) != 0x80) ||
             !is_continuation(rest[1]);
    };
    if (first > 0xf4 || (rest.size() >= 2 && second_is_bad())) return -1;
    if (rest.size() < 4) {
      if (rest.size() == 3 && !is_continuation(rest[2])) return -2;
      return -static_cast<int>(rest.size());
    }
    if (!is_continuation(rest[2])) return -2;
    if (!is_continuation(rest[3])) return -3;
    return 4;
  }
  return -1;
}

}  // namespace

bool is_ascii(BytesView bytes) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t all = 0;
  for (; left >= 32; left -= 32, at += 32) {
    std::uint64_t words[4];
    std::memcpy(words, at, 32);
    all |= words[0] | words[1] | words[2] | words[3];
  }
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    all |= word;
  }
  for (; left > 0; --left, ++at) all |= static_cast<std::uint64_t>(*at);
  return (all & 0x8080808080808080) == 0;
}

void append_utf8(std::string& out, BytesView bytes) {
  if (is_ascii(bytes)) {
    out += as_text(bytes);
    return;
  }
  std::span<const std::uint8_t> rest(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  while (!rest.empty()) {
    const int step = utf8_step(rest);
    const auto count = static_cast<std::size_t>(std::abs(step));
    if (step > 0) {
      out.append(reinterpret_cast<const char*>(rest.data()), count);
    } else {
      out += kReplacement;
    }
    rest = rest.subspan(count);
  }
}

void append_jackson_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\t': out += "\\t"; break;
      case '\n': out += "\\n"; break;
      case '\f': out += "\\f"; break;
      case '\r': out += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

std::string java_double(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  const double size = std::abs(value);
  char digits[64];
  if (size >= 1e-3 && size < 1e7) {
    const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed).ptr;
    std::string text(digits, end);
    return text.find('.') == std::string::npos ? text + ".0" : text;
  }
  const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific).ptr;
  std::string text(digits, end);
  const std::size_t e = text.find('e');
  std::string mantissa = text.substr(0, e);
  if (mantissa.find('.') == std::string::npos) mantissa += ".0";
  int exponent = std::stoi(text.substr(e + 1));
  return fmt::format("{}E{}", mantissa, exponent);
}

std::string java_hex(std::uint64_t value) { return fmt::format("{:x}", value); }

std::string java_path(std::string_view name) {
  std::string path;
  for (const char c : name) {
    if (c != '/' || path.empty() || path.back() != '/') path += c;
  }
  if (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::optional<std::int64_t> parse_java_long(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return {};
  }
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::string_view before_first_dot(std::string_view name) { return name.substr(0, name.find('.')); }

namespace {

std::uint32_t spread(std::uint32_t hash) { return hash ^ (hash >> 16); }

// The order of a HashMap: by bucket, and in each as they came. `hashes` are spread already.
std::vector<std::size_t> bucket_order(const std::vector<std::uint32_t>& hashes) {
  std::size_t buckets = 16;
  while (hashes.size() > buckets / 4 * 3) buckets *= 2;
  std::vector<std::size_t> order(hashes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return hashes[i] & (buckets - 1); });
  return order;
}

}  // namespace

std::vector<std::size_t> java_hash_order(const std::vector<std::string>& keys) {
  std::vector<std::uint32_t> hashes;
  for (const std::string& key : keys) {
    std::uint32_t hash = 0;
    for (const char c : key) hash = hash * 31 + static_cast<unsigned char>(c);
    hashes.push_back(spread(hash));
  }
  return bucket_order(hashes);
}

}  // namespace cordwood::offline
