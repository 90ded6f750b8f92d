// cli/json_words.h — JSON that commands take in files, with the mistakes of Kafka's own reader of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "cli/java_error.h"
#include "cli/session.h"

namespace cordwood::cli {

// The file's text. Errors: IOException "Unable to read file x" with its cause.
Tried<std::string> read_whole_file(Session& session, const std::string& path);

// Nothing but JSON, else the error `otherwise`.
Tried<boost::json::value> parse_json(std::string_view text, const JavaError& otherwise);

JavaError json_mapping(std::string message);
Tried<boost::json::value> json_field(const boost::json::value& object, std::string_view name);
// The fields' values. Errors: JsonMappingException ("No such field exists: `offset`", "Expected `Integer` value, received "x"").
Tried<std::string> json_string(const boost::json::value& object, std::string_view name);
Tried<std::int32_t> json_int(const boost::json::value& object, std::string_view name);
Tried<std::int64_t> json_long(const boost::json::value& object, std::string_view name);
Tried<std::vector<std::int32_t>> json_ints(const boost::json::value& object, std::string_view name);
Tried<std::vector<std::string>> json_strings(const boost::json::value& object, std::string_view name);

}  // namespace cordwood::cli
