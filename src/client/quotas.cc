#include "client/quotas.h"

#include "client/call.h"
#include "protocol/messages/alter_client_quotas.h"
#include "protocol/messages/alter_user_scram_credentials.h"
#include "protocol/messages/describe_client_quotas.h"
#include "protocol/messages/describe_user_scram_credentials.h"

namespace cordwood::client {

using protocol::ErrorCode;

Outcome<std::vector<Quota>> describe_quotas(Cluster& cluster, const std::vector<QuotaMatch>& matches) {
  protocol::DescribeClientQuotasRequest request;
  request.strict = true;
  for (const QuotaMatch& match : matches) {
    auto& component = request.components.emplace_back();
    component.entity_type = match.type;
    component.match_type = static_cast<std::int8_t>(match.kind);
    if (match.kind == QuotaMatch::Kind::exact) component.match = match.name;
  }
  auto answer = ATTEMPT(ask_any<protocol::DescribeClientQuotasResponse>(cluster, "describeClientQuotas", request));
  if (answer->error_code != ErrorCode::NONE) return failure_of(answer->error_code, answer->error_message);
  std::vector<Quota> quotas;
  if (!answer->entries) return quotas;
  for (const auto& entry : *answer->entries) {
    Quota& quota = quotas.emplace_back();
    for (const auto& part : entry.entity) quota.entity.emplace_back(part.entity_type, part.entity_name);
    for (const auto& value : entry.values) quota.values.emplace_back(value.key, value.value);
  }
  return quotas;
}

Outcome<Nothing> alter_quotas(Cluster& cluster, const std::vector<std::pair<std::string, std::optional<std::string>>>& entity,
                              const std::vector<QuotaChange>& changes) {
  protocol::AlterClientQuotasRequest request;
  auto& entry = request.entries.emplace_back();
  for (const auto& [type, name] : entity) entry.entity.push_back({type, name});
  for (const QuotaChange& change : changes) entry.ops.push_back({change.key, change.value.value_or(0), !change.value});
  auto answer = ATTEMPT(ask_controller<protocol::AlterClientQuotasResponse>(cluster, "alterClientQuotas", request));
  for (const auto& result : answer->entries) {
    if (result.error_code != ErrorCode::NONE) return failure_of(result.error_code, result.error_message);
  }
  return Nothing{};
}

Outcome<std::vector<ScramUser>> describe_scram(Cluster& cluster, const std::optional<std::vector<std::string>>& users) {
  protocol::DescribeUserScramCredentialsRequest request;
  if (users) {
    request.users.emplace();
    for (const std::string& user : *users) request.users->push_back({user});
  }
  auto answer = ATTEMPT(
      ask_controller<protocol::DescribeUserScramCredentialsResponse>(cluster, "describeUserScramCredentials", request));
  if (answer->error_code != ErrorCode::NONE) return failure_of(answer->error_code, answer->error_message);
  std::vector<ScramUser> found;
  for (const auto& result : answer->results) {
    ScramUser& user = found.emplace_back();
    user.name = result.user;
    user.failure = {ErrorCode::NONE, ""};
    if (result.error_code != ErrorCode::NONE) user.failure = failure_of(result.error_code, result.error_message);
    for (const auto& info : result.credential_infos) {
      user.credentials.emplace_back(static_cast<ScramMechanism>(info.mechanism), info.iterations);
    }
  }
  return found;
}

Outcome<Nothing> alter_scram(Cluster& cluster, const std::string& user, const std::vector<NewScram>& added,
                             const std::vector<ScramMechanism>& deleted) {
  protocol::AlterUserScramCredentialsRequest request;
  for (const NewScram& one : added) {
    request.upsertions.push_back({user, static_cast<std::int8_t>(one.mechanism), one.iterations, one.salt, one.salted_password});
  }
  for (ScramMechanism mechanism : deleted) request.deletions.push_back({user, static_cast<std::int8_t>(mechanism)});
  auto answer = ATTEMPT(ask_controller<protocol::AlterUserScramCredentialsResponse>(cluster, "alterUserScramCredentials", request));
  for (const auto& result : answer->results) {
    if (result.error_code != ErrorCode::NONE) return failure_of(result.error_code, result.error_message);
  }
  return Nothing{};
}

}  // namespace cordwood::client
