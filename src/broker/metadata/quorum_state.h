// broker/metadata/quorum_state.h — the file quorum-state: who leads the metadata quorum, in which epoch.
//
// One line of JSON without a line end, "data_version" 0 (static quorum, with the voters' ids) or 1 (voters in the log):
//   {"leaderId":1,"leaderEpoch":3,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}
//
// Cheap insurance, never the truth: the log's own epoch counts when the file is absent or lower; a higher epoch in it is
// honoured (seen on Kafka 4.4.0). Replaced atomically.   Format: docs/formats/metadata_log.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "io/file_system.h"

namespace cordwood::broker::metadata {

inline constexpr const char* kQuorumStateFile = "quorum-state";

struct QuorumState {
  int version = 1;
  std::optional<NodeId> leader;            // the file's -1 is absent
  std::int32_t leader_epoch = 0;
  std::optional<NodeId> voted;             // the file's -1 is absent
  Uuid voted_directory;                    // version 1
  std::string cluster_id;                  // version 0; Kafka leaves it empty
  std::int64_t applied_offset = 0;         // version 0
  std::vector<NodeId> voters;              // version 0
  bool operator==(const QuorumState&) const = default;
};

std::string format_quorum_state(const QuorumState& state);
// `where` names the file in errors. Errors: corrupt (no JSON, a field of another type), unsupported for other versions.
Result<QuorumState> parse_quorum_state(std::string_view text, std::string_view where);

// Absent: nullopt.
Result<std::optional<QuorumState>> read_quorum_state(io::FileSystem& fs, const io::Path& directory);
Result<void> write_quorum_state(io::FileSystem& fs, const io::Path& directory, const QuorumState& state);

}  // namespace cordwood::broker::metadata
