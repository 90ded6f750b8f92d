#include "broker/metadata/quorum_state.h"

#include <boost/json.hpp>

#include "base/bytes.h"

namespace cordwood::broker::metadata {
namespace {

constexpr std::int64_t kNobody = -1;

Error malformed(std::string_view where, std::string_view what) {
  return Error{Errc::corrupt, fmt::format("{}: {}", where, what)};
}

// A whole number in [low, high] under `name`; `absent` when there is no such field.
Result<std::int64_t> integer(const boost::json::object& object, const char* name, std::int64_t absent, std::int64_t low,
                             std::int64_t high, std::string_view where) {
  const boost::json::value* field = object.if_contains(name);
  if (field == nullptr) return absent;
  const std::int64_t* number = field->if_int64();
  if (number == nullptr || *number < low || *number > high) {
    return malformed(where, fmt::format("\"{}\" is no number from {} to {}", name, low, high));
  }
  return *number;
}

Result<std::optional<NodeId>> node(const boost::json::object& object, const char* name, std::string_view where) {
  std::int64_t id = TRY(integer(object, name, kNobody, kNobody, INT32_MAX, where));
  if (id == kNobody) return std::optional<NodeId>{};
  return std::optional<NodeId>{NodeId{static_cast<std::int32_t>(id)}};
}

}  // namespace

std::string format_quorum_state(const QuorumState& state) {
  std::int32_t leader = state.leader ? state.leader->value : static_cast<std::int32_t>(kNobody);
  std::int32_t voted = state.voted ? state.voted->value : static_cast<std::int32_t>(kNobody);
  if (state.version == 1) {
    return fmt::format(R"({{"leaderId":{},"leaderEpoch":{},"votedId":{},"votedDirectoryId":"{}","data_version":1}})", leader,
                       state.leader_epoch, voted, state.voted_directory.to_string());
  }
  std::string voters;
  for (NodeId voter : state.voters) {
    voters += fmt::format(R"({}{{"voterId":{}}})", voters.empty() ? "" : ",", voter.value);
  }
  return fmt::format(
      R"({{"clusterId":{},"leaderId":{},"leaderEpoch":{},"votedId":{},"appliedOffset":{},"currentVoters":[{}],"data_version":0}})",
      boost::json::serialize(boost::json::string(state.cluster_id)), leader, state.leader_epoch, voted,
      state.applied_offset, voters);
}

Result<QuorumState> parse_quorum_state(std::string_view text, std::string_view where) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse(text, error);
  if (error || !value.is_object()) return malformed(where, "not a JSON object");
  const boost::json::object& object = value.get_object();

  QuorumState state;
  std::int64_t version = TRY(integer(object, "data_version", 0, INT16_MIN, INT16_MAX, where));
  if (version != 0 && version != 1) {
    return Error{Errc::unsupported, fmt::format("{}: data_version {}; versions 0 and 1 are known", where, version)};
  }
  state.version = static_cast<int>(version);
  state.leader = TRY(node(object, "leaderId", where));
  // -1 in a file written before any election; there is no epoch below 0.
  state.leader_epoch =
      static_cast<std::int32_t>(std::max<std::int64_t>(0, TRY(integer(object, "leaderEpoch", 0, -1, INT32_MAX, where))));
  state.voted = TRY(node(object, "votedId", where));
  if (version == 1) {
    if (const auto* directory = object.if_contains("votedDirectoryId")) {
      std::optional<Uuid> id = directory->is_string() ? Uuid::parse(std::string_view(directory->get_string())) : std::nullopt;
      if (!id) return malformed(where, "\"votedDirectoryId\" is no id");
      state.voted_directory = *id;
    }
    return state;
  }
  if (const auto* cluster = object.if_contains("clusterId")) {
    if (!cluster->is_string()) return malformed(where, "\"clusterId\" is no text");
    state.cluster_id = std::string_view(cluster->get_string());
  }
  state.applied_offset = TRY(integer(object, "appliedOffset", 0, INT64_MIN, INT64_MAX, where));
  if (const auto* voters = object.if_contains("currentVoters"); voters != nullptr && !voters->is_null()) {
    if (!voters->is_array()) return malformed(where, "\"currentVoters\" is no list");
    for (const auto& voter : voters->get_array()) {
      if (!voter.is_object()) return malformed(where, "\"currentVoters\" holds something that is no voter");
      std::optional<NodeId> id = TRY(node(voter.get_object(), "voterId", where));
      if (!id) return malformed(where, "a voter without \"voterId\"");
      state.voters.push_back(*id);
    }
  }
  return state;
}

Result<std::optional<QuorumState>> read_quorum_state(io::FileSystem& fs, const io::Path& directory) {
  io::Path path = io::join(directory, kQuorumStateFile);
  if (!TRY(fs.exists(path))) return std::optional<QuorumState>{};
  ByteVector bytes = TRY(io::read_file(fs, path, {MiB}));
  return std::optional<QuorumState>{TRY(parse_quorum_state(as_text(bytes), path))};
}

Result<void> write_quorum_state(io::FileSystem& fs, const io::Path& directory, const QuorumState& state) {
  std::string text = format_quorum_state(state);
  return io::write_file_atomically(fs, io::join(directory, kQuorumStateFile), as_bytes(text));
}

}  // namespace cordwood::broker::metadata
