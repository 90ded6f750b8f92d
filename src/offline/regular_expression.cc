#include "offline/regular_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace cordwood::offline {

// Builds the automaton in one pass: each part is [first state, list of places that lead out of it].
class RegularExpressionParser {
 public:
  explicit RegularExpressionParser(std::string_view text) : text_(text) {}

  Result<RegularExpression> run() {
    if (text_.starts_with("(?i)")) {
      ignore_case_ = true;
      at_ = 4;
    }
    const Part whole = TRY(alternatives(0));
    if (at_ < text_.size()) return mistake("a ')' that nothing opens");
    patch(whole, add({Kind::match}));
    out_.start_ = whole.first;
    divide_into_classes();
    if (!ignore_case_) {
      std::string run;
      for (const Atom& atom : atoms_) {
        if (atom.is_literal) {
          run += atom.byte;
        } else {
          keep_longer(run);
          run.clear();
        }
      }
      keep_longer(run);
      out_.literal_ = plain_ && !out_.required_.empty();
    }
    return std::move(out_);
  }

 private:
  using State = RegularExpression::State;
  using Kind = State::Kind;
  using Bytes = RegularExpression::Bytes;
  // Ends are (state * 2 + which of its two ways).
  struct Part {
    std::uint32_t first = 0;
    std::vector<std::uint32_t> ends;
  };
  // What stands in every match, at the top level of the expression, in order.
  struct Atom {
    bool is_literal = false;
    char byte = 0;
  };

  Error mistake(std::string_view what) const {
    return Error{Errc::invalid, fmt::format("regular expression '{}', position {}: {}", text_, at_, what)};
  }

  std::uint32_t add(State state) {
    out_.states_.push_back(state);
    return static_cast<std::uint32_t>(out_.states_.size() - 1);
  }
  Result<void> check_size() const {
    if (out_.states_.size() <= RegularExpression::kMostStates) return {};
    return Error{Errc::limit, fmt::format("regular expression '{}' is too large: more than {} states", text_,
                                          RegularExpression::kMostStates)};
  }
  void patch(const Part& part, std::uint32_t to) {
    for (const std::uint32_t end : part.ends) {
      State& state = out_.states_[end / 2];
      (end % 2 == 0 ? state.next : state.other) = to;
    }
  }
  Part single(Bytes bytes) {
    auto found = std::ranges::find(out_.sets_, bytes);
    const auto set = static_cast<std::uint32_t>(found - out_.sets_.begin());
    if (found == out_.sets_.end()) out_.sets_.push_back(bytes);
    const std::uint32_t state = add({Kind::bytes, set});
    return {state, {state * 2}};
  }
  Part empty(Kind kind = Kind::jump) {
    const std::uint32_t state = add({kind});
    return {state, {state * 2}};
  }
  void keep_longer(const std::string& run) {
    if (run.size() > out_.required_.size()) out_.required_ = run;
  }

  Result<Part> alternatives(int depth) {
    if (depth > RegularExpression::kDeepest) return Error{Errc::limit, fmt::format("regular expression '{}' is nested too deeply", text_)};
    Part all = TRY(sequence(depth));
    while (at_ < text_.size() && text_[at_] == '|') {
      ++at_;
      if (depth == 0) {
        atoms_.clear();
        several_ = true;
      }
      plain_ = false;
      Part other = TRY(sequence(depth));
      const std::uint32_t split = add({Kind::split, 0, all.first, other.first});
      all.first = split;
      all.ends.insert(all.ends.end(), other.ends.begin(), other.ends.end());
    }
    if (several_ && depth == 0) atoms_.clear();
    return all;
  }

  Result<Part> sequence(int depth) {
    Part whole = empty();
    while (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')') {
      Part next = TRY(repeated(depth));
      patch(whole, next.first);
      whole.ends = std::move(next.ends);
      TRY(check_size());
    }
    return whole;
  }

