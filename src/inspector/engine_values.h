// inspector/engine_values.h — the engine's own values as the API has them, for views and demos alike.
#pragma once

#include <string>
#include <vector>

#include "inspector/api.h"
#include "storage/lookup_trace.h"
#include "storage/retention.h"

namespace cordwood::inspector {

// The steps, what they read, and what the last one answers: `found` and what was found. The question, the time it took and `says` are
// left alone.
void tell_steps(const std::vector<storage::LookupStep>& steps, api::Lookup& into);

api::SegmentVerdict shown_verdict(const storage::RetentionVerdict& verdict, std::string says);

}  // namespace cordwood::inspector
