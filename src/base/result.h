// base/result.h — a value or an Error, for everything that the outside world can make fail.
//
// Spelled like std::expected so that it can go one day; ours because g++ 12's has no and_then and warns of no dropped
// one. A dropped Result is a compile error ([[nodiscard]] on the class, warnings are errors).
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"

namespace cordwood {

// A code exists only if some caller acts on it.
enum class Errc {
  io,            // a system call failed; sys_errno says how
  no_space,      // ENOSPC or EDQUOT
  corrupt,       // bytes that contradict their own format or checksum
  unsupported,   // a version, magic, codec or feature that we know of and do not serve
  invalid,       // an argument or a setting that can never be right
  not_found,     // a file, topic, key that is not there
  exists,        // it is there already
  limit,         // a size or a count beyond what is allowed
  out_of_range,  // an offset or position outside of what the object holds
  locked,        // another process holds it
  closed,        // the object was closed, or its log directory went offline
};

const char* to_string(Errc code);

struct Error {
  Errc code = Errc::io;
  std::string what;   // one sentence that names the file, the position or the field
  int sys_errno = 0;  // 0 when no system call was involved

  // "what: No space left on device (28)"
  std::string message() const;
};

// An Error for a system call that has just failed: maps ENOSPC/EDQUOT to no_space, ENOENT to not_found, EEXIST to
// exists, everything else to io.
Error system_error(std::string what, int sys_errno);

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  template <class U>
    requires(std::is_constructible_v<T, U &&> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error> && !std::is_same_v<std::remove_cvref_t<U>, T>)
  Result(U&& value) : state_(std::in_place_index<0>, T(std::forward<U>(value))) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & {
    CHECK(has_value(), "value() of an error: {}", error().message());
    return std::get<0>(state_);
  }
  const T& value() const& {
    CHECK(has_value(), "value() of an error: {}", error().message());
    return std::get<0>(state_);
  }
  // By value, so that `for (auto& x : *list())` keeps what it walks over: a reference would die with the Result.
  T value() && {
    CHECK(has_value(), "value() of an error: {}", error().message());
    return std::move(std::get<0>(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }
  Error& error() { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool has_value() const { return !error_; }
  explicit operator bool() const { return has_value(); }
  void value() const { CHECK(has_value(), "value() of an error: {}", error_->message()); }
  const Error& error() const { return *error_; }
  Error& error() { return *error_; }

 private:
  std::optional<Error> error_;
};

namespace result_detail {
template <class T>
T unwrap(Result<T>&& result) {
  return std::move(result).value();
}
inline void unwrap(Result<void>&&) {}
}  // namespace result_detail

}  // namespace cordwood

// TRY(expression) is the value of a Result; an error leaves the enclosing function at once, handed to its caller.
#define TRY(...)                                                      \
  ({                                                                  \
    auto try_result_ = (__VA_ARGS__);                                 \
    if (!try_result_) return std::move(try_result_).error();          \
    ::cordwood::result_detail::unwrap(std::move(try_result_));        \
  })
