// broker/metadata/topic_name.h — which topic names are allowed, which collide, which are the broker's own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cordwood::broker::metadata {

inline constexpr std::size_t kLongestTopicName = 249;
inline constexpr std::string_view kConsumerOffsets = "__consumer_offsets";
inline constexpr std::string_view kTransactionState = "__transaction_state";
inline constexpr std::string_view kShareGroupState = "__share_group_state";
inline constexpr std::string_view kClusterMetadata = "__cluster_metadata";

// Why a name is not allowed, as Kafka words it: "Topic name is invalid: ..."; nothing for a good name.
std::optional<std::string> topic_name_fault(std::string_view name);

// The name with '.' as '_': two topics whose keys are equal collide (metric names would be the same).
std::string collision_key(std::string_view name);

// The topics that clients are told are internal, and that only the broker itself writes to. __cluster_metadata is none of them: it is never listed.
bool is_internal_topic(std::string_view name);

}  // namespace cordwood::broker::metadata
