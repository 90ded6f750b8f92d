#include "cli/command.h"

#include <algorithm>
#include <utility>

#include "base/edit_distance.h"

namespace cordwood::cli {
CommandList::CommandList(std::vector<const Command*> commands) : commands_(std::move(commands)) {
  std::ranges::sort(commands_, {}, [](const Command* command) { return command->name; });
}

const Command* CommandList::find(std::string_view name) const {
  constexpr std::string_view kScript = ".sh";
  if (name.ends_with(kScript)) name.remove_suffix(kScript.size());
  auto found = std::ranges::find_if(commands_, [&](const Command* command) {
    return command->name == name || (!command->kafka_name.empty() && command->kafka_name == name);
  });
  return found == commands_.end() ? nullptr : *found;
}

std::vector<std::string> nearest_names(std::string_view misspelt, std::span<const std::string_view> names) {
  constexpr std::size_t kMost = 3;
  std::size_t far = std::max<std::size_t>(1, misspelt.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (std::string_view name : names) {
    std::size_t apart = edit_distance(misspelt, name);
    if (apart <= far) near.emplace_back(apart, name);
  }
  std::ranges::sort(near);
  std::vector<std::string> best;
  for (auto& [apart, name] : near) {
    if (best.size() < kMost) best.push_back(std::move(name));
  }
  return best;
}

}  // namespace cordwood::cli
