// protocol/error_code.h — the error codes of the protocol: number, name, retriable, and the text a client prints.
#pragma once

#include <cstdint>
#include <string_view>

namespace cordwood::protocol {

enum class ErrorCode : std::int16_t {
#define CORDWOOD_ERROR(name, number, retriable) name = (number),
#include "protocol/error_codes.inc"
#undef CORDWOOD_ERROR
};

std::string_view name_of(ErrorCode code);  // "UNKNOWN_TOPIC_OR_PARTITION"
bool is_retriable(ErrorCode code);
constexpr std::int16_t to_wire(ErrorCode code) { return static_cast<std::int16_t>(code); }

}  // namespace cordwood::protocol
