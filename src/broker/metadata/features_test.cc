#include "broker/metadata/features.h"

#include <gtest/gtest.h>

namespace cordwood::broker::metadata {
namespace {

std::string refusal(const std::map<std::string, std::int16_t>& features) {
  Result<void> verdict = check_finalized_features(features, "dir");
  return verdict ? "" : verdict.error().what;
}

TEST(Features, TakesWhatKafkaDoes) {
  EXPECT_EQ(refusal({{"metadata.version", 7}}), "");
  EXPECT_EQ(refusal({{"metadata.version", 33}, {"share.version", 2}, {"kraft.version", 1}, {"streams.version", 1}}), "");
  EXPECT_EQ(refusal({{"metadata.version", 25}, {"never.heard.of", 0}}), "");
}

TEST(Features, NamesEverythingThatIsAboveUs) {
  EXPECT_EQ(refusal({{"metadata.version", 34}}), "dir needs metadata.version at level 34, where levels 7 to 33 are supported");
  EXPECT_EQ(refusal({{"metadata.version", 6}}), "dir needs metadata.version at level 6, where levels 7 to 33 are supported");
  EXPECT_EQ(refusal({{"metadata.version", 33}, {"share.version", 3}, {"new.one", 1}}),
            "dir needs new.one at level 1, which is not known and share.version at level 3, where levels 0 to 2 are supported");
  EXPECT_EQ(refusal({{"group.version", 1}}), "dir: the metadata names no metadata.version");
}

TEST(Features, NamesLevels) {
  EXPECT_EQ(metadata_version_name(7), "3.3-IV3");
  EXPECT_EQ(metadata_version_name(25), "4.0-IV3");
  EXPECT_EQ(metadata_version_name(33), "4.4-IV2");
  EXPECT_EQ(metadata_version_name(34), "level 34");
  EXPECT_EQ(metadata_version_name(6), "level 6");
}

}  // namespace
}  // namespace cordwood::broker::metadata
