// broker/topic_creation.h — topics that come to be without CreateTopics: by a metadata request, or for the broker itself.
//
// An internal topic gets the settings of its own keys (offsets.topic.num.partitions and so on), as Kafka 4.4.0 writes them
// once at its creation and never adapts them afterwards.
#pragma once

#include <functional>
#include <string>

#include "broker/metadata/topic_decisions.h"
#include "protocol/error_code.h"

namespace cordwood::broker {

class Broker;

// What topic decisions need of this broker. Valid while the broker is.
metadata::TopicRules topic_rules(Broker& broker);

// The CreateTopics entry of an automatic creation of `name`: defaults of the broker, or an internal topic's own settings.
protocol::CreateTopicsRequest::Topic automatic_topic(const Config& config, const std::string& name);

// Creates the topic unless it is there. `done` runs on the controller's thread, or never when the broker goes first, with
// NONE when the topic exists now and its partitions are led; else with what kept it from being made.
void create_topic(Broker& broker, const std::string& name, std::function<void(protocol::ErrorCode)> done);

// __consumer_offsets, __transaction_state or __share_group_state, for who looks for a coordinator.
inline void create_internal_topic(Broker& broker, const std::string& name,
                                  std::function<void(protocol::ErrorCode)> done) {
  create_topic(broker, name, std::move(done));
}

}  // namespace cordwood::broker
