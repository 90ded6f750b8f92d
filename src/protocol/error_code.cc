#include "protocol/error_code.h"

namespace cordwood::protocol {

std::string_view name_of(ErrorCode code) {
  switch (code) {
#define CORDWOOD_ERROR(name, number, retriable) \
  case ErrorCode::name: return #name;
#include "protocol/error_codes.inc"
#undef CORDWOOD_ERROR
  }
  return "UNKNOWN";
}

bool is_retriable(ErrorCode code) {
  switch (code) {
#define CORDWOOD_ERROR(name, number, retriable) \
  case ErrorCode::name: return retriable;
#include "protocol/error_codes.inc"
#undef CORDWOOD_ERROR
  }
  return false;
}

}  // namespace cordwood::protocol
