// broker/metadata/directory_identity.h — are these log directories one broker's, and ours? Formats empty ones.
//
// Says no, with a sentence, to whatever would end in data being hidden: a directory without meta.properties beside
// formatted ones, another node's or cluster's directory, partitions without any identity, a metadata log in two places.
// Partitions in formatted directories whose metadata log lies elsewhere or is lost are taken over, each with a log line.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "broker/metadata/controller.h"
#include "broker/metadata/metadata_record.h"
#include "storage/log_manager.h"

namespace cordwood::broker::metadata {

struct DirectoryIdentity {
  std::string cluster_id;
  io::Path metadata_dir;        // the log directory of __cluster_metadata-0
  Uuid metadata_directory_id;
  // Topics and partitions of directories that came without a metadata log (adoption.h); for the log's first records.
  std::vector<MetadataRecord> adopted;
};

// Writes what a formatted directory needs where nothing is: meta.properties everywhere, the bootstrap files in the
// metadata log directory. Errors: invalid (see above), io.
Result<DirectoryIdentity> identify_directories(const storage::LogEnvironment& environment, storage::LogManager& logs,
                                               const ControllerOptions& options);

}  // namespace cordwood::broker::metadata
