// offline/internal_records.h — what the records of Kafka's internal topics say, as JSON.
//
// __consumer_offsets (committed offsets, groups of the classic protocol), __transaction_state and __cluster_metadata. Of record
// types that no decoder of ours knows, the type is told.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace cordwood::offline {

bool is_internal_topic(std::string_view topic);

// One JSON object; nothing when the topic is none of these or the bytes make no sense.
std::optional<std::string> decode_internal_record(std::string_view topic, std::optional<BytesView> key,
                                                  std::optional<BytesView> value);

}  // namespace cordwood::offline
