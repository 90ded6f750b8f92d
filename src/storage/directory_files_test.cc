#include "storage/directory_files.h"

#include <gtest/gtest.h>

#include "io/faulty_file_system.h"
#include "io/memory_file_system.h"

namespace cordwood::storage {
namespace {

struct DirectoryFilesTest : testing::Test {
  io::MemFileSystem fs;
  DirectoryFilesTest() { fs.create_directories("/d").value(); }
  void put(const char* name, std::string_view text) {
    io::write_file_atomically(fs, io::join("/d", name), as_bytes(text)).value();
  }
  std::string text(const char* name) {
    ByteVector bytes = io::read_file(fs, io::join("/d", name)).value();
    return std::string(as_text(bytes));
  }
};

struct Case {
  std::string_view text, expected;
};

std::string describe(std::string_view text) {
  auto read = parse_meta_properties(text, "f");
  if (!read) return fmt::format("<{}> {}", to_string(read.error().code), read.error().what);
  return fmt::format("{} {} {}", read->cluster_id, read->node_id,
                     read->directory_id ? read->directory_id->to_string() : "-");
}

TEST_F(DirectoryFilesTest, ReadsMetaProperties) {
  for (Case c : {
           Case{"#\n#Sun Nov 29 22:36:17 UTC 2026\nnode.id=1\ndirectory.id=qGYV1OKYTqy5_YWoP3MXRw\nversion=1\n"
                "cluster.id=Z29sZGVuLXNldC1vbmUtMQ\n",
                "Z29sZGVuLXNldC1vbmUtMQ 1 qGYV1OKYTqy5_YWoP3MXRw"},
           {"version=1\ncluster.id=c\nnode.id=1\n", "c 1 -"},
           {"version= 1 \ncluster.id = my cluster \nnode.id=+01\nbroker.id=2", "my cluster  1 -"},
           {"version=1\ncluster.id=a\\\n  b\nnode.id=1\n", "ab 1 -"},
           {"cluster.id=c\nnode.id=1\n", "<unsupported> f: version 0, of which only 1 is served"},
           {"version=0\ncluster.id=c\nbroker.id=1\n", "<unsupported> f: version 0, of which only 1 is served"},
           {"version=2\ncluster.id=c\nnode.id=1\n", "<unsupported> f: version 2, of which only 1 is served"},
           {"version=x\n", "<corrupt> f: version is 'x'"},
           {"version=1\nnode.id=1\n", "<corrupt> f: cluster.id is missing"},
           {"version=1\ncluster.id=\nnode.id=1\n", "<corrupt> f: cluster.id is ''"},
           {"version=1\ncluster.id=c\n", "<corrupt> f: node.id is missing"},
           {"version=1\ncluster.id=c\nnode.id=x\n", "<corrupt> f: node.id is 'x'"},
           {"version=1\ncluster.id=c\nnode.id=-1\n", "<corrupt> f: node.id is '-1'"},
           {"version=1\ncluster.id=c\nnode.id=1 \n", "<corrupt> f: node.id is '1 '"},
           {"version=1\ncluster.id=c\nnode.id=2147483648\n", "<corrupt> f: node.id is '2147483648'"},
           {"version=1\ncluster.id=c\nnode.id=1\ndirectory.id=x\n", "<corrupt> f: directory.id is 'x'"},
           {"version=1\ncluster.id=c\nnode.id=1\ndirectory.id=\n", "<corrupt> f: directory.id is ''"},
           {"version=1\ncluster.id=c\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n",
            "<corrupt> f: directory.id is 'AAAAAAAAAAAAAAAAAAAAAQ'"},
           {"version=1\ncluster.id=\\u00\n", "<corrupt> f: malformed \\uxxxx in '\\u00'"},
       }) {
    EXPECT_EQ(describe(c.text), c.expected) << c.text;
  }
}

TEST_F(DirectoryFilesTest, WritesMetaPropertiesAsJavaDoes) {
  MetaProperties properties{.cluster_id = "Z29sZGVuLXNldC1vbmUtMQ",
                            .node_id = {1},
                            .directory_id = Uuid::parse("qGYV1OKYTqy5_YWoP3MXRw")};
  EXPECT_FALSE(*read_meta_properties(fs, "/d"));
  write_meta_properties(fs, "/d", properties, {1'796'078'177'000}).value();
  EXPECT_EQ(text("meta.properties"),
            "#\n#Mon Nov 30 22:36:17 UTC 2026\nnode.id=1\ndirectory.id=qGYV1OKYTqy5_YWoP3MXRw\nversion=1\n"
            "cluster.id=Z29sZGVuLXNldC1vbmUtMQ\n");
  EXPECT_EQ(*read_meta_properties(fs, "/d"), properties);
  properties = {.cluster_id = " strange=\xc3\xa9", .node_id = {7}, .directory_id = {}};
  write_meta_properties(fs, "/d", properties, {0}).value();
  EXPECT_EQ(*read_meta_properties(fs, "/d"), properties);
}

TEST_F(DirectoryFilesTest, AMuchTooLongFileIsNotOneOfThem) {
  put("meta.properties", std::string(100'000, '#'));
  EXPECT_EQ(read_meta_properties(fs, "/d").error().code, Errc::corrupt);
}

TEST_F(DirectoryFilesTest, TheMarkOfACleanShutdownCountsWhateverItHolds) {
  struct Mark {
    std::string_view text;
    std::int64_t epoch;
  };
  // Each as Kafka 4.4.0 reads it, -1 standing for an epoch it does not find.
  for (Mark m : {
           Mark{"{\"version\":0,\"brokerEpoch\":13}", 13},
           {"{\"version\":1,\"brokerEpoch\":13}", 13},
           {"{ \"version\" : 0 , \"brokerEpoch\" : 13 }\n", 13},
           {"{\"version\":0,\"brokerEpoch\":13,\"more\":1}", 13},
           {"{\"version\":0,\"brokerEpoch\":-7}", -7},
           {"{\"version\":0}", -1},
           {"", -1},
           {"x", -1},
           {"[{\"version\":0,\"brokerEpoch\":13}]", -1},
           {"{\"brokerEpoch\"", -1},
           {"{\"brokerEpoch\":", -1},
           {"{\"version\":0,\"brokerEpoch\":99999999999999999999}", -1},
       }) {
    put(".kafka_cleanshutdown", m.text);
    auto read = read_clean_shutdown(fs, "/d").value();
    ASSERT_TRUE(read);
    EXPECT_EQ(read->broker_epoch, m.epoch) << m.text;
  }
}

TEST_F(DirectoryFilesTest, WritesAndRemovesTheMarkForGood) {
  EXPECT_FALSE(*read_clean_shutdown(fs, "/d"));
  EXPECT_TRUE(remove_clean_shutdown(fs, "/d"));
  fs.sync_everything();
  write_clean_shutdown(fs, "/d", {.broker_epoch = 13}).value();
  EXPECT_EQ(text(".kafka_cleanshutdown"), "{\"version\":0,\"brokerEpoch\":13}");
  for (std::uint64_t seed = 0; seed < 50; ++seed) EXPECT_TRUE(*read_clean_shutdown(*fs.crash_clone(seed), "/d"));
  remove_clean_shutdown(fs, "/d").value();
  for (std::uint64_t seed = 0; seed < 50; ++seed) EXPECT_FALSE(*read_clean_shutdown(*fs.crash_clone(seed), "/d"));
}

TEST_F(DirectoryFilesTest, ReadsPartitionMetadataAsKafkaDoes) {
  const std::string id = "iHTAF8SITeeEYAaTyijTZg";
  for (std::string good : {"version: 0\ntopic_id: " + id, "version: 0\ntopic_id: " + id + "\n",
                           "version:  0\ntopic_id:\t " + id, "version : 0\ntopic_id: " + id, "v: 0\nt: " + id,
                           "version: 1\ntopic_id: " + id, "version: 0\r\ntopic_id: " + id + "\r\n",
                           "version: 0\ntopic_id: " + id + "\nmore: 1\n", " version: 0\ntopic_id: " + id}) {
    auto read = parse_partition_metadata(good, "f");
    ASSERT_TRUE(read) << good;
    EXPECT_EQ(read->to_string(), id);
  }
  for (std::string bad :
       {std::string(), std::string("version: 0\n"), "version:0\ntopic_id:" + id, "version: -1\ntopic_id: " + id,
        "version: x\ntopic_id: " + id, "version: 0 \ntopic_id: " + id, "version: 0\ntopic_id: " + id + " \n",
        "topic_id: " + id + "\nversion: 0", std::string("version: 0\ntopic_id: short"),
        std::string("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"), std::string("version: 0\ntopic_id: ")}) {
    auto read = parse_partition_metadata(bad, "f");
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().code, Errc::corrupt);
  }
}

TEST_F(DirectoryFilesTest, WritesPartitionMetadataWithoutALineEnd) {
  EXPECT_FALSE(*read_partition_metadata(fs, "/d"));
  Uuid id = *Uuid::parse("iHTAF8SITeeEYAaTyijTZg");
  write_partition_metadata(fs, "/d", id).value();
  EXPECT_EQ(text("partition.metadata"), "version: 0\ntopic_id: iHTAF8SITeeEYAaTyijTZg");
  EXPECT_EQ(*read_partition_metadata(fs, "/d"), id);
}

TEST_F(DirectoryFilesTest, EveryFailedCallIsAnError) {
  io::FaultyFileSystem faulty(fs);
  auto all_errors = [&](auto work) {
    for (std::int64_t n = 1;; ++n) {
      faulty.arm({.counted = io::FileCall::all, .fail_at = n});
      bool succeeded = work();
      EXPECT_EQ(succeeded, !faulty.has_failed()) << "call " << n;
      if (!faulty.has_failed()) return n;
    }
  };
  MetaProperties properties{.cluster_id = "c", .node_id = {1}, .directory_id = {}};
  EXPECT_EQ(all_errors([&] { return write_meta_properties(faulty, "/d", properties, {0}).has_value(); }), 7);
  EXPECT_EQ(all_errors([&] { return read_meta_properties(faulty, "/d").has_value(); }), 4);
  EXPECT_EQ(all_errors([&] { return write_clean_shutdown(faulty, "/d", {}).has_value(); }), 7);
  EXPECT_EQ(all_errors([&] { return read_clean_shutdown(faulty, "/d").has_value(); }), 4);
  EXPECT_EQ(all_errors([&] { return remove_clean_shutdown(faulty, "/d").has_value(); }), 3);
}

TEST(PartitionDirectoryNames, AreParsed) {
  using Kind = PartitionDirectoryName::Kind;
  struct Name {
    const char *name, *topic;
    std::int32_t partition;
    Kind kind;
  };
  for (Name n : {
           Name{"topic-0", "topic", 0, Kind::current},
           {"a.b-c_d-12", "a.b-c_d", 12, Kind::current},
           {"--1", "-", 1, Kind::current},
           {"topic-2147483647", "topic", 2147483647, Kind::current},
           {"topic-1.0123456789abcdef0123456789abcdef-delete", "topic", 1, Kind::deleted},
           {"to.pic-1.ff-future", "to.pic", 1, Kind::future},
           {"to-pic-1.ff-stray", "to-pic", 1, Kind::stray},
           {"my-delete-3", "my-delete", 3, Kind::current},
       }) {
    auto parsed = parse_partition_directory(n.name);
    ASSERT_TRUE(parsed) << n.name;
    EXPECT_EQ(parsed->partition, (TopicPartition{n.topic, {n.partition}})) << n.name;
    EXPECT_EQ(parsed->kind, n.kind) << n.name;
  }
  for (const char* wrong : {"", "-", "topic", "topic-", "-0", "topic-x", "topic-1x", "topic--", "topic-2147483648",
                            "topic-1-delete", "topic-1.-delete", "topic.ff-delete", "my-delete", "lost+found",
                            "topic-1.ff-deleted", "topic- 1"}) {
    EXPECT_FALSE(parse_partition_directory(wrong)) << wrong;
  }
}

TEST(PartitionDirectoryNames, AreMade) {
  Uuid id{0x0123456789abcdef, 0xfedcba9876543210};
  EXPECT_EQ(deleted_directory_name({"a.b", {3}}, id), "a.b-3.0123456789abcdeffedcba9876543210-delete");
  EXPECT_EQ(stray_directory_name({"a.b", {3}}, id), "a.b-3.0123456789abcdeffedcba9876543210-stray");
  std::string longest = deleted_directory_name({std::string(249, 't'), {12345}}, id);
  EXPECT_EQ(longest.size(), 255u);
  EXPECT_TRUE(longest.ends_with("t-12345.0123456789abcdeffedcba9876543210-delete"));
  EXPECT_TRUE(parse_partition_directory(longest));
  EXPECT_EQ(segment_file_name({0}, ".log"), "00000000000000000000.log");
  EXPECT_EQ(segment_file_name({9223372036854775807}, ".index"), "09223372036854775807.index");
}

}  // namespace
}  // namespace cordwood::storage
