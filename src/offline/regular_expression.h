// offline/regular_expression.h — regular expressions over bytes whose search takes time in proportion to the bytes, whatever the
// expression: a deterministic automaton that is made while it runs, in bounded memory, without recursion over the input.
//
// Known: literals, '.', [a-z], [^a-z], \d \w \s \D \W \S, \n \t \r \xNN, (…), (?:…), |, * + ? {m} {m,n} {m,}, ^ and $ (start and
// end of the bytes), and (?i) at the front. No back references, no look-around: those are what cannot be done in linear time.
// Why not a library: docs/decisions/0013-regular-expressions-of-the-tools.md. An expression is a value and safe for all threads;
// a Matcher is one thread's.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace cordwood::offline {

class RegularExpression {
 public:
  // Errors: invalid with the place of the mistake; limit for an expression of more than kMostStates states, and for one nested
  // deeper than kDeepest.
  static Result<RegularExpression> parse(std::string_view text);
  static constexpr std::size_t kMostStates = 10'000;
  static constexpr int kDeepest = 200;

  // Bytes that stand in whatever matches; may be empty. Of an expression without (?i).
  const std::string& required() const { return required_; }
  // The expression is nothing but required().
  bool is_literal() const { return literal_; }

 private:
  friend class RegularExpressionParser;
  friend class RegularExpressionMatcher;
  using Bytes = std::bitset<256>;
  struct State {
    enum class Kind : std::uint8_t { bytes, split, jump, at_start, at_end, match };
    Kind kind = Kind::match;
    std::uint32_t set = 0;  // bytes: which of sets_
    std::uint32_t next = 0;
    std::uint32_t other = 0;  // split
  };
  std::vector<State> states_;
  std::vector<Bytes> sets_;
  std::uint32_t start_ = 0;
  std::array<std::uint8_t, 256> class_of_{};  // bytes that no set tells apart are one
  std::size_t classes_ = 1;
  std::string required_;
  bool literal_ = false;
};

class RegularExpressionMatcher {
 public:
  explicit RegularExpressionMatcher(const RegularExpression& expression) : expression_(expression) { forget(); }
  // Whether it matches anywhere in `bytes`.
  bool found_in(BytesView bytes);

 private:
  static constexpr std::size_t kMostDeterministic = 2'000;
  static constexpr std::int32_t kUnknown = -1;
  static constexpr std::int32_t kMatch = -2;
  using Set = std::vector<std::uint32_t>;
  void forget();
  void close(std::uint32_t from, bool at_start, bool at_end);
  std::int32_t intern();
  std::int32_t step(std::int32_t from, std::uint8_t byte_class);
  std::int32_t start_state();
  bool matches_at_end(std::int32_t state);

  const RegularExpression& expression_;
  std::vector<Set> sets_;
  std::vector<std::int32_t> next_;  // state × class
  std::vector<std::int8_t> at_end_;  // -1 not known
  std::unordered_map<std::string, std::int32_t> known_;
  std::int32_t start_ = kUnknown;
  // The set that is being made.
  std::vector<std::uint32_t> working_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::uint32_t> mark_;
  std::uint32_t stamp_ = 0;
  bool working_matches_ = false;
};

}  // namespace cordwood::offline
