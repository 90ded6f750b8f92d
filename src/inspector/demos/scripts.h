// inspector/demos/scripts.h — the demos one by one; demos.h is for everybody else.
//
// Errors: those of the engine, none of which is expected.
#pragma once

#include "base/result.h"
#include "inspector/api.h"

namespace cordwood::inspector::demos {

Result<api::Demo> append_and_roll();

}  // namespace cordwood::inspector::demos
