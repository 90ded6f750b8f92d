#include "inspector/demos/demos.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

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

Result<std::shared_ptr<const api::Demo>> Demos::run_once(std::size_t number) {
  MutexLock lock(mu_);
  kept_.resize(std::size(kDemoScripts));
  if (!kept_[number]) kept_[number] = std::make_shared<const api::Demo>(TRY(kDemoScripts[number].run()));
  return kept_[number];
}

Result<api::DemoList> Demos::list() {
  api::DemoList list;
  for (std::size_t i = 0; i < std::size(kDemoScripts); ++i) {
    const auto demo = TRY(run_once(i));
    list.rows.push_back({demo->name, demo->title, demo->question, static_cast<std::int64_t>(demo->steps.size())});
  }
  return list;
}

Result<api::Demo> Demos::run(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kDemoScripts); ++i) {
    if (name == kDemoScripts[i].name) return *TRY(run_once(i));
  }
  return Error{Errc::not_found, fmt::format("there is no demo {:?}", name)};
}

}  // namespace cordwood::inspector
