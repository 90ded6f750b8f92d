// cli/client_config.h — producer and consumer properties ("linger.ms=5") as options of our client, with Kafka's texts for what is
// wrong with them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/admin_client.h"
#include "cli/options.h"
#include "cli/session.h"
#include "client/consumer.h"
#include "client/producer.h"

namespace cordwood::cli {

// Keys that it does not know are ignored, as Kafka's clients do. Errors: invalid with the text of Java's ConfigException
// ("Invalid value 2 for configuration acks: String must be one of: all, -1, 0, 1"); unsupported for what we do not do yet.
Result<client::ProducerOptions> producer_options(const Properties& properties);
Result<client::ConsumerOptions> consumer_options(const Properties& properties);

// "key=value" words, as the tools take them with --command-property and its like. A word without '=' has an empty value. Errors:
// invalid naming the word when nothing is left of it.
Result<Properties> pairs_of(const std::vector<std::string>& words);

// Sets or replaces.
void set_property(Properties& properties, std::string_view key, std::string value);
bool has_property(const Properties& properties, std::string_view key);

// The cluster of `bootstrap.servers` with what the properties say of it, ready to wait and to be interrupted.
Result<client::ClusterOptions> client_cluster(const Properties& properties, Session& session);

// What the command prints of an Error of the functions above: "org.apache.kafka.common.config.ConfigException: ...".
std::string java_config_error(const Error& error);

}  // namespace cordwood::cli
