// broker/configs/alter_configs.h — what a change of settings comes to: records, or a refusal, for each resource.
//
// Pure. Checks, their order, codes and texts are Apache Kafka 4.4.0's (seen). A refused resource changes nothing at all,
// the others of its request go ahead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker/config.h"
#include "broker/metadata/image.h"
#include "broker/metadata/metadata_record.h"
#include "broker/metadata/placement.h"

namespace cordwood::broker::configs {

// The numbers of IncrementalAlterConfigs.
enum class ConfigOperation : std::int8_t { set = 0, remove = 1, append = 2, subtract = 3 };

struct ConfigChange {
  std::string name;
  std::int8_t operation = 0;  // as it came: others than ConfigOperation's are refused
  std::optional<std::string> value;
};

struct ResourceChange {
  std::int8_t type = 0;  // as it came: others than ResourceType's are refused
  std::string name;
  std::vector<ConfigChange> changes;
};

struct ResourceOutcome {
  metadata::Refusal refusal;
  std::vector<metadata::ConfigRecord> records;  // none when refused or when nothing changes
};

// How the changes of a resource count: each for itself (IncrementalAlterConfigs), or as all that shall be set from now on
// (AlterConfigs, operations are ignored).
enum class Alteration { incremental, complete };

// One outcome for each of `resources`, in their order. Loggers are none of the image's resources: they are refused as
// unknown when `alteration` is complete, and left alone (no refusal, no records) when it is incremental, after the checks
// that all kinds share.
std::vector<ResourceOutcome> decide_alter_configs(const Config& config, const metadata::Image& image,
                                                  const std::vector<ResourceChange>& resources, Alteration alteration);

}  // namespace cordwood::broker::configs
