// cli/java_error.h — what goes wrong in a command that stands for one of Kafka's, in the words of the exception that Kafka's would
// print: class, message, cause. Scripts read these lines; the stack frames between them are left out.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "cli/options.h"
#include "client/failure.h"

namespace cordwood::cli {

struct JavaError {
  std::string java_class;
  std::string message;
  std::shared_ptr<const JavaError> cause = nullptr;

  std::string to_string() const { return java_class + ": " + message; }
  // "class: message", and a line "Caused by: class: message" for each cause; ends with a newline.
  std::string stack_trace() const;
  const JavaError& root() const { return cause ? cause->root() : *this; }
};

template <class T>
using Tried = std::expected<T, JavaError>;

JavaError java_error(const client::Failure& failure);
// As Java's futures hand on what failed in them.
JavaError execution_exception(const client::Failure& failure);
JavaError illegal_argument(std::string message);
// "For input string: "x"", of Integer.parseInt and its like.
JavaError number_format(std::string_view text);
// joptsimple's, with the causes that a number which is none has.
JavaError java_error(const ParseMistake& mistake);
JavaError with_cause(JavaError error, JavaError cause);

template <class T>
Tried<T> tried(client::Outcome<T> outcome) {
  if (!outcome) return std::unexpected(java_error(outcome.failure()));
  return *std::move(outcome);
}

// The same wrapped as ExecutionException.
template <class T>
Tried<T> tried_get(client::Outcome<T> outcome) {
  if (!outcome) return std::unexpected(execution_exception(outcome.failure()));
  return *std::move(outcome);
}

template <class T>
Tried<T> tried(Parsed<T> parsed) {
  if (!parsed) return std::unexpected(java_error(parsed.mistake()));
  return *std::move(parsed);
}

}  // namespace cordwood::cli

// NEED(expression) is the value of a Tried; an error leaves the enclosing function, handed to its caller.
#define NEED(...)                                               \
  ({                                                            \
    auto need_ = (__VA_ARGS__);                                 \
    if (!need_) return std::unexpected(std::move(need_).error()); \
    *std::move(need_);                                          \
  })
