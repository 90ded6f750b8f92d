// inspector/directory_source.h — data directories as a Source: names and sizes at once, a log only when a view of it is wanted.
//
// Nothing on the disk is changed: a log is opened by the broker's own code on a file system that keeps all changes in memory. The
// directories may grow, be damaged or go away meanwhile: they are looked at again now and then, and what cannot be shown is told.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "inspector/directory_groups.h"
#include "inspector/source.h"
#include "io/file_system.h"
#include "offline/data_directory.h"
#include "storage/open_files.h"

namespace cordwood::inspector {

class DirectorySource final : public Source {
 public:
  // `dirs` and `config_file` as open_data_directory() takes them. `fs`, `clock` and `random` must outlive it. Errors: those of
  // open_data_directory().
  static Result<std::unique_ptr<DirectorySource>> open(io::FileSystem& fs, const Clock& clock, Random& random, std::string dirs,
                                                       std::optional<std::string> config_file);
  ~DirectorySource() override;

  api::Mode mode() const override { return api::Mode::directory; }
  api::About about() override;
  std::shared_ptr<const TopicTable> topics() override;
  std::string cleanup_policy(const std::string& topic) override;
  Result<api::Topic> topic(const std::string& name) override;
  Result<PartitionAt> partition(const TopicPartition& partition) override;
  std::shared_ptr<const storage::PartitionLog> log(const TopicPartition& partition) override;
  PartitionBounds bounds(const TopicPartition& partition) override;
  std::vector<storage::RetentionVerdict> retention(const TopicPartition& partition, TimestampMs now) override;
  Result<std::vector<GroupFacts>> groups() override;
  Result<GroupFacts> group(const std::string& name) override;
  std::optional<api::PartitionTick> partition_tick(const TopicPartition& partition) override;

 private:
  struct Look;    // the directories as they were at one time
  struct Opened;  // a log
  struct Slot;    // where one is opened

  DirectorySource(io::FileSystem& fs, const Clock& clock, Random& random, std::string dirs, std::optional<std::string> config_file);
  Result<std::shared_ptr<const Look>> look_now();
  // The last look, or another one where that is old.
  std::shared_ptr<const Look> look();
  std::shared_ptr<Opened> open_log(const std::shared_ptr<const Look>& look, const offline::PartitionOnDisk& on_disk);
  std::shared_ptr<const DirectoryGroups> groups_of(const std::shared_ptr<const Look>& look);

  io::FileSystem& fs_;
  const Clock& clock_;
  Random& random_;
  const std::string dirs_;
  const std::optional<std::string> config_file_;
  const std::shared_ptr<storage::OpenFiles> open_files_;

  Mutex mu_;  // nothing is read under it
  std::shared_ptr<const Look> look_ GUARDED_BY(mu_);
  MonotonicNs looked_ GUARDED_BY(mu_){0};
  DurationNs look_took_ GUARDED_BY(mu_){0};
  bool looking_ GUARDED_BY(mu_) = false;
  std::string why_old_ GUARDED_BY(mu_);  // the last look failed
  std::map<io::Path, std::string> notes_ GUARDED_BY(mu_);  // of partitions that were opened otherwise than at a start
  std::list<std::shared_ptr<Slot>> slots_ GUARDED_BY(mu_);  // the last used first
  Mutex groups_mu_;  // they are read under it: by one, for all who ask
  std::shared_ptr<const Look> groups_look_ GUARDED_BY(groups_mu_);
  std::shared_ptr<const DirectoryGroups> groups_ GUARDED_BY(groups_mu_);
};

}  // namespace cordwood::inspector
