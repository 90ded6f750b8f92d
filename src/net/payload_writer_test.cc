#include "net/payload_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "net/net_testing.h"

namespace cordwood::net {
namespace {

using Progress = PayloadWriter::Progress;

// Takes at most `most_per_call` bytes a call and, when `moody`, none at every second one.
class ScriptedTransport final : public Transport {
 public:
  ByteVector received;
  std::size_t most_per_call = SIZE_MAX;
  bool moody = false;
  bool sends_files = true;
  int fail_with = 0;
  int writes = 0;
  int writes_with_more = 0;
  int files = 0;

  int fd() const override { return -1; }
  Moved read(MutableBytesView) override { return {Moved::Status::would_block, 0, 0}; }
  Moved write(std::span<const BytesView> pieces, More more) override {
    if (auto refused = refuse()) return *refused;
    ++writes;
    writes_with_more += more == More::yes ? 1 : 0;
    std::size_t count = 0;
    for (BytesView piece : pieces) {
      BytesView part = piece.first(std::min(piece.size(), most_per_call - count));
      received.insert(received.end(), part.begin(), part.end());
      count += part.size();
    }
    return {Moved::Status::some, count, 0};
  }
  bool can_send_file() const override { return sends_files; }
  Moved send_file(int file_fd, FilePosition position, ByteCount size) override {
    if (auto refused = refuse()) return *refused;
    ++files;
    ByteVector bytes(std::min(static_cast<std::size_t>(size.value), most_per_call));
    ssize_t count = ::pread(file_fd, bytes.data(), bytes.size(), position.value);
    if (count <= 0) return {Moved::Status::end, 0, 0};
    received.insert(received.end(), bytes.begin(), bytes.begin() + count);
    return {Moved::Status::some, static_cast<std::size_t>(count), 0};
  }

