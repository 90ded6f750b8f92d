// client/java_order.h — the order in which Java's hash maps and sets give back their entries: in which Kafka's client asks and its tools
// print.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace cordwood::client {

// String.hashCode(): over the UTF-16 units of `text`, which is UTF-8.
std::int32_t java_hash_code(std::string_view text);
// TopicPartition.hashCode().
std::int32_t java_hash_code(std::string_view topic, std::int32_t partition);

// The number of buckets that java.util.HashMap has for `entries` after it was made with room for `initial_capacity` (16 is what
// `new HashMap<>()` has).
std::size_t java_table_size(std::size_t entries, std::size_t initial_capacity);
std::size_t java_table_place(std::int32_t hash, std::size_t buckets);

// Orders `items` as a HashMap gives them whose keys have the hashes hash_of(item); what shares a bucket keeps its order.
template <class T, class HashOf>
void order_as_java(std::vector<T>& items, HashOf hash_of, std::size_t initial_capacity = 16) {
  std::size_t buckets = java_table_size(items.size(), initial_capacity);
  std::ranges::stable_sort(items, {}, [&](const T& item) { return java_table_place(hash_of(item), buckets); });
}

// The same of a copy.
template <class T, class HashOf>
std::vector<T> in_java_order(std::vector<T> items, HashOf hash_of, std::size_t initial_capacity = 16) {
  order_as_java(items, hash_of, initial_capacity);
  return items;
}

}  // namespace cordwood::client
