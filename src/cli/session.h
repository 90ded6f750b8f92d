// cli/session.h — what a command sees of the world: streams, files, clock, chance, environment, Ctrl-C.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "io/file_system.h"

namespace cordwood::cli {

// A stream to print on: gathers what is printed and hands it on in large pieces.
// One thread. A stream whose other end is gone (EPIPE) swallows the rest: failed() says so, and whoever prints without end
// looks at it.
class Output {
 public:
  virtual ~Output() = default;

  void write(std::string_view text);
  void write(BytesView bytes) { write(as_text(bytes)); }
  template <class... Args>
  void print(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(pending_), text, std::forward<Args>(args)...);
    if (pending_.size() >= kPiece) flush();
  }
  void flush();
  bool failed() const { return failed_; }
  virtual bool is_terminal() const { return false; }
  virtual std::size_t columns() const { return 80; }  // of the terminal

 protected:
  // False when nothing more can be written.
  virtual bool deliver(std::string_view text) = 0;

 private:
  static constexpr std::size_t kPiece = 64 * 1024;
  std::string pending_;
  bool failed_ = false;
};

// On a file descriptor, which is not closed. Flush it at the end: the destructor does not.
class DescriptorOutput final : public Output {
 public:
  explicit DescriptorOutput(int fd) : fd_(fd) {}
  bool is_terminal() const override;
  std::size_t columns() const override;

 private:
  bool deliver(std::string_view text) override;
  int fd_;
};

// Keeps everything, for tests.
class MemoryOutput final : public Output {
 public:
  const std::string& text() {
    flush();
    return text_;
  }

 private:
  bool deliver(std::string_view text) override {
    text_ += text;
    return true;
  }
  std::string text_;
};

// Where a command reads from.
class Input {
 public:
  virtual ~Input() = default;
  // Fills a part of `into` and answers how much; 0 at the end. Errors: io.
  virtual Result<std::size_t> read(MutableBytesView into) = 0;
  virtual bool is_terminal() const { return false; }
  // To wait on, for whoever has other things to do meanwhile; -1: read() never waits.
  virtual int descriptor() const { return -1; }
};

class DescriptorInput final : public Input {
 public:
  explicit DescriptorInput(int fd) : fd_(fd) {}
  Result<std::size_t> read(MutableBytesView into) override;
  bool is_terminal() const override;
  int descriptor() const override { return fd_; }

 private:
  int fd_;
};

class MemoryInput final : public Input {
 public:
  explicit MemoryInput(std::string text) : text_(std::move(text)) {}
  Result<std::size_t> read(MutableBytesView into) override;

 private:
  std::string text_;
  std::size_t position_ = 0;
};

class CommandList;

struct Session {
  const Clock& clock;
  Random& random;
  io::FileSystem& files;
  Input& in;
  Output& out;
  Output& err;
  std::function<std::optional<std::string>(std::string_view)> variable;  // of the environment
  // Set by SIGINT and SIGTERM. Loops that last look at it; blocking calls of ours return early when it is set.
  const std::atomic<bool>& interrupted;
  std::string version;                // of Cordwood
  const CommandList& commands;        // all of this binary
};

// A line as the logging of Kafka's tools writes it to stderr: "[2026-11-29 22:17:20,123] WARN text (logger)", local time.
enum class Level { warn, error };
void log_line(Session& session, Level level, std::string_view text, std::string_view logger);

// Kafka's version whose tools the commands stand for: what --version prints there.
inline constexpr std::string_view kKafkaVersion = "4.4.0";

}  // namespace cordwood::cli
