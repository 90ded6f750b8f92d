#include "io/memory_tree.h"

#include <set>

namespace cordwood::io::memory {

void choose_what_comes_before(const std::vector<Change>& changes, std::vector<bool>& chosen) {
  std::set<std::pair<const Node*, std::string>> names;
  for (std::size_t i = changes.size(); i-- > 0;) {
    for (const Assignment& a : changes[i].assignments) {
      if (names.contains({a.directory.get(), a.name})) chosen[i] = true;
    }
    if (!chosen[i]) continue;
    for (const Assignment& a : changes[i].assignments) names.insert({a.directory.get(), a.name});
  }
}

namespace {

using Entries = std::map<std::string, NodePointer>;

NodePointer build(const Node& node, const std::map<const Node*, Entries>& changed, Random& random) {
  auto built = std::make_shared<Node>();
  built->modified = node.modified;
  if (!node.is_directory()) {
    built->content = node.content->after_power_cut(random);
    return built;
  }
  auto found = changed.find(&node);
  const Entries& entries = found == changed.end() ? node.durable_entries : found->second;
  for (const auto& [name, child] : entries) built->entries[name] = build(*child, changed, random);
  built->durable_entries = built->entries;
  return built;
}

}  // namespace

NodePointer tree_after_power_cut(const NodePointer& root, const std::vector<Change>& changes,
                                 const std::vector<bool>& chosen, Random& random) {
  std::map<const Node*, Entries> changed;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!chosen[i]) continue;
    for (const Assignment& a : changes[i].assignments) {
      Entries& entries = changed.try_emplace(a.directory.get(), a.directory->durable_entries).first->second;
      if (a.node) {
        entries[a.name] = a.node;
      } else {
        entries.erase(a.name);
      }
    }
  }
  return build(*root, changed, random);
}

namespace {

class Copier {
 public:
  NodePointer copy(const NodePointer& node) {
    if (!node) return nullptr;
    auto [known, is_new] = copies_.try_emplace(node.get());
    if (!is_new) return known->second;
    auto twin = std::make_shared<Node>();
    known->second = twin;
    twin->modified = node->modified;
    if (node->content) twin->content = node->content->copy();
    for (const auto& [name, child] : node->entries) twin->entries[name] = copy(child);
    for (const auto& [name, child] : node->durable_entries) twin->durable_entries[name] = copy(child);
    return twin;
  }

 private:
  std::map<const Node*, NodePointer> copies_;
};

}  // namespace

std::pair<NodePointer, std::vector<Change>> copy_tree(const NodePointer& root, const std::vector<Change>& changes) {
  Copier copier;
  std::pair<NodePointer, std::vector<Change>> result;
  result.first = copier.copy(root);
  for (const Change& change : changes) {
    Change& twin = result.second.emplace_back();
    for (const Assignment& a : change.assignments) {
      twin.assignments.push_back({copier.copy(a.directory), a.name, copier.copy(a.node)});
    }
  }
  return result;
}

}  // namespace cordwood::io::memory
