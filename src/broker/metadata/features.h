// broker/metadata/features.h — the feature levels of Apache Kafka 4.4.0: what exists, what a metadata log may demand.
//
// A finalized level is a FeatureLevel record (kraft.version: a control record). A directory whose levels lie outside
// these ranges is refused, since records that we cannot represent would be lost.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cordwood::broker::metadata {

inline constexpr std::string_view kMetadataVersion = "metadata.version";
inline constexpr std::string_view kKRaftVersion = "kraft.version";
inline constexpr std::string_view kGroupVersion = "group.version";
inline constexpr std::string_view kTransactionVersion = "transaction.version";
inline constexpr std::string_view kElrVersion = "eligible.leader.replicas.version";
inline constexpr std::string_view kShareVersion = "share.version";
inline constexpr std::string_view kStreamsVersion = "streams.version";

struct SupportedFeature {
  std::string_view name;
  std::int16_t min = 0;
  std::int16_t max = 0;
};

// By name; metadata.version and kraft.version among them.
std::span<const SupportedFeature> supported_features();

// What metadata.version switches on, by the level that does.
inline constexpr std::int16_t kMetadataTransactionsFrom = 13;
inline constexpr std::int16_t kRegisterControllerFrom = 15;
inline constexpr std::int16_t kDirectoryIdsFrom = 17;
inline constexpr std::int16_t kElrRecordsFrom = 23;
inline constexpr std::int16_t kCordonedDirectoriesFrom = 30;

// Our own directories: the lowest level that has all we need opens in Kafka 4.0 to 4.4.
inline constexpr std::int16_t kDefaultMetadataVersion = 25;

// "4.0-IV3" for 25; "level 99" for one that is not known.
std::string metadata_version_name(std::int16_t level);

// Errors: unsupported, naming every feature whose level lies outside the supported range; corrupt when there is no
// metadata.version. `where` names the directory.
Result<void> check_finalized_features(const std::map<std::string, std::int16_t>& features, std::string_view where);

}  // namespace cordwood::broker::metadata
