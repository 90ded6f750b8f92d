// client/call.h — one request of an administrator, asked again until somebody answers it or the time is over.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "client/cluster.h"
#include "client/failure.h"

namespace cordwood::client {

// `choose` gives the link for each attempt: an Outcome<Link*>. A connection that breaks, and a broker that does not answer in time,
// are tried again as Kafka's admin client does; what a broker answers is handed on as it is.
template <class Response, class Request, class Choose>
Outcome<Answer<Response>> ask_until_answered(Cluster& cluster, std::string_view call, MonotonicNs deadline, const Request& request,
                                             Choose choose, std::int16_t max_version = Request::kMaxVersion) {
  for (int attempt = 0;; ++attempt) {
    Link* link = ATTEMPT(choose());
    auto answer = link->template ask<Response>(request, max_version);
    if (answer || !protocol::is_retriable(answer.failure().code)) return answer;
    ATTEMPT(cluster.back_off(attempt, call, deadline));
  }
}

// Of any broker.
template <class Response, class Request>
Outcome<Answer<Response>> ask_any(Cluster& cluster, std::string_view call, const Request& request,
                                  std::int16_t max_version = Request::kMaxVersion) {
  MonotonicNs deadline = cluster.deadline();
  auto choose = [&] { return cluster.any(call, deadline); };
  return ask_until_answered<Response>(cluster, call, deadline, request, choose, max_version);
}

// Of the broker that takes changes.
template <class Response, class Request>
Outcome<Answer<Response>> ask_controller(Cluster& cluster, std::string_view call, const Request& request,
                                         std::int16_t max_version = Request::kMaxVersion) {
  MonotonicNs deadline = cluster.deadline();
  auto choose = [&] { return cluster.controller(call, deadline); };
  return ask_until_answered<Response>(cluster, call, deadline, request, choose, max_version);
}

// Of one broker.
template <class Response, class Request>
Outcome<Answer<Response>> ask_broker(Cluster& cluster, std::int32_t id, std::string_view call, const Request& request,
                                     std::int16_t max_version = Request::kMaxVersion) {
  MonotonicNs deadline = cluster.deadline();
  auto choose = [&] { return cluster.broker(id, call, deadline); };
  return ask_until_answered<Response>(cluster, call, deadline, request, choose, max_version);
}

}  // namespace cordwood::client
