#include "client/failure.h"

#include <fmt/format.h>

#include <string_view>

namespace cordwood::client {
namespace {

using protocol::ErrorCode;

struct ErrorText {
  std::string_view java_class;  // in org.apache.kafka.common.errors, or behind '~' as it is
  std::string_view text;
};

ErrorText error_text(ErrorCode code) {
  switch (code) {
#define CORDWOOD_ERROR_TEXT(name, java_class, text) \
  case ErrorCode::name: return {java_class, text};
#include "client/error_texts.inc"
#undef CORDWOOD_ERROR_TEXT
    case ErrorCode::NONE: return {"ApiException", "no error"};
  }
  // A newer broker's code: Java's clients take it for this one.
  return error_text(ErrorCode::UNKNOWN_SERVER_ERROR);
}

}  // namespace

std::string_view text_of(ErrorCode code) { return error_text(code).text; }

std::string java_class_of(ErrorCode code) {
  std::string_view name = error_text(code).java_class;
  if (name.starts_with('~')) return std::string(name.substr(1));
  return fmt::format("org.apache.kafka.common.errors.{}", name);
}

Failure failure_of(ErrorCode code) { return {code, std::string(text_of(code))}; }

std::string to_java(const Failure& failure) {
  return fmt::format("{}: {}", java_class_of(failure.code), failure.message);
}

}  // namespace cordwood::client
