// client/failure.h — why a call to a cluster failed, as Java's clients tell it.
//
// Everything that goes wrong has an error code of the protocol: what a broker answered, REQUEST_TIMED_OUT for our own patience,
// NETWORK_EXCEPTION for a connection that broke, UNSUPPORTED_VERSION for a broker that does not know a request.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "protocol/error_code.h"

namespace cordwood::client {

struct Failure {
  protocol::ErrorCode code = protocol::ErrorCode::UNKNOWN_SERVER_ERROR;
  std::string message;

  bool operator==(const Failure&) const = default;
};

// `code` with the text that Java's client has for it.
Failure failure_of(protocol::ErrorCode code);
// The broker's own text where it sent one.
template <class OptionalText>
Failure failure_of(protocol::ErrorCode code, const OptionalText& message) {
  return message ? Failure{code, *message} : failure_of(code);
}

// "This server does not host this topic-partition."
std::string_view text_of(protocol::ErrorCode code);
// "org.apache.kafka.common.errors.UnknownTopicOrPartitionException"
std::string java_class_of(protocol::ErrorCode code);
// "class: message", as a Java exception prints itself.
std::string to_java(const Failure& failure);

// A value, or the Failure that came instead.
template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Outcome(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}
  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Failure& failure() const { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};

struct Nothing {
  bool operator==(const Nothing&) const = default;
};

}  // namespace cordwood::client

// ATTEMPT(expression) is the value of an Outcome; a failure leaves the enclosing function, handed to its caller.
#define ATTEMPT(...)                                           \
  ({                                                           \
    auto attempt_ = (__VA_ARGS__);                             \
    if (!attempt_) return attempt_.failure();                  \
    *std::move(attempt_);                                      \
  })
