#include "broker/metadata/quorum_state.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "io/memory_file_system.h"

namespace cordwood::broker::metadata {
namespace {

// Both lines were written by Kafka 4.4.0.
constexpr const char* kStatic =
    R"({"clusterId":"","leaderId":1,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0})";
constexpr const char* kDynamic =
    R"({"leaderId":1,"leaderEpoch":3,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1})";

TEST(QuorumState, ReadsAndWritesWhatKafkaWrote) {
  for (const char* text : {kStatic, kDynamic}) {
    Result<QuorumState> state = parse_quorum_state(text, "quorum-state");
    ASSERT_TRUE(state) << state.error().message();
    EXPECT_EQ(state->leader, NodeId{1});
    EXPECT_EQ(state->leader_epoch, 3);
    EXPECT_EQ(state->voted, std::nullopt);
    EXPECT_EQ(format_quorum_state(*state), text);
  }
  EXPECT_EQ(parse_quorum_state(kStatic, "")->voters, std::vector{NodeId{1}});
  EXPECT_EQ(parse_quorum_state(kDynamic, "")->version, 1);
}

TEST(QuorumState, ReadsWhatIsLeftOutAsNobody) {
  Result<QuorumState> state = parse_quorum_state(R"({"data_version":0,"leaderEpoch":-1,"currentVoters":null})", "");
  ASSERT_TRUE(state);
  EXPECT_EQ(*state, (QuorumState{.version = 0, .leader = {}, .voted = {}, .voted_directory = {}, .cluster_id = {}, .voters = {}}));
}

TEST(QuorumState, RefusesWhatItIsNot) {
  struct Case {
    const char* text;
    Errc code;
    const char* part;
  };
  const Case cases[] = {
      {"", Errc::corrupt, "not a JSON object"},
      {"{", Errc::corrupt, "not a JSON object"},
      {"[1]", Errc::corrupt, "not a JSON object"},
      {R"({"data_version":2})", Errc::unsupported, "data_version 2"},
      {R"({"data_version":"1"})", Errc::corrupt, "\"data_version\" is no number"},
      {R"({"leaderEpoch":2147483648})", Errc::corrupt, "\"leaderEpoch\" is no number"},
      {R"({"leaderId":-2})", Errc::corrupt, "\"leaderId\" is no number"},
      {R"({"leaderId":1.5})", Errc::corrupt, "\"leaderId\" is no number"},
      {R"({"data_version":1,"votedDirectoryId":"x"})", Errc::corrupt, "\"votedDirectoryId\" is no id"},
      {R"({"clusterId":7})", Errc::corrupt, "\"clusterId\" is no text"},
      {R"({"currentVoters":1})", Errc::corrupt, "\"currentVoters\" is no list"},
      {R"({"currentVoters":[1]})", Errc::corrupt, "holds something that is no voter"},
      {R"({"currentVoters":[{}]})", Errc::corrupt, "a voter without \"voterId\""},
  };
  for (const Case& c : cases) {
    Result<QuorumState> state = parse_quorum_state(c.text, "dir/quorum-state");
    ASSERT_FALSE(state) << c.text;
    EXPECT_EQ(state.error().code, c.code) << c.text;
    EXPECT_NE(state.error().what.find(c.part), std::string::npos) << state.error().what;
    EXPECT_NE(state.error().what.find("dir/quorum-state"), std::string::npos);
  }
}

TEST(QuorumState, IsReplacedAsAFile) {
  io::MemFileSystem fs;
  ASSERT_TRUE(fs.create_directories("d"));
  EXPECT_EQ(*read_quorum_state(fs, "d"), std::nullopt);
  QuorumState state;
  state.leader = NodeId{7};
  state.leader_epoch = 12;
  ASSERT_TRUE(write_quorum_state(fs, "d", state));
  state.leader_epoch = 13;
  ASSERT_TRUE(write_quorum_state(fs, "d", state));
  EXPECT_EQ(*read_quorum_state(fs, "d"), std::optional(state));
}

}  // namespace
}  // namespace cordwood::broker::metadata
