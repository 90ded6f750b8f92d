// io/memory_tree.h — the names of a MemFileSystem: directories, and the changes to them that a power cut may undo.
//
// Externally locked (by the file system), but for the contents of files.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/types.h"
#include "io/memory_content.h"

namespace cordwood::io::memory {

struct Node {
  std::shared_ptr<FileContent> content;                           // of a file; a directory has none
  std::map<std::string, std::shared_ptr<Node>> entries;           // of a directory, as the programs see it
  std::map<std::string, std::shared_ptr<Node>> durable_entries;   // and as the disk has it
  TimestampMs modified;                                           // of a directory
  bool is_directory() const { return content == nullptr; }
};

using NodePointer = std::shared_ptr<Node>;

// Gives a name in a directory to a node, or to nothing.
struct Assignment {
  NodePointer directory;
  std::string name;
  NodePointer node;
};

// What one call did: happens as a whole or not at all.
struct Change {
  std::vector<Assignment> assignments;
};

// Marks, for each chosen change, the earlier ones that touch the same names: one cannot be on the disk without them.
void choose_what_comes_before(const std::vector<Change>& changes, std::vector<bool>& chosen);

// The tree under `root` after a power cut that kept the `chosen` changes and a random part of the files' contents.
NodePointer tree_after_power_cut(const NodePointer& root, const std::vector<Change>& changes,
                                 const std::vector<bool>& chosen, Random& random);

// A copy of everything, with the same idea of what is durable.
std::pair<NodePointer, std::vector<Change>> copy_tree(const NodePointer& root, const std::vector<Change>& changes);

}  // namespace cordwood::io::memory
