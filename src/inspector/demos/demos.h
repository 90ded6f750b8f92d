// inspector/demos/demos.h — the guided demos: scripts of real calls of the engine on a file system in memory, with a clock that is
// told the time. Each answers its steps all at once, and the same ones every time.
//
// A run takes some milliseconds, and the list runs all of them to count their steps: whoever is asked often keeps the answers.
// Threads: any, several at once; what a demo makes is its own and gone when it returns. One of them (lost_position) starts a broker in
// memory, with the threads of a broker, and waits for its answers.
#pragma once

#include <string_view>

#include "base/result.h"
#include "inspector/api.h"

namespace cordwood::inspector {

// In the order in which they are meant to be seen. Errors: those of a demo, which would be a bug of ours.
Result<api::DemoList> list_demos();
// Errors: not_found for another name than those of the list.
Result<api::Demo> run_demo(std::string_view name);

}  // namespace cordwood::inspector
