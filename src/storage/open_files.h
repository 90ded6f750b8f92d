// storage/open_files.h — a bound on how many segments hold descriptors and mappings.
//
// A segment opens what it needs when it needs it, and reports itself here. When there are more than the bound allows, the
// ones that were not used lately are closed again (as a clock does it: a hand goes round, and who was used since its last
// visit is passed over once). What is closed is opened again by its next use; whoever still reads from it keeps what
// they hold.
//
// Records that no fsync has seen are synced before their file is closed: the kernel may tell of a failed write-back only
// to those who had the file open when it happened. So segments without such records go first.
//
// Threads: safe for all. Lock order: the log's, then this, then the segment's.
#pragma once

#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"

namespace cordwood::storage {

class OpenFiles {
 public:
  // Something that opens on demand: at most two descriptors and two mappings.
  class Holder {
   public:
    virtual ~Holder() = default;
    virtual bool take_used() = 0;        // whether it was used since the last call
    virtual bool has_unsynced() const = 0;
    virtual bool close_files() = 0;      // false when it could not; it then stays open
  };

  explicit OpenFiles(std::size_t at_most) : at_most_(at_most) {}

  // It holds something now. Not while a lock of its own is held.
  void opened(std::weak_ptr<Holder> holder);
  // The process ran out of descriptors or mappings: closes an eighth of all, used or not. False when nothing was closed.
  bool make_room();
  // Closes what was not used since the last call. Of those with unsynced records, whose closing costs an fsync each, no more
  // than `at_most_syncs`: the next call comes to the others.
  void close_idle(std::size_t at_most_syncs);
  std::size_t count() const;

 private:
  enum class Visit { spare_used, take_any };
  // Takes the next one to be closed out of the ring. Null when a dead one made room, or none is left.
  std::shared_ptr<Holder> pick(Visit visit) REQUIRES(mu_);
  void take_out(std::size_t place) REQUIRES(mu_);
  bool close(const std::shared_ptr<Holder>& holder);

  const std::size_t at_most_;
  mutable Mutex mu_;
  std::vector<std::weak_ptr<Holder>> ring_ GUARDED_BY(mu_);
  std::size_t hand_ GUARDED_BY(mu_) = 0;
};

// EMFILE, ENFILE and, of a mapping, ENOMEM: no fault of the disk, and over when something is closed.
bool is_out_of_descriptors(const Error& error);

// Runs `action`, and once more when it ran out of descriptors and room could be made.
template <class Action>
auto with_room(OpenFiles* files, Action action) {
  auto result = action();
  if (!result && files != nullptr && is_out_of_descriptors(result.error()) && files->make_room()) return action();
  return result;
}

}  // namespace cordwood::storage