  // How often what stands in front of it is wanted.
  struct Count {
    std::uint32_t least = 1;
    std::optional<std::uint32_t> most = 1;
  };
  Result<std::optional<Count>> quantifier() {
    if (at_ >= text_.size()) return std::optional<Count>();
    const char c = text_[at_];
    if (c == '*' || c == '+' || c == '?') {
      ++at_;
      if (c == '*') return std::optional(Count{0, {}});
      if (c == '+') return std::optional(Count{1, {}});
      return std::optional(Count{0, 1});
    }
    if (c != '{') return std::optional<Count>();
    const std::size_t close = text_.find('}', at_);
    if (close == std::string_view::npos) return mistake("a '{' that nothing closes");
    const std::string_view inside = text_.substr(at_ + 1, close - at_ - 1);
    Count count{0, {}};
    std::optional<std::uint32_t> number;
    bool comma = false;
    for (const char digit : inside) {
      if (digit == ',' && !comma && number) {
        count.least = *number;
        number.reset();
        comma = true;
      } else if (digit >= '0' && digit <= '9' && number.value_or(0) < 1000) {
        number = number.value_or(0) * 10 + static_cast<std::uint32_t>(digit - '0');
      } else {
        return mistake("a repetition is {m}, {m,} or {m,n}");
      }
    }
    if (!comma && !number) return mistake("a repetition is {m}, {m,} or {m,n}");
    if (!comma) count = {*number, number};
    if (comma) count.most = number;
    if (count.least > 1000 || count.most.value_or(0) > 1000) return mistake("a repetition of more than 1000");
    if (count.most && *count.most < count.least) return mistake("a repetition that ends below its start");
    at_ = close + 1;
    return std::optional(count);
  }

  Result<Part> repeated(int depth) {
    const std::size_t begin = at_;
    const std::size_t atoms_before = atoms_.size();
    Part part = TRY(atom(depth));
    const std::optional<Count> count = TRY(quantifier());
    if (!count) return part;
    plain_ = false;
    if (depth == 0) {
      atoms_.resize(std::min(atoms_.size(), atoms_before));
      atoms_.push_back({});
    }
    const std::size_t behind = at_;
    // Each further copy is parsed anew from the same text.
    const auto again = [&]() -> Result<Part> {
      at_ = begin;
      const std::size_t atoms_now = atoms_.size();
      Part copy = TRY(atom(depth));
      atoms_.resize(std::min(atoms_.size(), atoms_now));
      at_ = behind;
      TRY(check_size());
      return copy;
    };
    Part whole = empty();
    const auto append = [&](Part next) {
      patch(whole, next.first);
      whole.ends = std::move(next.ends);
    };
    bool first_used = false;
    const auto one = [&]() -> Result<Part> {
      if (!std::exchange(first_used, true)) return std::move(part);
      return again();
    };
    for (std::uint32_t i = 0; i < count->least; ++i) append(TRY(one()));
    if (!count->most) {
      const Part body = TRY(one());
      const std::uint32_t split = add({Kind::split, 0, body.first});
      patch(body, split);
      append({split, {split * 2 + 1}});
    } else {
      std::vector<std::uint32_t> ways_out;
      for (std::uint32_t i = count->least; i < *count->most; ++i) {
        Part body = TRY(one());
        const std::uint32_t split = add({Kind::split, 0, body.first});
        ways_out.push_back(split * 2 + 1);
        append({split, std::move(body.ends)});
      }
      whole.ends.insert(whole.ends.end(), ways_out.begin(), ways_out.end());
    }
    if (at_ < text_.size() && (text_[at_] == '*' || text_[at_] == '+' || text_[at_] == '{')) {
      return mistake("a repetition of a repetition");
    }
    // "*?" and the like say which match is preferred, which does not matter to whether there is one.
    if (at_ < text_.size() && text_[at_] == '?') ++at_;
    return whole;
  }

  static Bytes named_set(char letter) {
    Bytes set;
    for (unsigned i = 0; i < 256; ++i) {
      const char c = static_cast<char>(i);
      const bool digit = c >= '0' && c <= '9';
      const bool word = digit || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
      const bool space = c == ' ' || (c >= '\t' && c <= '\r');
      if (letter == 'd' || letter == 'D') set[i] = digit;
      if (letter == 'w' || letter == 'W') set[i] = word;
      if (letter == 's' || letter == 'S') set[i] = space;
    }
    return letter < 'a' ? ~set : set;
  }

  // Behind a backslash: a set, or one byte.
  struct Escape {
    std::optional<Bytes> set;
    char byte = 0;
  };
  Result<Escape> escape() {
    if (at_ >= text_.size()) return mistake("a backslash at the end");
    const char c = text_[at_++];
    if (std::string_view("dDwWsS").find(c) != std::string_view::npos) return Escape{named_set(c), 0};
    if (c == 'n') return Escape{{}, '\n'};
    if (c == 't') return Escape{{}, '\t'};
    if (c == 'r') return Escape{{}, '\r'};
    if (c == 'x') {
      unsigned value = 0;
      for (int i = 0; i < 2; ++i, ++at_) {
        const char digit = at_ < text_.size() ? text_[at_] : ' ';
        const std::size_t place = std::string_view("0123456789abcdef").find(
            static_cast<char>(digit >= 'A' && digit <= 'F' ? digit - 'A' + 'a' : digit));
        if (place == std::string_view::npos) return mistake("\\x wants two hexadecimal digits");
        value = value * 16 + static_cast<unsigned>(place);
      }
      return Escape{{}, static_cast<char>(value)};
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) return mistake(fmt::format("\\{} means nothing here", c));
    return Escape{{}, c};
  }

