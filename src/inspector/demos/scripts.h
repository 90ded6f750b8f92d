// inspector/demos/scripts.h — the demos one by one; demos.h is for everybody else.
//
// Errors: those of the engine, none of which is expected.
#pragma once

#include "base/result.h"
#include "inspector/api.h"

namespace cordwood::inspector::demos {

Result<api::Demo> append_and_roll();
Result<api::Demo> find_an_offset();
Result<api::Demo> find_by_time();
Result<api::Demo> retention_by_time();
Result<api::Demo> retention_by_size();
Result<api::Demo> lost_position();
Result<api::Demo> keys_and_partitions();
Result<api::Demo> compaction();
Result<api::Demo> crash_and_recovery();
Result<api::Demo> a_transaction();

}  // namespace cordwood::inspector::demos
