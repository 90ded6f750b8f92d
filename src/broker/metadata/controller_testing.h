// broker/metadata/controller_testing.h — a controller over log directories in memory, started, stopped and killed by tests.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "broker/config.h"
#include "broker/metadata/controller.h"
#include "io/memory_file_system.h"
#include "storage/log_manager.h"

namespace cordwood::broker::metadata {

class TestController {
 public:
  // Two runs over one directory that make new ids need two seeds.
  explicit TestController(io::FileSystem& fs, std::vector<std::string> log_dirs = {"/data"}, std::uint64_t seed = 7);
  ~TestController();

  // open(), register_broker(), unfence().
  Result<void> start();
  // open() alone.
  Result<void> open();
  // Controlled shutdown and the marks of a clean stop.
  Result<void> stop();
  // As if the process had died.
  void kill();

  // Waits for the outcome; the error text, or "" when it was created.
  std::string create_topic(const std::string& name, std::int32_t partitions = 1);
  std::string delete_topic(const std::string& name);
  // Does not wait.
  std::future<Result<void>> submit(std::vector<MetadataRecord> records);

  Controller& controller() { return *controller_; }
  std::shared_ptr<const Image> image() const { return controller_->image(); }
  const PartitionState& partition(const std::string& topic, std::int32_t index = 0);

  ControllerOptions options;
  Config config;
  MemoryLogger logger;
  ManualClock clock;
  SeededRandom random;

 private:
  storage::LogEnvironment environment();
  io::FileSystem& fs_;
  std::vector<std::string> log_dirs_;
  std::shared_ptr<const Image> shown_;  // keeps what partition() refers to
  std::unique_ptr<storage::LogManager> logs_;
  std::unique_ptr<Controller> controller_;
};

// The data records of the metadata log in `directory`, decoded, without the batches' borders.
std::vector<MetadataRecord> records_in_log(io::FileSystem& fs, const std::string& log_dir = "/data");

// Copies a directory tree from the disk.
void copy_tree(io::FileSystem& from, const std::string& source, io::FileSystem& to, const std::string& target);

}  // namespace cordwood::broker::metadata