  Bytes folded(Bytes set) const {
    if (!ignore_case_) return set;
    for (unsigned c = 'a'; c <= 'z'; ++c) {
      if (set[c] || set[c - 32]) set[c] = set[c - 32] = true;
    }
    return set;
  }

  Result<Bytes> bracket() {
    Bytes set;
    bool negated = false;
    if (at_ < text_.size() && text_[at_] == '^') {
      negated = true;
      ++at_;
    }
    for (bool first = true;; first = false) {
      if (at_ >= text_.size()) return mistake("a '[' that nothing closes");
      char low = text_[at_++];
      if (low == ']' && !first) break;
      if (low == '\\') {
        const Escape escaped = TRY(escape());
        if (escaped.set) {
          set |= *escaped.set;
          continue;
        }
        low = escaped.byte;
      }
      char high = low;
      if (at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']') {
        ++at_;
        high = text_[at_++];
        if (high == '\\') {
          const Escape escaped = TRY(escape());
          if (escaped.set) return mistake("a range that ends in a set");
          high = escaped.byte;
        }
      }
      const auto from = static_cast<unsigned char>(low);
      const auto to = static_cast<unsigned char>(high);
      if (to < from) return mistake("a range that ends below its start");
      for (unsigned c = from; c <= to; ++c) set[c] = true;
    }
    set = folded(set);
    return negated ? ~set : set;
  }

  Result<Part> atom(int depth) {
    const char c = text_[at_++];
    const auto note = [&](Atom atom_seen) {
      if (depth == 0) atoms_.push_back(atom_seen);
      if (!atom_seen.is_literal) plain_ = false;
    };
    switch (c) {
      case '(': {
        if (text_.substr(at_).starts_with("?:")) {
          at_ += 2;
        } else if (at_ < text_.size() && text_[at_] == '?') {
          return mistake("of the forms that begin with (? only (?:…), and (?i) at the front, are known");
        }
        note({});
        Part inside = TRY(alternatives(depth + 1));
        if (at_ >= text_.size()) return mistake("a '(' that nothing closes");
        ++at_;
        return inside;
      }
      case '[':
        note({});
        return single(TRY(bracket()));
      case '.': {
        note({});
        Bytes any;
        any.set();
        any['\n'] = false;
        return single(any);
      }
      case '^':
        note({});
        return empty(Kind::at_start);
      case '$':
        note({});
        return empty(Kind::at_end);
      case '*':
      case '+':
      case '?':
      case '{':
        --at_;
        return mistake("a repetition of nothing");
      default:
        break;
    }
    char byte = c;
    if (c == '\\') {
      const Escape escaped = TRY(escape());
      if (escaped.set) {
        note({});
        return single(*escaped.set);
      }
      byte = escaped.byte;
    }
    note({true, byte});
    Bytes set;
    set[static_cast<unsigned char>(byte)] = true;
    return single(folded(set));
  }

