#include "io/overlay_file_system.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "io/memory_file_system.h"

namespace cordwood::io {
namespace {

class OverlayTest : public testing::Test {
 protected:
  OverlayTest() : overlay(below, clock) {
    below.create_directories("/d/sub").value();
    put(below, "/d/a", "content of a");
    put(below, "/d/sub/b", "content of b");
  }
  static void put(FileSystem& fs, const Path& path, std::string_view text) {
    fs.open(path, OpenMode::truncate).value()->write_at(FilePosition{0}, as_bytes(text)).value();
  }
  static std::string get(FileSystem& fs, const Path& path) {
    auto bytes = read_file(fs, path);
    return bytes ? std::string(as_text(*bytes)) : std::string(to_string(bytes.error().code));
  }
  static std::string names(FileSystem& fs, const Path& path) {
    std::string all;
    const auto entries = fs.list(path).value();
    for (const DirectoryEntry& entry : entries) all += entry.name + " ";
    return all;
  }
  void expect_below_untouched() {
    EXPECT_EQ(get(below, "/d/a"), "content of a");
    EXPECT_EQ(get(below, "/d/sub/b"), "content of b");
    EXPECT_EQ(names(below, "/d"), "a sub ");
    EXPECT_EQ(names(below, "/d/sub"), "b ");
  }

  ManualClock clock;
  MemFileSystem below;
  OverlayFileSystem overlay;
};

TEST_F(OverlayTest, ReadsWhatLiesBelow) {
  EXPECT_EQ(get(overlay, "/d/a"), "content of a");
  EXPECT_EQ(names(overlay, "/d"), "a sub ");
  EXPECT_FALSE(overlay.exists("/d/c").value());
  EXPECT_EQ(overlay.open("/d/c", OpenMode::read).error().code, Errc::not_found);
  EXPECT_EQ(overlay.status("/d/a").value().modified, below.status("/d/a").value().modified);
}

TEST_F(OverlayTest, KeepsChangesToItself) {
  {
    auto file = overlay.open("/d/a", OpenMode::read_write).value();
    file->write_at(FilePosition{0}, as_bytes("CON")).value();
    file->write_at(FilePosition{20}, as_bytes("end")).value();
  }
  EXPECT_EQ(get(overlay, "/d/a"), std::string("CONtent of a\0\0\0\0\0\0\0\0end", 23));
  overlay.open("/d/a", OpenMode::read_write).value()->truncate(ByteCount{4}).value();
  overlay.open("/d/a", OpenMode::read_write).value()->truncate(ByteCount{6}).value();
  EXPECT_EQ(get(overlay, "/d/a"), std::string("CONt\0\0", 6));
  expect_below_untouched();
}

TEST_F(OverlayTest, MakesMovesAndRemoves) {
  put(overlay, "/d/c", "new");
  overlay.rename("/d/a", "/d/sub/a").value();
  overlay.remove_file("/d/sub/b").value();
  EXPECT_EQ(names(overlay, "/d"), "c sub ");
  EXPECT_EQ(names(overlay, "/d/sub"), "a ");
  EXPECT_EQ(get(overlay, "/d/sub/a"), "content of a");
  overlay.rename("/d/sub", "/d/moved").value();
  EXPECT_EQ(names(overlay, "/d"), "c moved ");
  EXPECT_EQ(get(overlay, "/d/moved/a"), "content of a");
  EXPECT_FALSE(overlay.exists("/d/sub/b").value());
  overlay.create_directories("/d/sub").value();
  EXPECT_EQ(names(overlay, "/d/sub"), "") << "what was moved away does not come back";
  overlay.remove_directory_tree("/d").value();
  EXPECT_FALSE(overlay.exists("/d/c").value());
  expect_below_untouched();
}

TEST_F(OverlayTest, MappingsShareTheFile) {
  {
    auto file = overlay.open("/d/a", OpenMode::read_write).value();
    auto map = file->map(ByteCount{12}).value();
    map->bytes()[0] = std::byte{'M'};
    EXPECT_EQ(get(overlay, "/d/a"), "Montent of a");
    file->write_at(FilePosition{1}, as_bytes("ap")).value();
    EXPECT_EQ(as_text(map->bytes()).substr(0, 4), "Mapt");
  }
  EXPECT_EQ(get(overlay, "/d/a"), "Maptent of a");
  expect_below_untouched();
}

// The descriptor goes first, as an index file's does.
TEST_F(OverlayTest, AMappingOutlivesItsFile) {
  auto map = overlay.open("/d/a", OpenMode::read_write).value()->map(ByteCount{12}).value();
  map->bytes()[0] = std::byte{'X'};
  map.reset();
  EXPECT_EQ(get(overlay, "/d/a"), "Xontent of a");
  expect_below_untouched();
}

// Against plain memory, over some pages.
TEST_F(OverlayTest, AgreesWithAModelOverManyOperations) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    std::string model(20'000, 'm');
    put(below, "/d/big", model);
    OverlayFileSystem fs(below, clock);
    for (int step = 0; step < 60; ++step) {
      auto file = fs.open("/d/big", OpenMode::read_write).value();
      const auto at = static_cast<std::size_t>(random.below(25'000));
      if (random.below(4) == 0) {
        model.resize(at);
        file->truncate({static_cast<std::int64_t>(at)}).value();
      } else {
        const std::string text(static_cast<std::size_t>(random.below(6'000)), static_cast<char>('a' + step % 26));
        if (text.empty()) continue;
        if (at + text.size() > model.size()) model.resize(at + text.size());
        model.replace(at, text.size(), text);
        file->write_at({static_cast<std::int64_t>(at)}, as_bytes(text)).value();
      }
      ASSERT_TRUE(get(fs, "/d/big") == model) << "step " << step;
    }
    EXPECT_EQ(get(below, "/d/big"), std::string(20'000, 'm'));
  }
}

}  // namespace
}  // namespace cordwood::io
