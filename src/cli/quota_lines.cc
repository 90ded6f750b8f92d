#include "cli/quota_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/sha2.h"
#include "cli/kafka_tool.h"
#include "client/java_order.h"
#include "client/quotas.h"

namespace cordwood::cli {
namespace {

using client::QuotaMatch;
using Done = std::monostate;

constexpr std::string_view kClientLimits[] = {"producer_byte_rate", "consumer_byte_rate", "request_percentage",
                                              "controller_mutation_rate"};
constexpr std::string_view kIpLimits[] = {"connection_creation_rate"};
constexpr std::string_view kScramNames[] = {"SCRAM-SHA-256", "SCRAM-SHA-512"};

template <class List>
bool is_among(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != std::end(list);
}

std::string quota_type(std::string_view type) {
  if (type == "users") return "user";
  return type == "clients" ? "client-id" : "ip";
}

std::vector<QuotaMatch> matches_of(const ConfigEntities& entities) {
  std::vector<QuotaMatch> matches;
  for (std::size_t i = 0; i < entities.types.size(); ++i) {
    QuotaMatch match{quota_type(entities.types[i])};
    if (i < entities.names.size()) {
      match.kind = entities.names[i].empty() ? QuotaMatch::Kind::defaults : QuotaMatch::Kind::exact;
      match.name = entities.names[i];
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

Tried<std::vector<client::Quota>> quotas_of(client::Cluster& cluster, const ConfigEntities& entities) {
  auto quotas = NEED(tried_get(client::describe_quotas(cluster, matches_of(entities))));
  client::order_as_java(quotas, [](const client::Quota& quota) {
    constexpr std::uint32_t kFactor = 31;
    std::uint32_t hash = kFactor;
    for (const auto& [type, name] : quota.entity) {
      hash += static_cast<std::uint32_t>(client::java_hash_code(type)) ^ static_cast<std::uint32_t>(name ? client::java_hash_code(*name) : 0);
    }
    return static_cast<std::int32_t>(hash);
  }, quotas.size());
  for (auto& quota : quotas) {
    client::order_as_java(quota.values, [](const auto& value) { return client::java_hash_code(value.first); }, quota.values.size());
  }
  return quotas;
}

std::string entity_text(const client::Quota& quota) {
  std::vector<std::string> parts;
  for (const auto& [type, words] : {std::pair("user", "user-principal"), std::pair("client-id", "client-id"), std::pair("ip", "ip")}) {
    for (const auto& [entity_type, name] : quota.entity) {
      if (entity_type == type) parts.push_back(name ? fmt::format("{} '{}'", words, *name) : fmt::format("the default {}", words));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Tried<Done> describe_credentials(client::Cluster& cluster, const ConfigEntities& entities, Session& session) {
  std::optional<std::vector<std::string>> users;
  if (!entities.names.empty()) users = entities.names;
  for (const auto& user : NEED(tried_get(client::describe_scram(cluster, users)))) {
    if (user.failure.code == protocol::ErrorCode::RESOURCE_NOT_FOUND) continue;
    if (user.failure.code != protocol::ErrorCode::NONE) return std::unexpected(execution_exception(user.failure));
    std::vector<std::string> texts;
    for (const auto& [mechanism, iterations] : user.credentials) {
      texts.push_back(fmt::format("{}=iterations={}", kScramNames[mechanism == client::ScramMechanism::sha_256 ? 0 : 1], iterations));
    }
    session.out.print("SCRAM credential configs for user-principal '{}' are {}\n", user.name, fmt::join(texts, ", "));
  }
  return Done{};
}

// The names that are neither limits nor, for users alone, SCRAM mechanisms.
std::vector<std::string> unexpected_names(std::string_view type, bool may_be_scram, const std::vector<std::string>& names) {
  std::vector<std::string> unexpected;
  for (const std::string& name : names) {
    bool known = type == "ips" ? is_among(kIpLimits, name) : is_among(kClientLimits, name);
    if (!known && !(may_be_scram && is_among(kScramNames, name))) unexpected.push_back(name);
  }
  return unexpected;
}

Tried<Done> check_names(const ConfigEntities& entities, bool users_only, const std::vector<std::string>& added,
                        const std::vector<std::string>& deleted) {
  const std::string& type = entities.types.front();
  for (const auto& [names, action] : {std::pair(&added, "added"), std::pair(&deleted, "deleted")}) {
    auto wrong = unexpected_names(type, users_only, *names);
    if (wrong.empty()) continue;
    std::string_view kinds = type == "ips" ? "connection quota" : users_only ? "quota and SCRAM credential" : "quota";
    std::string_view whose = type == "ips" ? "ips" : users_only ? "users" : "clients";
    return std::unexpected(illegal_argument(fmt::format("Only {} configs can be {} for '{}' using --bootstrap-server. Unexpected config names: {}",
                                                        kinds, action, whose, fmt::join(wrong, ","))));
  }
  return Done{};
}

client::ScramMechanism scram_mechanism(std::string_view name) {
  return name == kScramNames[0] ? client::ScramMechanism::sha_256 : client::ScramMechanism::sha_512;
}

// "iterations=8192,password=secret", without iterations the fewest, with a salt of 25 random letters and digits.
Tried<client::NewScram> new_scram(std::string_view mechanism, std::string_view text, Random& random) {
  constexpr std::int32_t kFewest = 4096;
  constexpr std::int32_t kMost = 16384;
  constexpr std::string_view kIterations = "iterations=";
  std::string_view rest = text;
  std::int32_t iterations = kFewest;
  if (rest.starts_with(kIterations)) {
    auto comma = rest.find(',');
    auto number = parse_java_int(rest.substr(kIterations.size(), comma - kIterations.size()));
    if (comma != std::string_view::npos && number) {
      iterations = *number;
      rest.remove_prefix(comma + 1);
    }
  }
  if (!rest.starts_with("password=")) {
    std::string name(mechanism);
    std::ranges::replace(name, '-', '_');
    return std::unexpected(illegal_argument(fmt::format("Invalid credential property {}={}", name, text)));
  }
  if (iterations < kFewest) {
    return std::unexpected(illegal_argument(
        fmt::format("Iterations {} is less than the minimum {} required for {}", iterations, kFewest, mechanism)));
  }
  if (iterations > kMost) {
    return std::unexpected(illegal_argument(
        fmt::format("Iterations {} is greater than the maximum {} allowed for {}", iterations, kMost, mechanism)));
  }
  constexpr std::string_view kSaltLetters = "0123456789abcdefghijklmnopqrstuvwxyz";
  const std::string_view password = rest.substr(std::string_view("password=").size());
  if (password.empty()) return std::unexpected(illegal_argument("Empty key"));
  client::NewScram added;
  added.mechanism = scram_mechanism(mechanism);
  added.iterations = iterations;
  for (int i = 0; i < 25; ++i) added.salt.push_back(static_cast<std::byte>(kSaltLetters[random.below(kSaltLetters.size())]));
  const Sha2 hash = added.mechanism == client::ScramMechanism::sha_256 ? Sha2::sha256 : Sha2::sha512;
  added.salted_password = pbkdf2(hash, as_bytes(password), added.salt, iterations);
  return added;
}

Tried<Done> change_scram(client::Cluster& cluster, const std::string& user, const Settings& added,
                         const std::vector<std::string>& deleted, Random& random) {
  std::vector<client::NewScram> credentials;
  for (const auto& [mechanism, text] : added) credentials.push_back(NEED(new_scram(mechanism, text, random)));
  std::vector<client::ScramMechanism> mechanisms;
  for (const std::string& name : deleted) mechanisms.push_back(scram_mechanism(name));
  NEED(tried_get(client::alter_scram(cluster, user, credentials, mechanisms)));
  return Done{};
}

Tried<Done> alter_limits(client::Cluster& cluster, const ConfigEntities& entities, const Settings& added,
                         const std::vector<std::string>& deleted) {
  auto quotas = NEED(quotas_of(cluster, entities));
  std::vector<std::string> absent;
  for (const std::string& name : deleted) {
    bool is_set = std::ranges::any_of(quotas, [&](const client::Quota& quota) {
      return std::ranges::any_of(quota.values, [&](const auto& value) { return value.first == name; });
    });
    if (!is_set) absent.push_back(name);
  }
  if (!absent.empty()) {
    return std::unexpected(JavaError{"org.apache.kafka.common.errors.InvalidConfigurationException",
                                     fmt::format("Invalid config(s): {}", fmt::join(absent, ","))});
  }
  std::vector<client::QuotaChange> changes;
  for (const auto& [name, text] : added) {
    char* end = nullptr;
    double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') {
      return std::unexpected(illegal_argument(fmt::format("Cannot parse quota configuration value for {}: {}", name, text)));
    }
    changes.push_back({name, value});
  }
  for (const std::string& name : deleted) changes.push_back({name, {}});
  std::vector<std::pair<std::string, std::optional<std::string>>> entity;
  for (std::size_t i = 0; i < entities.types.size(); ++i) {
    std::optional<std::string> name;
    if (i < entities.names.size() && !entities.names[i].empty()) name = entities.names[i];
    entity.emplace_back(quota_type(entities.types[i]), std::move(name));
  }
  NEED(tried_get(client::alter_quotas(cluster, entity, changes)));
  return Done{};
}

}  // namespace

Tried<Done> describe_quota_entities(client::Cluster& cluster, const ConfigEntities& entities, Session& session) {
  for (const client::Quota& quota : NEED(quotas_of(cluster, entities))) {
    std::vector<std::string> values;
    for (const auto& [name, value] : quota.values) values.push_back(fmt::format("{}={}", name, double_text(value)));
    session.out.print("Quota configs for {} are {}\n", entity_text(quota), fmt::join(values, ", "));
  }
  bool users_only = entities.types.size() == 1 && entities.types.front() == "users";
  if (!users_only || is_among(entities.names, "")) return Done{};
  return describe_credentials(cluster, entities, session);
}

Tried<Done> alter_quota_entities(client::Cluster& cluster, const ConfigEntities& entities, const Settings& added,
                                 const std::vector<std::string>& deleted, Random& random) {
  bool users_only = entities.types.size() == 1 && entities.types.front() == "users";
  std::vector<std::string> all;
  for (const auto& [name, value] : added) all.push_back(name);
  NEED(check_names(entities, users_only, all, deleted));
  all.insert(all.end(), deleted.begin(), deleted.end());
  auto is_scram = [](const std::string& name) { return is_among(kScramNames, name); };
  if (std::ranges::none_of(all, is_scram)) return alter_limits(cluster, entities, added, deleted);
  if (is_among(entities.names, "")) {
    return std::unexpected(illegal_argument(
        "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using --bootstrap-server."));
  }
  if (!std::ranges::all_of(all, is_scram)) {
    return std::unexpected(illegal_argument(
        "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using --bootstrap-server."));
  }
  return change_scram(cluster, entities.names.front(), added, deleted, random);
}

}  // namespace cordwood::cli
