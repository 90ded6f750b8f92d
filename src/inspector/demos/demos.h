// inspector/demos/demos.h — the guided demos: scripts of real calls of the engine on a file system in memory, with a clock that is
// told the time. Each answers its steps all at once, and the same ones every time.
//
// What a demo makes is its own and gone when it returns. One of them (lost_position) starts a broker in memory, with the threads of a
// broker, and waits for its answers.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "inspector/api.h"

namespace cordwood::inspector {

// A demo is run when it is asked for first, and kept. Threads: any; two that ask at once wait for each other.
class Demos {
 public:
  // In the order in which they are meant to be seen. Errors: those of a demo, which would be a bug of ours.
  Result<api::DemoList> list();
  // Errors: not_found for another name than those of the list.
  Result<api::Demo> run(std::string_view name);

 private:
  Result<std::shared_ptr<const api::Demo>> run_once(std::size_t number);

  Mutex mu_;
  std::vector<std::shared_ptr<const api::Demo>> kept_ GUARDED_BY(mu_);
};

}  // namespace cordwood::inspector
