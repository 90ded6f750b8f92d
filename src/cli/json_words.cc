#include "cli/json_words.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace cordwood::cli {
namespace {

JavaError expected(std::string_view type, const boost::json::value& value) {
  return json_mapping(fmt::format("Expected `{}` value, received {}", type, boost::json::serialize(value)));
}

}  // namespace

Tried<std::string> read_whole_file(Session& session, const std::string& path) {
  constexpr ByteCount kLargest{64 * MiB};
  auto bytes = io::read_file(session.files, path, kLargest);
  if (bytes) return std::string(as_text(*bytes));
  JavaError cause{"java.nio.file.NoSuchFileException", path};
  if (bytes.error().code != Errc::not_found) cause = {"java.io.IOException", bytes.error().message()};
  return std::unexpected(with_cause({"java.io.IOException", fmt::format("Unable to read file {}", path)}, cause));
}

Tried<boost::json::value> parse_json(std::string_view text, const JavaError& otherwise) {
  boost::json::error_code error;
  auto value = boost::json::parse(text, error);
  if (error) return std::unexpected(otherwise);
  return value;
}

JavaError json_mapping(std::string message) { return {"com.fasterxml.jackson.databind.JsonMappingException", std::move(message)}; }

Tried<boost::json::value> json_field(const boost::json::value& object, std::string_view name) {
  if (!object.is_object()) return std::unexpected(expected("JSON object", object));
  const auto* found = object.as_object().if_contains(name);
  if (found == nullptr) return std::unexpected(json_mapping(fmt::format("No such field exists: `{}`", name)));
  return *found;
}

Tried<std::string> json_string(const boost::json::value& object, std::string_view name) {
  auto value = NEED(json_field(object, name));
  if (!value.is_string()) return std::unexpected(expected("String", value));
  return std::string(value.as_string());
}

Tried<std::int64_t> json_long(const boost::json::value& object, std::string_view name) {
  auto value = NEED(json_field(object, name));
  if (!value.is_int64()) return std::unexpected(expected("Long", value));
  return value.as_int64();
}

Tried<std::int32_t> json_int(const boost::json::value& object, std::string_view name) {
  auto value = NEED(json_field(object, name));
  if (!value.is_int64() || !std::in_range<std::int32_t>(value.as_int64())) return std::unexpected(expected("Integer", value));
  return static_cast<std::int32_t>(value.as_int64());
}

Tried<std::vector<std::int32_t>> json_ints(const boost::json::value& object, std::string_view name) {
  auto value = NEED(json_field(object, name));
  if (!value.is_array()) return std::unexpected(expected("JSON array", value));
  std::vector<std::int32_t> numbers;
  for (const auto& item : value.as_array()) {
    if (!item.is_int64() || !std::in_range<std::int32_t>(item.as_int64())) return std::unexpected(expected("Integer", item));
    numbers.push_back(static_cast<std::int32_t>(item.as_int64()));
  }
  return numbers;
}

Tried<std::vector<std::string>> json_strings(const boost::json::value& object, std::string_view name) {
  auto value = NEED(json_field(object, name));
  if (!value.is_array()) return std::unexpected(expected("JSON array", value));
  std::vector<std::string> texts;
  for (const auto& item : value.as_array()) {
    if (!item.is_string()) return std::unexpected(expected("String", item));
    texts.emplace_back(item.as_string());
  }
  return texts;
}

}  // namespace cordwood::cli
