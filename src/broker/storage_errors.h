// broker/storage_errors.h — what goes wrong in storage/ and record/, in the codes a client gets. The only such mapping.
#pragma once

#include "base/result.h"
#include "protocol/error_code.h"
#include "record/validation.h"
#include "storage/partition_log.h"

namespace cordwood::broker {

// Of a failed read, lookup or change of a log.
protocol::ErrorCode error_code_of(Errc code);
// Of an append; `result.fault` must not be none.
protocol::ErrorCode error_code_of(const storage::AppendResult& result);
protocol::ErrorCode error_code_of(record::ProduceFault fault);

// Whether the log directory can no longer be trusted: a system call failed, or a file of ours was not there (or was, and
// should not be). Not for a request that asked too much.
bool takes_directory_offline(Errc code);

}  // namespace cordwood::broker
