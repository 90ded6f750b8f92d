#include "broker/view.h"

#include <algorithm>

#include "broker/broker.h"
#include "broker/configs/topic_configs.h"
#include "broker/groups/coordinator.h"
#include "broker/handlers/api_table.h"

namespace cordwood::broker {

const Config& View::config() const { return broker_.config(); }
std::shared_ptr<const metadata::Image> View::image() const { return broker_.image(); }
const std::string& View::cluster_id() const { return broker_.controller().cluster_id(); }
std::vector<std::shared_ptr<Partition>> View::partitions() const { return broker_.partitions().all(); }
std::shared_ptr<Partition> View::find(const TopicPartition& partition) const { return broker_.partitions().find(partition); }
bool View::is_loading(const TopicPartition& partition) const {
  return broker_.partitions().is_loading(partition.topic, partition.partition);
}
std::shared_ptr<const storage::PartitionLog> View::metadata_log() const { return broker_.controller().metadata_log(); }
std::vector<storage::LogDirectory> View::directories() const { return broker_.logs().directories(); }
io::FileSystem& View::files() const { return *broker_.environment().fs; }

std::vector<GroupView> View::groups() const { return broker_.groups().view_all(); }
std::optional<GroupView> View::group(const std::string& id) const { return broker_.groups().view(id); }
std::vector<CommittedView> View::committed_in(const TopicPartition& partition) const {
  return broker_.groups().view_committed(partition);
}
std::size_t View::group_count() const { return broker_.groups().count(); }

std::optional<storage::CleanerStatus> View::cleaner_status(const TopicPartition& partition) const {
  return broker_.logs().cleaner().status(partition);
}

std::optional<Offset> View::cleaned_to(const TopicPartition& partition) const {
  const std::optional<Uuid> holder = broker_.logs().directory_of(partition);
  if (!holder) return {};
  const std::vector<storage::LogDirectory> all = directories();
  const auto at = std::ranges::find(all, *holder, &storage::LogDirectory::id);
  if (at == all.end()) return {};
  return broker_.logs().cleaner().checkpoint(static_cast<std::size_t>(at - all.begin()), partition);
}

std::vector<std::pair<std::string_view, std::uint64_t>> View::requests() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> counts;
  for (const ApiEntry& api : api_table()) {
    if (const std::uint64_t count = broker_.requests_of(api.key); count > 0) counts.emplace_back(api.name, count);
  }
  return counts;
}

}  // namespace cordwood::broker
