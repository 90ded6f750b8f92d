// cli/api_versions.h — what versions of which requests a broker takes, as kafka-broker-api-versions and kafka-cluster print it.
#pragma once

#include <string>

#include <boost/json.hpp>

#include "client/cluster.h"

namespace cordwood::cli {

// "localhost:9092 (id: 1 rack: null isFenced: false)".
std::string node_text(const client::Node& node);

// The block of one broker, from its node_text to the ")" on a line of its own.
std::string api_versions_text(const client::Link& link);

// The same as {"nodeId", "host", "port", "rack", "apiKeys": [{"name", "apiKey", "minVersion", "maxVersion", "usableVersion"}]}. A name
// or a usable version that there is none of is null.
boost::json::object api_versions_json(const client::Link& link);

}  // namespace cordwood::cli
