// cli/java.h — what Java's library makes visible in the output of Kafka's tools: its readings of times, and how a throwable prints itself.
// The order of its hash maps is client/java_order.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordwood::cli {

// "2023-11-14T22:13:20.000+01:00", as Kafka's tools take a time: without a zone it is UTC. Milliseconds since 1970.
// `mistake` is the text of the ParseException.
std::optional<std::int64_t> parse_java_datetime(std::string_view text, std::string& mistake);

// "P1DT2H3M4.5S", as Duration.parse takes it, in milliseconds rounded down; nothing where it throws.
std::optional<std::int64_t> parse_java_duration(std::string_view text);

// An exception on its way to the user: what it says, and what its stack trace says, without frames.
struct Thrown {
  std::string message;               // getMessage()
  std::vector<std::string> classes;  // "class: message", the cause of each behind it
  // "class: message" and a line "Caused by: …" for each cause.
  std::string trace() const;
  // `class_name` around it, with the message that Java makes of a cause: its toString().
  Thrown wrapped(std::string_view class_name) const;
};
Thrown thrown(std::string_view class_name, std::string message);

}  // namespace cordwood::cli
