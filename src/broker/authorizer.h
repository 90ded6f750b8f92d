// broker/authorizer.h — may this peer do that? The first step of every handler.
//
// Allows all for now: there is no authorizer yet (Kafka without authorizer.class.name answers the same). The question is
// asked all the same, with Kafka's operations and resources, so that an authorizer has one place to go.
#pragma once

#include <cstdint>
#include <string_view>

#include "broker/exchange.h"

namespace cordwood::broker {

// Numbers of the protocol (DescribeAcls; bits of the authorized operations).
enum class Operation : std::int8_t {
  read = 3,
  write = 4,
  create = 5,
  remove = 6,
  alter = 7,
  describe = 8,
  cluster_action = 9,
  describe_configs = 10,
  alter_configs = 11,
  idempotent_write = 12,
  create_tokens = 13,
  describe_tokens = 14,
  two_phase_commit = 15,
};

enum class Resource : std::int8_t { topic = 2, group = 3, cluster = 4, transactional_id = 5, delegation_token = 6 };

// The cluster has this name as a resource.
inline constexpr std::string_view kClusterResource = "kafka-cluster";

enum class Verdict { allowed, denied };

// Whether the exchange's principal, from its host, may do `operation` on the resource called `name`.
inline Verdict authorise(const Exchange& exchange, Operation operation, Resource resource, std::string_view name) {
  static_cast<void>(exchange);
  static_cast<void>(operation);
  static_cast<void>(resource);
  static_cast<void>(name);
  return Verdict::allowed;
}

}  // namespace cordwood::broker
