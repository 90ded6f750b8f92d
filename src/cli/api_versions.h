// cli/api_versions.h — what versions of which requests a broker takes, as kafka-broker-api-versions and kafka-cluster print it.
#pragma once

#include <string>

#include "client/cluster.h"

namespace cordwood::cli {

// "localhost:9092 (id: 1 rack: null isFenced: false)".
std::string node_text(const client::Node& node);

// The block of one broker, from its node_text to the ")" on a line of its own.
std::string api_versions_text(const client::Link& link);

}  // namespace cordwood::cli
