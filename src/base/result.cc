#include "base/result.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace cordwood {

const char* to_string(Errc code) {
  switch (code) {
    case Errc::io: return "io";
    case Errc::no_space: return "no space";
    case Errc::corrupt: return "corrupt";
    case Errc::unsupported: return "unsupported";
    case Errc::invalid: return "invalid";
    case Errc::not_found: return "not found";
    case Errc::exists: return "exists";
    case Errc::limit: return "limit";
    case Errc::out_of_range: return "out of range";
    case Errc::locked: return "locked";
    case Errc::closed: return "closed";
  }
  return "unknown";
}

std::string Error::message() const {
  if (sys_errno == 0) return what;
  return fmt::format("{}: {} ({})", what, std::strerror(sys_errno), sys_errno);
}

Error system_error(std::string what, int sys_errno) {
  Errc code = Errc::io;
  switch (sys_errno) {
    case ENOSPC:
    case EDQUOT: code = Errc::no_space; break;
    case ENOENT: code = Errc::not_found; break;
    case EEXIST: code = Errc::exists; break;
    default: break;
  }
  return Error{code, std::move(what), sys_errno};
}

namespace check_detail {
void fail(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "%s:%d: CHECK(%s) failed%s%s\n", file, line, condition, message.empty() ? "" : ": ",
               message.c_str());
  std::fflush(stderr);
  std::abort();
}
}  // namespace check_detail

}  // namespace cordwood
