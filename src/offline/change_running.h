// offline/change_running.h — roll, retain, compact and reindex of a broker that runs: asked of it over its inspector, since it holds the
// directories and does by the same code what the commands do on a stopped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/inspector_client.h"
#include "cli/session.h"

namespace cordwood::offline {

struct RunningChange {
  std::string_view command;  // "roll", "retain", "compact", "reindex": the endpoint's word as well
  cli::InspectorAddress inspector;
  std::vector<std::string> choices;  // as parse_choice() takes them; empty: all partitions
  bool json = false;
  bool force = false;    // compact
  bool dry_run = false;  // retain and compact only
};

// Prints a line for each partition, as the command does on a directory, and goes on after one that fails. Answers the exit code: 1
// when one has failed. Errors: those of InspectorClient before the first; not_found when a choice names nothing; invalid.
Result<int> change_running(const RunningChange& change, cli::Session& session);

}  // namespace cordwood::offline
