#include "broker/metadata/topic_name.h"

#include <fmt/format.h>

#include <algorithm>

namespace cordwood::broker::metadata {
namespace {

bool is_allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

std::optional<std::string> topic_name_fault(std::string_view name) {
  if (name.empty()) return "Topic name is invalid: the empty string is not allowed";
  if (name == "." || name == "..") return fmt::format("Topic name is invalid: '{}' is not allowed", name);
  // The limit counts characters, as Java does; every byte that does not continue one starts one.
  auto characters = std::ranges::count_if(name, [](char c) { return (c & 0xC0) != 0x80; });
  if (characters > static_cast<std::ptrdiff_t>(kLongestTopicName)) {
    return fmt::format("Topic name is invalid: the length of '{}' is longer than the max allowed length {}", name,
                       kLongestTopicName);
  }
  if (!std::ranges::all_of(name, is_allowed)) {
    return fmt::format(
        "Topic name is invalid: '{}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name);
  }
  return std::nullopt;
}

std::string collision_key(std::string_view name) {
  std::string key(name);
  std::ranges::replace(key, '.', '_');
  return key;
}

bool is_internal_topic(std::string_view name) {
  return name == kConsumerOffsets || name == kTransactionState || name == kShareGroupState;
}

}  // namespace cordwood::broker::metadata
