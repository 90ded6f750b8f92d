#include "inspector/guard.h"

#include <gtest/gtest.h>

namespace cordwood::inspector {
namespace {

GuardRules open_rules() { return {.token = {}, .bound_host = "127.0.0.1", .port = 9192, .actions = true}; }
GuardRules token_rules() { return {.token = "secret-token", .bound_host = "10.0.0.5", .port = 9192, .actions = true}; }

HttpRequest get_request() {
  HttpRequest request;
  request.method = "GET";
  request.host = "localhost:9192";
  return request;
}

HttpRequest post_request() {
  HttpRequest request = get_request();
  request.method = "POST";
  request.content_type = "application/json";
  return request;
}

int status(const GuardRules& rules, const HttpRequest& request, std::string_view path = "/api/v1/about", std::string_view token = {}) {
  const auto refusal = refusal_of(rules, request, path, token);
  return refusal ? refusal->status : 200;
}

TEST(Guard, AnswersThoseWhoNameThisMachineByItsLoopback) {
  for (const char* host : {"localhost", "localhost:9192", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:9192", "127.255.0.9:1", "[::1]:9192", "[::1]"}) {
    HttpRequest request = get_request();
    request.host = host;
    EXPECT_EQ(status(open_rules(), request), 200) << host;
  }
  for (const char* host : {"", "evil.example", "localhost.evil.example:9192", "127.0.0.1.evil.example", "127.1", "1270.0.0.1", "127.0.0.256",
                           "127.0.0.1.2", "10.0.0.5:9192", "[::2]", "[", "0.0.0.0:9192", "127.0.0.0001"}) {
    HttpRequest request = get_request();
    request.host = host;
    EXPECT_EQ(status(open_rules(), request), 403) << host;
  }
}

TEST(Guard, AnswersTheAddressThatItListensOn) {
  GuardRules rules = open_rules();
  rules.bound_host = "127.0.0.7";
  HttpRequest request = get_request();
  request.host = "127.0.0.7:9192";
  EXPECT_EQ(status(rules, request), 200);
}

TEST(Guard, RefusesWhatOtherSitesSend) {
  struct Case {
    const char* origin;
    const char* site;
    int status;
  };
  for (const Case& c : {Case{"", "", 200}, Case{"", "same-origin", 200}, Case{"", "none", 200}, Case{"http://localhost:9192", "same-origin", 200},
                        Case{"https://localhost:9192", "", 200}, Case{"http://evil.example", "", 403}, Case{"null", "", 403},
                        Case{"http://localhost:3000", "", 403}, Case{"", "cross-site", 403}, Case{"", "same-site", 403},
                        Case{"http://localhost:9192", "cross-site", 403}}) {
    for (HttpRequest request : {get_request(), post_request()}) {
      request.origin = c.origin;
      request.fetch_site = c.site;
      EXPECT_EQ(status(open_rules(), request), c.status) << request.method << " " << c.origin << " " << c.site;
    }
  }
}

TEST(Guard, LetsALinkOfAnotherSiteLeadToThePageAlone) {
  HttpRequest visit = get_request();
  visit.fetch_site = "cross-site";
  visit.fetch_mode = "navigate";
  visit.fetch_dest = "document";
  EXPECT_EQ(status(open_rules(), visit, "/topics/orders"), 200);
  EXPECT_EQ(status(open_rules(), visit, "/api/v1/about"), 403);
  EXPECT_EQ(status(open_rules(), visit, "/metrics"), 403);
  visit.fetch_dest = "iframe";
  EXPECT_EQ(status(open_rules(), visit, "/"), 403);
}

TEST(Guard, WantsJsonAndAPermissionForAPost) {
  HttpRequest request = post_request();
  EXPECT_EQ(status(open_rules(), request), 200);
  request.content_type = "application/json; charset=utf-8";
  EXPECT_EQ(status(open_rules(), request), 200);
  for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp", "text/plain; application/json"}) {
    request.content_type = type;
    EXPECT_EQ(status(open_rules(), request), 415) << type;
  }
  GuardRules no_actions = open_rules();
  no_actions.actions = false;
  EXPECT_EQ(status(no_actions, post_request()), 403);
  EXPECT_EQ(status(no_actions, get_request()), 200);
}

TEST(Guard, WantsTheTokenWhereThereIsOne) {
  HttpRequest request = get_request();
  request.host = "broker.example:9192";
  EXPECT_EQ(status(token_rules(), request), 401);
  EXPECT_EQ(status(token_rules(), request, "/"), 401);
  EXPECT_EQ(status(token_rules(), request, "/metrics"), 401);
  EXPECT_EQ(status(token_rules(), request, "/live"), 200);
  EXPECT_EQ(status(token_rules(), request, "/ready"), 200);
  EXPECT_EQ(status(token_rules(), request, "/", "secret-token"), 200);
  EXPECT_EQ(status(token_rules(), request, "/", "secret-tokem"), 401);
  EXPECT_EQ(status(token_rules(), request, "/", "secret-token2"), 401);
  request.authorization = "Bearer secret-token";
  EXPECT_EQ(status(token_rules(), request), 200);
  for (const char* given : {"Bearer ", "Bearer secret", "secret-token", "Basic secret-token", "Bearer secret-token "}) {
    request.authorization = given;
    EXPECT_EQ(status(token_rules(), request), 401) << given;
  }
  request.authorization.clear();
  request.cookie = "a=b; cordwood_token_9192=secret-token; c=d";
  EXPECT_EQ(status(token_rules(), request), 200);
  request.cookie = "cordwood_token_9193=secret-token";
  EXPECT_EQ(status(token_rules(), request), 401);
  // The token does not make another site's page one of ours.
  request.cookie = "cordwood_token_9192=secret-token";
  request.origin = "http://evil.example";
  EXPECT_EQ(status(token_rules(), request), 403);
}

TEST(Guard, FindsACookieByItsWholeName) {
  EXPECT_EQ(cookie_value("x=1; token=2", "token"), "2");
  EXPECT_EQ(cookie_value("mytoken=1; token=2", "token"), "2");
  EXPECT_EQ(cookie_value("token=a=b", "token"), "a=b");
  EXPECT_EQ(cookie_value("", "token"), "");
  EXPECT_EQ(cookie_value("token", "token"), "");
}

}  // namespace
}  // namespace cordwood::inspector
