// cli/java_regex.h — the regular expressions that Kafka's tools take, matched without the risk that a hostile one takes the stack or
// the processor.
//
// Boost.Regex in its Perl dialect stands in for java.util.regex: look-around, possessive and lazy quantifiers, \Q..\E, classes and
// back-references mean the same. It works on a heap of its own instead of recursing, and gives up on a pattern that
// takes too many steps; std::regex recurses per character, and RE2 has neither look-around nor back-references.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cordwood::cli {

class JavaRegex {
 public:
  // Errors: invalid for a text that is no expression.
  static Result<JavaRegex> compile(std::string_view pattern);
  // Whether all of `text` fits. False where matching would take too many steps.
  bool matches(std::string_view text) const;

 private:
  struct Compiled;
  explicit JavaRegex(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

// A list of topics as the tools take it: blanks and the quotes around it do not count, ',' stands for '|'.
// Errors: invalid with Kafka's text ("[ is an invalid regex.").
Result<JavaRegex> compile_topic_filter(std::string_view text);

}  // namespace cordwood::cli
