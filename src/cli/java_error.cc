#include "cli/java_error.h"

#include <fmt/format.h>

namespace cordwood::cli {

std::string JavaError::stack_trace() const {
  std::string text = to_string() + "\n";
  if (cause) text += "Caused by: " + cause->stack_trace();
  return text;
}

JavaError java_error(const client::Failure& failure) { return {client::java_class_of(failure.code), failure.message}; }

JavaError execution_exception(const client::Failure& failure) {
  JavaError cause = java_error(failure);
  std::string text = cause.to_string();
  return with_cause({"java.util.concurrent.ExecutionException", std::move(text)}, std::move(cause));
}

JavaError illegal_argument(std::string message) { return {"java.lang.IllegalArgumentException", std::move(message)}; }

JavaError number_format(std::string_view text) {
  return {"java.lang.NumberFormatException", fmt::format("For input string: \"{}\"", text)};
}

JavaError java_error(const ParseMistake& mistake) {
  JavaError error{std::string(mistake.java_class()), mistake.message};
  if (mistake.kind != ParseMistake::Kind::conversion) return error;
  auto begin = mistake.message.find('\'');
  auto end = mistake.message.rfind("' of option ");
  if (begin == std::string::npos || end == std::string::npos || end <= begin) return error;
  JavaError number = number_format(std::string_view(mistake.message).substr(begin + 1, end - begin - 1));
  std::string text = number.to_string();
  JavaError reflection{"joptsimple.internal.ReflectionException", std::move(text)};
  return with_cause(std::move(error), with_cause(std::move(reflection), std::move(number)));
}

JavaError with_cause(JavaError error, JavaError cause) {
  error.cause = std::make_shared<const JavaError>(std::move(cause));
  return error;
}

}  // namespace cordwood::cli
