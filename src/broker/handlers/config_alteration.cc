#include "broker/handlers/config_alteration.h"

#include <algorithm>
#include <memory>

#include "broker/authorizer.h"
#include "broker/configs/loggers.h"
#include "broker/metadata/metadata_record.h"

namespace cordwood::broker {
namespace {

using configs::Alteration;
using configs::ResourceChange;
using configs::ResourceOutcome;
using metadata::Refusal;
using metadata::ResourceType;
using protocol::ErrorCode;

Refusal may_alter(const Exchange& exchange, const ResourceChange& resource) {
  auto ask = [&](Resource kind, std::string_view name, ErrorCode denial) -> Refusal {
    if (authorise(exchange, Operation::alter_configs, kind, name) == Verdict::allowed) return {};
    return {denial, "Authorization failed."};
  };
  switch (static_cast<ResourceType>(resource.type)) {
    case ResourceType::topic: return ask(Resource::topic, resource.name, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    case ResourceType::group: return ask(Resource::group, resource.name, ErrorCode::GROUP_AUTHORIZATION_FAILED);
    default: return ask(Resource::cluster, kClusterResource, ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
  }
}

bool is_logger(const ResourceChange& resource) {
  return resource.type == static_cast<std::int8_t>(ResourceType::broker_logger);
}

}  // namespace

void alter_configs(Broker& broker, const Exchange& exchange, std::vector<ResourceChange> resources, Alteration alteration,
                   Commit commit, std::function<void(const std::vector<Refusal>&)> done) {
  std::vector<Refusal> denials;
  for (const ResourceChange& resource : resources) denials.push_back(may_alter(exchange, resource));
  broker.controller().submit([&broker, resources = std::move(resources), denials = std::move(denials), alteration, commit,
                              done = std::move(done)](const metadata::Image& image) {
    std::vector<ResourceOutcome> outcomes = decide_alter_configs(broker.config(), image, resources, alteration);
    auto refusals = std::make_shared<std::vector<Refusal>>(denials);
    metadata::Controller::Decision decision;
    for (std::size_t i = 0; i < resources.size(); ++i) {
      Refusal& refusal = (*refusals)[i];
      if (refusal.code != ErrorCode::NONE) continue;
      refusal = outcomes[i].refusal;
      if (refusal.code == ErrorCode::NONE && is_logger(resources[i])) {
        refusal = configs::check_logger_changes(broker.config().node_id, resources[i].name, resources[i].changes);
        if (refusal.code == ErrorCode::NONE && commit == Commit::yes) {
          configs::apply_logger_changes(broker.logger(), resources[i].changes);
        }
      }
      if (refusal.code != ErrorCode::NONE || commit == Commit::no) continue;
      for (metadata::ConfigRecord& record : outcomes[i].records) {
        decision.records.push_back(metadata::record_for(image.metadata_version(), std::move(record)));
      }
    }
    decision.done = [refusals, done](const Result<std::shared_ptr<const metadata::Image>>& outcome) {
      if (!outcome) std::ranges::fill(*refusals, Refusal{ErrorCode::KAFKA_STORAGE_ERROR, std::nullopt});
      done(*refusals);
    };
    return decision;
  });
}

}  // namespace cordwood::broker
