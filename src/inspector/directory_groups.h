// inspector/directory_groups.h — the groups of a data directory, out of the records of its __consumer_offsets partitions.
#pragma once

#include <string>
#include <vector>

#include "inspector/source.h"
#include "io/file_system.h"
#include "offline/data_directory.h"

namespace cordwood::inspector {

struct DirectoryGroups {
  std::vector<GroupFacts> groups;  // by name, with their members
  std::vector<std::string> warnings;
};

// Reads no more than kMostGroupBytes: of a directory with more, the newest records are left out and that is told. Damage is
// passed over and told.
inline constexpr ByteCount kMostGroupBytes{256 * MiB};
DirectoryGroups read_groups(io::FileSystem& fs, const offline::DataDirectory& data);

}  // namespace cordwood::inspector