  void divide_into_classes() {
    std::map<std::vector<bool>, std::uint8_t> classes;
    for (unsigned c = 0; c < 256; ++c) {
      std::vector<bool> seen;
      for (const Bytes& set : out_.sets_) seen.push_back(set[c]);
      const auto [at, fresh] = classes.try_emplace(seen, static_cast<std::uint8_t>(classes.size()));
      out_.class_of_[c] = at->second;
    }
    out_.classes_ = classes.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool ignore_case_ = false;
  bool plain_ = true;
  bool several_ = false;
  std::vector<Atom> atoms_;
  RegularExpression out_;
};

Result<RegularExpression> RegularExpression::parse(std::string_view text) { return RegularExpressionParser(text).run(); }

void RegularExpressionMatcher::forget() {
  sets_.clear();
  next_.clear();
  at_end_.clear();
  known_.clear();
  start_ = kUnknown;
  mark_.assign(expression_.states_.size(), 0);
  stamp_ = 0;
}

// Adds what can be reached from `from` without a byte to the working set.
void RegularExpressionMatcher::close(std::uint32_t from, bool at_start, bool at_end) {
  using Kind = RegularExpression::State::Kind;
  stack_.push_back(from);
  while (!stack_.empty()) {
    const std::uint32_t i = stack_.back();
    stack_.pop_back();
    if (mark_[i] == stamp_) continue;
    mark_[i] = stamp_;
    const RegularExpression::State& state = expression_.states_[i];
    switch (state.kind) {
      case Kind::bytes:
        working_.push_back(i);
        break;
      case Kind::split:
        stack_.push_back(state.next);
        stack_.push_back(state.other);
        break;
      case Kind::jump:
        stack_.push_back(state.next);
        break;
      case Kind::at_start:
        if (at_start) stack_.push_back(state.next);
        break;
      case Kind::at_end:
        working_.push_back(i);
        if (at_end) stack_.push_back(state.next);
        break;
      case Kind::match:
        working_matches_ = true;
        break;
    }
  }
}

std::int32_t RegularExpressionMatcher::intern() {
  if (working_matches_) return kMatch;
  std::ranges::sort(working_);
  std::string key(reinterpret_cast<const char*>(working_.data()), working_.size() * sizeof(std::uint32_t));
  const auto [at, fresh] = known_.try_emplace(std::move(key), static_cast<std::int32_t>(sets_.size()));
  if (fresh) {
    sets_.push_back(working_);
    next_.resize(next_.size() + expression_.classes_, kUnknown);
    at_end_.push_back(-1);
  }
  return at->second;
}

std::int32_t RegularExpressionMatcher::start_state() {
  if (start_ != kUnknown) return start_;
  ++stamp_;
  working_.clear();
  working_matches_ = false;
  close(expression_.start_, true, false);
  return start_ = intern();
}

std::int32_t RegularExpressionMatcher::step(std::int32_t from, std::uint8_t byte_class) {
  // A byte that stands for its class.
  const auto byte = static_cast<std::size_t>(std::ranges::find(expression_.class_of_, byte_class) - expression_.class_of_.begin());
  ++stamp_;
  working_.clear();
  working_matches_ = false;
  for (const std::uint32_t i : sets_[static_cast<std::size_t>(from)]) {
    const RegularExpression::State& state = expression_.states_[i];
    if (state.kind == RegularExpression::State::Kind::bytes && expression_.sets_[state.set][byte]) close(state.next, false, false);
  }
  // A match may begin anywhere.
  close(expression_.start_, false, false);
  const std::int32_t to = intern();
  next_[static_cast<std::size_t>(from) * expression_.classes_ + byte_class] = to;
  return to;
}

bool RegularExpressionMatcher::matches_at_end(std::int32_t state) {
  std::int8_t& known = at_end_[static_cast<std::size_t>(state)];
  if (known >= 0) return known == 1;
  ++stamp_;
  working_.clear();
  working_matches_ = false;
  const Set set = sets_[static_cast<std::size_t>(state)];
  for (const std::uint32_t i : set) {
    if (expression_.states_[i].kind == RegularExpression::State::Kind::at_end) close(expression_.states_[i].next, false, true);
  }
  known = working_matches_ ? 1 : 0;
  return working_matches_;
}

bool RegularExpressionMatcher::found_in(BytesView bytes) {
  if (!expression_.required_.empty()) {
    const void* at = ::memmem(bytes.data(), bytes.size(), expression_.required_.data(), expression_.required_.size());
    if (at == nullptr) return false;
    if (expression_.literal_) return true;
  }
  std::int32_t state = start_state();
  if (state == kMatch) return true;
  // In registers: nothing that is written here could change them, which the compiler cannot know.
  const std::uint8_t* const class_of = expression_.class_of_.data();
  const std::size_t classes = expression_.classes_;
  const std::int32_t* next = next_.data();
  for (const std::byte byte : bytes) {
    const std::uint8_t byte_class = class_of[static_cast<std::size_t>(byte)];
    std::int32_t to = next[static_cast<std::size_t>(state) * classes + byte_class];
    if (to == kUnknown) {
      if (sets_.size() >= kMostDeterministic) {
        // Begin anew with what is known of the bytes so far.
        const Set kept = sets_[static_cast<std::size_t>(state)];
        forget();
        working_ = kept;
        working_matches_ = false;
        state = intern();
      }
      to = step(state, byte_class);
      next = next_.data();
    }
    if (to == kMatch) return true;
    state = to;
  }
  return matches_at_end(state);
}

}  // namespace cordwood::offline
