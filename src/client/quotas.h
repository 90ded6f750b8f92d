// client/quotas.h — limits of users, clients and addresses, and SCRAM credentials of users.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cluster.h"

namespace cordwood::client {

// A name of this type ("user", "client-id", "ip"), its default, or any of the type.
struct QuotaMatch {
  enum class Kind : std::int8_t { exact = 0, defaults = 1, any = 2 };
  std::string type;
  Kind kind = Kind::any;
  std::string name = {};
};

struct Quota {
  std::vector<std::pair<std::string, std::optional<std::string>>> entity;  // type and name; no name: the default
  std::vector<std::pair<std::string, double>> values;
};

// Those whose entities have exactly these types.
Outcome<std::vector<Quota>> describe_quotas(Cluster& cluster, const std::vector<QuotaMatch>& matches);

struct QuotaChange {
  std::string key;
  std::optional<double> value;  // nothing: removed
};
Outcome<Nothing> alter_quotas(Cluster& cluster, const std::vector<std::pair<std::string, std::optional<std::string>>>& entity,
                              const std::vector<QuotaChange>& changes);

enum class ScramMechanism : std::int8_t { sha_256 = 1, sha_512 = 2 };
struct ScramUser {
  std::string name;
  Failure failure;  // code NONE when there is none
  std::vector<std::pair<ScramMechanism, std::int32_t>> credentials;  // with their iterations
};
// Nothing for `users`: all.
Outcome<std::vector<ScramUser>> describe_scram(Cluster& cluster, const std::optional<std::vector<std::string>>& users);

// A credential as the broker wants it: the password never leaves the command.
struct NewScram {
  ScramMechanism mechanism;
  std::int32_t iterations = 0;
  ByteVector salt;
  ByteVector salted_password;
};
Outcome<Nothing> alter_scram(Cluster& cluster, const std::string& user, const std::vector<NewScram>& added,
                             const std::vector<ScramMechanism>& deleted);

}  // namespace cordwood::client
