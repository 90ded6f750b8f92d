// inspector/guard.h — who may ask the inspector: the rules against other sites' pages and strangers.
//
// A page of any site can make a browser send requests to a loopback address: so its Origin and Sec-Fetch-Site are looked at, and
// its Host, since a name that its owner points at 127.0.0.1 would be the same origin to the browser (DNS rebinding). A token, where
// one is set, is demanded of everything but /live and /ready, and makes the Host's name not matter. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "inspector/http_server.h"

namespace cordwood::inspector {

struct GuardRules {
  std::string token;       // empty: none is demanded
  std::string bound_host;  // the address that is listened on, which Host may name
  std::uint16_t port = 0;  // cookies know no ports: theirs has it in its name
  bool actions = false;    // whether anything may be changed
};

struct Refusal {
  int status = 403;
  std::string why;  // one sentence
};

// Nothing: go on. `path`: of the target, without the query. `token_in_query`: the value of ?token=, where there is one.
std::optional<Refusal> refusal_of(const GuardRules& rules, const HttpRequest& request, std::string_view path,
                                  std::string_view token_in_query);

// The cookie in which the page keeps the token that it was opened with.
std::string token_cookie_name(std::uint16_t port);
// "a=1; b=2"; empty where there is none of that name.
std::string_view cookie_value(std::string_view cookies, std::string_view name);
// "localhost", "127.0.0.1:9192", "[::1]": whatever names this machine's own address.
bool names_loopback(std::string_view host_header);

}  // namespace cordwood::inspector
