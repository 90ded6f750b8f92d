// client/node_links.h — the connections on which records travel: one to each broker, with several requests under way on it.
//
// Beside the Cluster's own links, whose calls are answered one after another: a fetch may take its time, and answers come in the
// order of the requests. Does not retry: whoever uses it learns the failure and asks for newer metadata.
// One thread.
#pragma once

#include <poll.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/cluster.h"
#include "client/failure.h"

namespace cordwood::client {

// Whole milliseconds of what is left; 0 when the time is over.
constexpr DurationMs left_ms(DurationNs left) { return {left.value <= 0 ? 0 : left.value / 1'000'000}; }

class NodeLinks {
 public:
  // `clock` and `listener` must outlive it.
  NodeLinks(ClusterOptions options, const Clock& clock, ClusterListener& listener)
      : options_(std::move(options)), clock_(clock), listener_(listener) {}

  // The link to a broker, made when there is none. Failure: NETWORK_EXCEPTION when it cannot be reached, or could not a moment ago.
  Outcome<Link*> to(const Node& node);
  // The link, when there is one.
  Link* find(std::int32_t id);
  void drop(std::int32_t id);
  std::vector<std::int32_t> ids() const;

 private:
  struct Refused {
    int times = 0;
    MonotonicNs not_before{0};
  };

  ClusterOptions options_;
  const Clock& clock_;
  ClusterListener& listener_;
  std::map<std::int32_t, std::unique_ptr<Link>> links_;
  std::map<std::int32_t, Refused> refused_;
};

// Waits until one of the descriptors has something to read, at most `timeout`; a negative descriptor is left out. Answers which
// have, by index; empty as well when a signal came.
std::vector<bool> wait_readable(const std::vector<int>& descriptors, DurationMs timeout);

}  // namespace cordwood::client
