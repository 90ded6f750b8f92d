#include <fmt/format.h>

#include <algorithm>

#include "broker/metadata/apply.h"
#include "broker/metadata/metadata_log.h"

namespace cordwood::broker::metadata {
namespace {

// What the walk over the log finds, batch by batch.
class Replay {
 public:
  Replay(LoadedMetadata& loaded, Image base) : loaded_(loaded), from_(base.next_offset), builder_(std::move(base)) {}

  Result<void> batch(const record::BatchView& batch, const std::string& where) {
    record::BatchHeader header = batch.header();
    if (header.last_offset() < from_) return {};
    BatchVisitor visitor;
    visitor.metadata = [&](const MetadataRecord& record, Offset offset) -> Result<void> {
      if (offset < from_) return {};
      TRY(builder_.apply(record));
      // Records of a transaction count when it ends; an aborted one leaves the log as good as empty.
      bool aborts = std::holds_alternative<AbortTransactionRecord>(record.body);
      if (!aborts && !builder_.in_transaction()) loaded_.has_records = true;
      return {};
    };
    visitor.control = [&](const ControlRecord& record, Offset offset) -> Result<void> {
      if (offset >= from_) control(record);
      return {};
    };
    TRY(decode_batch(batch, where, visitor));
    builder_.set_position(header.next_offset(), header.partition_leader_epoch);
    loaded_.bytes_since_snapshot += header.total_size();
    return {};
  }

  void finish() {
    loaded_.in_transaction = builder_.in_transaction();
    loaded_.image = builder_.take();
  }

 private:
  void control(const ControlRecord& record) {
    builder_.apply(record);
    if (std::holds_alternative<VotersRecord>(record)) loaded_.voters_in_log = true;
    if (const auto* change = std::get_if<LeaderChangeMessage>(&record)) {
      loaded_.leader_change_voters.clear();
      for (const auto& voter : change->voters) loaded_.leader_change_voters.push_back(NodeId{voter.voter_id});
    }
  }

  LoadedMetadata& loaded_;
  Offset from_;
  ImageBuilder builder_;
};

// What lies in front of a first start. The legacy file goes first, as in Kafka 4.4.
Result<void> read_bootstrap(io::FileSystem& fs, const io::Path& log_dir, LoadedMetadata& loaded) {
  io::Path legacy = io::join(log_dir, kBootstrapCheckpoint);
  io::Path zero = io::join(loaded.directory, snapshot_file_name({}));
  bool has_zero = TRY(fs.exists(zero));
  if (has_zero) {
    SnapshotContent content = TRY(read_snapshot_file(fs, zero));
    if (!loaded.voters_in_log && content.kraft_version) {
      loaded.image.kraft_version = *content.kraft_version;
      loaded.image.voters = content.voters;
    }
    if (!loaded.has_records) loaded.bootstrap = std::move(content.records);
  }
  if (loaded.has_records) return {};
  if (TRY(fs.exists(legacy))) loaded.bootstrap = TRY(read_snapshot_file(fs, legacy)).records;
  return {};
}

std::string list_nodes(const std::vector<NodeId>& nodes) {
  std::string text;
  for (NodeId node : nodes) text += fmt::format("{}{}", text.empty() ? "" : ", ", node);
  return text;
}

Error other_voters(const io::Path& directory, const std::vector<NodeId>& voters, NodeId us) {
  return Error{Errc::invalid, fmt::format("{} belongs to a cluster whose metadata quorum has the voters {}; node {} must not "
                                          "lead it alone",
                                          directory, list_nodes(voters), us)};
}

}  // namespace

Result<LoadedMetadata> load_metadata(io::FileSystem& fs, const io::Path& log_dir, Logger& logger) {
  LoadedMetadata loaded;
  loaded.directory = io::join(log_dir, kMetadataPartition);
  Image base;
  if (TRY(fs.exists(loaded.directory))) {
    if (auto snapshot = TRY(load_newest_snapshot(fs, loaded.directory, logger))) {
      loaded.snapshot = snapshot->id;
      loaded.has_records = true;
      loaded.voters_in_log = !snapshot->image.voters.empty();
      base = std::move(snapshot->image);
    }
    Offset from = base.next_offset;
    Replay replay(loaded, std::move(base));
    auto visit = [&](const record::BatchView& batch, const std::string& where) { return replay.batch(batch, where); };
    loaded.walk = TRY(walk_metadata_log(fs, loaded.directory, visit, from));
    replay.finish();
    if (loaded.walk.start > from) {
      return Error{Errc::corrupt, fmt::format("{}: the log starts at offset {}, and no complete snapshot covers what is below",
                                              loaded.directory, loaded.walk.start)};
    }
    if (loaded.snapshot && loaded.walk.has_files && loaded.walk.end < from) {
      return Error{Errc::corrupt,
                   fmt::format("{} is a snapshot up to offset {}, but the log ends at {}: it was left over or copied from "
                               "elsewhere, or the log was cut",
                               io::join(loaded.directory, snapshot_file_name(*loaded.snapshot)), from, loaded.walk.end)};
    }
    loaded.quorum_state = TRY(read_quorum_state(fs, loaded.directory));
  }
  loaded.epoch = std::max(loaded.walk.last_epoch, loaded.image.epoch);
  if (loaded.quorum_state) loaded.epoch = std::max(loaded.epoch, loaded.quorum_state->leader_epoch);
  TRY(read_bootstrap(fs, log_dir, loaded));
  return loaded;
}

Result<void> check_sole_voter(const LoadedMetadata& loaded, NodeId us, Uuid metadata_directory_id) {
  const std::vector<NodeId> only_us{us};
  if (loaded.image.kraft_version == 0) {
    if (loaded.quorum_state && !loaded.quorum_state->voters.empty() && loaded.quorum_state->voters != only_us) {
      return other_voters(loaded.directory, loaded.quorum_state->voters, us);
    }
    if (!loaded.leader_change_voters.empty() && loaded.leader_change_voters != only_us) {
      return other_voters(loaded.directory, loaded.leader_change_voters, us);
    }
    return {};
  }
  std::vector<NodeId> voters;
  for (const Voter& voter : loaded.image.voters) voters.push_back(voter.id);
  if (voters != only_us) return other_voters(loaded.directory, voters, us);
  const Voter& voter = loaded.image.voters.front();
  if (voter.directory_id != metadata_directory_id) {
    return Error{Errc::invalid, fmt::format("{}: the voter is directory {}, but meta.properties says that this is directory {}",
                                            loaded.directory, voter.directory_id.to_string(),
                                            metadata_directory_id.to_string())};
  }
  return {};
}

}  // namespace cordwood::broker::metadata