 private:
  std::optional<Moved> refuse() {
    if (fail_with != 0) return Moved{Moved::Status::failed, 0, fail_with};
    if (moody && (refusing_ = !refusing_)) return Moved{Moved::Status::would_block, 0, 0};
    return std::nullopt;
  }
  bool refusing_ = false;
};

// Memory and file pieces of all kinds, and the bytes that must come out.
struct Mixture {
  explicit Mixture(TestFile::Descriptor descriptor = TestFile::Descriptor::shown) {
    ByteVector content = pattern(300 * KiB);
    file = std::make_shared<TestFile>(content, descriptor);
    add_bytes("header");
    add_range(content, 100, 200);               // small
    add_bytes("");
    add_range(content, 1000, 16 * KiB);         // just large enough for sendfile
    add_range(content, 1000, 16 * KiB - 1);     // just not
    add_range(content, 0, 0);
    add_bytes("between");
    add_range(content, 5, 200 * KiB);
    add_range(content, 7, 70 * KiB);
    add_bytes("tail");
  }
  void add_bytes(std::string_view text) {
    payload.pieces.push_back(to_vector(as_bytes(text)));
    expected.insert(expected.end(), as_bytes(text).begin(), as_bytes(text).end());
  }
  void add_range(const ByteVector& content, std::int64_t at, std::int64_t size) {
    payload.pieces.push_back(FileRange{size > 0 ? file : nullptr, {at}, {size}});
    expected.insert(expected.end(), content.begin() + at, content.begin() + at + size);
  }
  ByteVector expected_frame() const {
    ByteWriter writer;
    writer.i32(static_cast<std::int32_t>(expected.size()));
    writer.bytes(expected);
    return writer.take();
  }
  std::shared_ptr<TestFile> file;
  protocol::Payload payload;
  ByteVector expected;
};

TEST(PayloadWriter, SendsMemoryAndFilesInOrderHoweverTheSocketBehaves) {
  for (auto descriptor : {TestFile::Descriptor::shown, TestFile::Descriptor::hidden}) {
    for (bool sends_files : {true, false}) {
      for (std::size_t most : {std::size_t{1000}, std::size_t{4096}, std::size_t{100'001}, SIZE_MAX}) {
        for (bool moody : {false, true}) {
          Mixture mixture(descriptor);
          auto expected = mixture.expected_frame();
          ScriptedTransport transport;
          transport.most_per_call = most;
          transport.sends_files = sends_files;
          transport.moody = moody;
          PayloadWriter writer;
          writer.start(std::move(mixture.payload));
          int calls = 0;
          for (;;) {
            auto progress = writer.write(transport, {64 * KiB});
            if (progress == Progress::done) break;
            ASSERT_NE(progress, Progress::failed) << writer.error();
            ASSERT_LT(++calls, 100'000);
          }
          EXPECT_FALSE(writer.busy());
          EXPECT_EQ(writer.bytes_sent(), expected.size());
          EXPECT_TRUE(transport.received == expected) << most << moody << sends_files;
          EXPECT_EQ(transport.files > 0, sends_files && descriptor == TestFile::Descriptor::shown);
        }
      }
    }
  }
}

TEST(PayloadWriter, SendsAHeaderTogetherWithTheFileThatFollows) {
  auto content = pattern(32 * KiB);
  protocol::Payload payload = payload_of("header");
  payload.pieces.push_back(FileRange{std::make_shared<TestFile>(content), {0}, {32 * KiB}});
  ScriptedTransport transport;
  PayloadWriter writer;
  writer.start(std::move(payload));
  EXPECT_EQ(writer.write(transport, {MiB}), Progress::done);
  EXPECT_EQ(transport.writes, 1);
  EXPECT_EQ(transport.writes_with_more, 1);
  EXPECT_EQ(transport.files, 1);
}

TEST(PayloadWriter, SendsASmallAnswerInOneCall) {
  auto content = pattern(5000);
  protocol::Payload payload = payload_of("header");
  payload.pieces.push_back(FileRange{std::make_shared<TestFile>(content), {0}, {5000}});
  payload.pieces.push_back(to_vector(as_bytes("tail")));
  ScriptedTransport transport;
  PayloadWriter writer;
  writer.start(std::move(payload));
  EXPECT_EQ(writer.write(transport, {MiB}), Progress::done);
  EXPECT_EQ(transport.writes, 1);
  EXPECT_EQ(transport.writes_with_more, 0);
}

TEST(PayloadWriter, SendsAnEmptyAnswerAsItsLengthAlone) {
  ScriptedTransport transport;
  PayloadWriter writer;
  writer.start({});
  EXPECT_TRUE(writer.busy());
  EXPECT_EQ(writer.write(transport, {MiB}), Progress::done);
  EXPECT_EQ(transport.received, framed(""));
}

TEST(PayloadWriter, FailsWhenAFileIsShorterThanPromised) {
  for (std::int64_t size : {std::int64_t{2000}, std::int64_t{20 * KiB}}) {
    protocol::Payload payload = payload_of("header");
    payload.pieces.push_back(FileRange{std::make_shared<TestFile>(pattern(1000)), {0}, {size}});
    ScriptedTransport transport;
    PayloadWriter writer;
    writer.start(std::move(payload));
    EXPECT_EQ(writer.write(transport, {MiB}), Progress::failed) << size;
    EXPECT_FALSE(writer.peer_is_gone());
    EXPECT_THAT(writer.error(), testing::HasSubstr("a file ended"));
  }
}

TEST(PayloadWriter, TellsAPeerThatWentFromOtherFailures) {
  for (auto [reason, gone] : {std::pair{EPIPE, true}, {ECONNRESET, true}, {ETIMEDOUT, true}, {EIO, false}}) {
    ScriptedTransport transport;
    transport.fail_with = reason;
    PayloadWriter writer;
    writer.start(payload_of("x"));
    EXPECT_EQ(writer.write(transport, {MiB}), Progress::failed);
    EXPECT_EQ(writer.peer_is_gone(), gone) << reason;
  }
}

}  // namespace
}  // namespace cordwood::net
