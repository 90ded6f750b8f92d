// cli/json_rows.h — the tables of Kafka's tools as JSON lines: what --json prints instead of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cordwood::cli {

// One object a line for each of `rows`, whose cells stand under `titles` ("LOG-END-OFFSET", "ProducerId"). The fields are named as
// in Kafka's protocol; numbers are numbers, and what a table shows as "-", "None" or "null" is null.
std::string rows_as_json_lines(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows);

}  // namespace cordwood::cli
