#include "cli/line_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/java_text.h"

namespace cordwood::cli {
namespace {

bool is_true(const Properties& properties, std::string_view key) {
  std::string text = property(properties, key);
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return false;
  return text.substr(first, text.find_last_not_of(" \t") - first + 1) == "true";
}

Result<void> differ(std::string_view first_name, std::string_view first, std::string_view second_name, std::string_view second) {
  if (first != second) return {};
  return Error{Errc::invalid, fmt::format("{} and {} may not be equal", first_name, second_name)};
}

}  // namespace

Result<LineFormat> line_format(const Properties& properties) {
  LineFormat format;
  format.parse_key = is_true(properties, "parse.key");
  format.parse_headers = is_true(properties, "parse.headers");
  format.ignore_error = is_true(properties, "ignore.error");
  format.key_separator = property(properties, "key.separator", format.key_separator);
  format.headers_delimiter = property(properties, "headers.delimiter", format.headers_delimiter);
  format.headers_separator = property(properties, "headers.separator", format.headers_separator);
  format.headers_key_separator = property(properties, "headers.key.separator", format.headers_key_separator);
  if (std::ranges::any_of(properties, [](const auto& pair) { return pair.first == "null.marker"; })) {
    format.null_marker = property(properties, "null.marker");
  }
  TRY(differ("headers.delimiter", format.headers_delimiter, "headers.separator", format.headers_separator));
  TRY(differ("headers.delimiter", format.headers_delimiter, "headers.key.separator", format.headers_key_separator));
  TRY(differ("headers.separator", format.headers_separator, "headers.key.separator", format.headers_key_separator));
  if (format.null_marker) {
    TRY(differ("null.marker", *format.null_marker, "key.separator", format.key_separator));
    TRY(differ("null.marker", *format.null_marker, "headers.delimiter", format.headers_delimiter));
    TRY(differ("null.marker", *format.null_marker, "headers.separator", format.headers_separator));
    TRY(differ("null.marker", *format.null_marker, "headers.key.separator", format.headers_key_separator));
  }
  return format;
}

std::size_t LineReader::end_of_line(std::string_view piece) {
  // Nearly all lines end with LF: one search for it, and one for a CR in front.
  std::size_t end = piece.find('\n');
  std::size_t cr = piece.substr(0, end).find('\r');
  return cr == std::string_view::npos ? end : cr;
}

Result<std::optional<std::string_view>> LineReader::cut(bool wanted, std::string_view line, std::size_t from,
                                                        std::string_view separator, std::string_view name) const {
  if (!wanted) return std::optional<std::string_view>();
  auto at = line.find(separator, from);
  if (at != std::string_view::npos) return std::optional(line.substr(from, at - from));
  if (format_.ignore_error) return std::optional<std::string_view>();
  return Error{Errc::invalid, fmt::format("No {} found on line number {}: '{}'", name, number_, line)};
}

Result<void> LineReader::split_headers(std::string_view headers, std::vector<record::HeaderToWrite>& into) const {
  std::vector<std::string_view> pairs;
  for (std::string_view rest = headers;;) {
    auto at = format_.headers_separator.empty() ? std::string_view::npos : rest.find(format_.headers_separator);
    pairs.push_back(rest.substr(0, at));
    if (at == std::string_view::npos) break;
    rest.remove_prefix(at + format_.headers_separator.size());
  }
  // As Java's split: empty ones at the end do not count, unless there is no separator at all.
  while (pairs.size() > 1 && pairs.back().empty()) pairs.pop_back();
  if (pairs.size() == 1 && pairs[0].empty() && !headers.empty()) pairs.clear();
  for (std::string_view pair : pairs) {
    auto at = pair.find(format_.headers_key_separator);
    if (at == std::string_view::npos) {
      if (!format_.ignore_error) {
        return Error{Errc::invalid, fmt::format("No header key separator found in pair '{}' on line number {}", pair, number_)};
      }
      into.push_back({pair, std::nullopt});
      continue;
    }
    std::string_view key = pair.substr(0, at);
    std::string_view value = pair.substr(at + format_.headers_key_separator.size());
    if (format_.null_marker && key == *format_.null_marker) {
      return Error{Errc::invalid, fmt::format("Header keys should not be equal to the null marker '{}' as they can't be null", key)};
    }
    bool is_null = format_.null_marker && value == *format_.null_marker;
    into.push_back({key, is_null ? std::nullopt : std::optional(as_bytes(value))});
  }
  return {};
}

Result<LineRecord> LineReader::parse(std::string_view line) {
  ++number_;
  if (!is_utf8(line)) {
    repaired_ = repaired_utf8(line);
    line = repaired_;
  }
  auto or_null = [&](std::string_view text) -> std::optional<std::string_view> {
    if (format_.null_marker && text == *format_.null_marker) return std::nullopt;
    return text;
  };
  LineRecord record;
  auto headers = TRY(cut(format_.parse_headers, line, 0, format_.headers_delimiter, "headers delimiter"));
  std::size_t from = headers ? headers->size() + format_.headers_delimiter.size() : 0;
  auto key = TRY(cut(format_.parse_key, line, from, format_.key_separator, "key separator"));
  if (key) from += key->size() + format_.key_separator.size();
  if (key) record.key = or_null(*key);
  record.value = or_null(line.substr(from));
  if (headers && or_null(*headers)) TRY(split_headers(*headers, record.headers));
  return record;
}

}  // namespace cordwood::cli
