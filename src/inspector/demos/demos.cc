#include "inspector/demos/demos.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "inspector/demos/scripts.h"

namespace cordwood::inspector {
namespace {

struct DemoScript {
  const char* name;
  Result<api::Demo> (*run)();
};

constexpr DemoScript kDemoScripts[] = {
    {"append_and_roll", demos::append_and_roll},
    {"find_an_offset", demos::find_an_offset},
    {"find_by_time", demos::find_by_time},
    {"retention_by_time", demos::retention_by_time},
    {"retention_by_size", demos::retention_by_size},
    {"lost_position", demos::lost_position},
    {"keys_and_partitions", demos::keys_and_partitions},
    {"compaction", demos::compaction},
    {"crash_and_recovery", demos::crash_and_recovery},
    {"a_transaction", demos::a_transaction},
};

}  // namespace

Result<api::DemoList> list_demos() {
  api::DemoList list;
  for (const DemoScript& script : kDemoScripts) {
    api::Demo demo = TRY(script.run());
    list.rows.push_back({std::move(demo.name), std::move(demo.title), std::move(demo.question),
                         static_cast<std::int64_t>(demo.steps.size())});
  }
  return list;
}

Result<api::Demo> run_demo(std::string_view name) {
  for (const DemoScript& script : kDemoScripts) {
    if (name == script.name) return script.run();
  }
  return Error{Errc::not_found, fmt::format("there is no demo {:?}", name)};
}

}  // namespace cordwood::inspector
