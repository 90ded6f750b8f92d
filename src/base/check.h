// base/check.h — CHECK(condition, "format", args...): a bug of ours ends the process with a message, in release too.
//
// Never for input: what comes from outside is a Result or an answer to the client.
#pragma once

#include <fmt/core.h>

#include <string>

namespace cordwood::check_detail {
[[noreturn]] void fail(const char* file, int line, const char* condition, const std::string& message);
inline std::string describe() { return {}; }
template <class... Args>
std::string describe(fmt::format_string<Args...> text, Args&&... args) {
  return fmt::format(text, std::forward<Args>(args)...);
}
}  // namespace cordwood::check_detail

#define CHECK(condition, ...)                                                                    \
  do {                                                                                           \
    if (!(condition)) [[unlikely]]                                                               \
      ::cordwood::check_detail::fail(__FILE__, __LINE__, #condition,                             \
                                     ::cordwood::check_detail::describe(__VA_ARGS__));           \
  } while (false)
