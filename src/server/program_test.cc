// The program as a user has it: started, asked, stopped.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "base/check.h"
#include "net/net_testing.h"

namespace cordwood::server {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    char path[] = "/tmp/cordwood-program-XXXXXX";
    CHECK(::mkdtemp(path) != nullptr, "mkdtemp");
    path_ = path;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Program {
 public:
  Program(std::vector<std::string> arguments, const std::string& folder, const std::string& errors = "stderr")
      : errors_path_(folder + "/" + errors) {
    int out[2];
    CHECK(::pipe2(out, O_CLOEXEC) == 0, "pipe2");
    pid_ = ::fork();
    CHECK(pid_ >= 0, "fork");
    if (pid_ == 0) {
      int err = ::open(errors_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(out[1], 1);
      ::dup2(err, 2);
      if (::chdir(folder.c_str()) != 0) ::_exit(126);
      std::vector<char*> argv{const_cast<char*>(CORDWOOD_BINARY)};
      for (auto& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      ::execv(CORDWOOD_BINARY, argv.data());
      ::_exit(127);
    }
    ::close(out[1]);
    out_ = net::UniqueFd(out[0]);
  }
  ~Program() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  // Up to and with the next line end; what there is when the program ended or said nothing for half a minute.
  std::string line() {
    std::string text;
    char c = 0;
    pollfd poll{out_.get(), POLLIN, 0};
    while (::poll(&poll, 1, 30'000) > 0 && ::read(out_.get(), &c, 1) == 1) {
      text += c;
      if (c == '\n') break;
    }
    return text;
  }
  std::string rest() {
    std::string text;
    for (std::string more = line(); !more.empty(); more = line()) text += more;
    return text;
  }
  void signal(int number) { ::kill(pid_, number); }
  // The exit code, or minus the signal that ended it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string errors() const {
    std::ifstream file(errors_path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string errors_path_;
  pid_t pid_ = -1;
  net::UniqueFd out_;
};

std::vector<std::string> on_any_port(std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"broker", "--override", "listeners=PLAINTEXT://127.0.0.1:0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::uint16_t port_in(const std::string& ready) {
  std::smatch match;
  CHECK(std::regex_search(ready, match, std::regex("PLAINTEXT://127\\.0\\.0\\.1:(\\d+)")), "not a ready line: {}", ready);
  return static_cast<std::uint16_t>(std::stoi(match[1]));
}

TEST(Program, ShowsHelpAndVersion) {
  TemporaryFolder folder;
  Program help({"--help"}, folder.path());
  EXPECT_THAT(help.rest(), testing::AllOf(HasSubstr("usage:"), HasSubstr("\n  verify ")));
  EXPECT_EQ(help.wait(), 0);
  Program broker({"broker", "--help"}, folder.path());
  EXPECT_THAT(broker.rest(), HasSubstr("--override KEY=VALUE"));
  EXPECT_EQ(broker.wait(), 0);
  Program version({"--version"}, folder.path());
  EXPECT_THAT(version.rest(), testing::MatchesRegex("cordwood [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(version.wait(), 0);
}

TEST(Program, RefusesAnUnknownCommandInOneSentence) {
  TemporaryFolder folder;
  Program program({"frobnicate"}, folder.path());
  EXPECT_EQ(program.rest(), "");
  EXPECT_EQ(program.wait(), 1);
  EXPECT_EQ(program.errors(), "cordwood: unknown command 'frobnicate'; 'cordwood --help' shows what there is\n");
}

TEST(Program, IsReadyAnswersAndStopsCleanly) {
  TemporaryFolder folder;
  for (int signal : {SIGTERM, SIGINT}) {
    Program program(on_any_port(), folder.path());
    std::string ready = program.line();
    ASSERT_TRUE(std::regex_match(ready, std::regex("Cordwood [0-9.]+ ready in [0-9]+ ms: PLAINTEXT://127\\.0\\.0\\.1:[0-9]+, "
                                                   "cluster id [A-Za-z0-9_-]{22}, data in \\./cordwood-data(; inspector at http://127\\.0\\.0\\.1:9192/)?\n")))
        << ready << program.errors();
    net::TestClient client(port_in(ready));
    ByteWriter request;  // ApiVersions v0, correlation id 7, no client id
    request.i16(18);
    request.i16(0);
    request.i32(7);
    request.i16(-1);
    ASSERT_TRUE(client.send_frame(as_text(request.view())));
    auto answer = client.receive_frame();
    ASSERT_TRUE(answer);
    EXPECT_EQ(load_be<std::int32_t>(as_bytes(*answer), 0), 7);
    EXPECT_EQ(load_be<std::int16_t>(as_bytes(*answer), 4), 0);
    program.signal(signal);
    EXPECT_EQ(program.wait(), 0) << program.errors();
    EXPECT_TRUE(client.closed_by_server());
    EXPECT_TRUE(std::filesystem::exists(folder / "cordwood-data/.kafka_cleanshutdown"));
  }
}

TEST(Program, KeepsItsClusterIdOverARestart) {
  TemporaryFolder folder;
  std::vector<std::string> ids;
  for (int i = 0; i < 2; ++i) {
    Program program(on_any_port(), folder.path());
    std::string ready = program.line();
    std::smatch match;
    ASSERT_TRUE(std::regex_search(ready, match, std::regex("cluster id (.{22}),"))) << ready << program.errors();
    ids.push_back(match[1]);
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait(), 0);
  }
  EXPECT_EQ(ids[0], ids[1]);
}

TEST(Program, ReadsAPropertiesFileAndOverridesWin) {
  TemporaryFolder folder;
  std::ofstream(folder / "server.properties") << "# a comment\nlog.dirs=from-file\nnode.id=7\n"
                                                 "listeners=PLAINTEXT://127.0.0.1:1\n";
  Program program({"broker", "server.properties", "--override", "listeners=PLAINTEXT://127.0.0.1:0"}, folder.path());
  std::string ready = program.line();
  EXPECT_THAT(ready, HasSubstr("data in from-file")) << program.errors();
  std::ifstream meta(folder / "from-file/meta.properties");
  std::string text{std::istreambuf_iterator<char>(meta), {}};
  EXPECT_THAT(text, HasSubstr("node.id=7"));
}

// Both ways in which Kafka 4.x names its own controller: voters fixed in the file, or servers to ask for them.
TEST(Program, StartsOnThePropertiesOfEitherQuorum) {
  for (const char* quorum : {"controller.quorum.voters=1@localhost:9093", "controller.quorum.bootstrap.servers=localhost:9093"}) {
    SCOPED_TRACE(quorum);
    TemporaryFolder folder;
    std::ofstream(folder / "server.properties")
        << "process.roles=broker,controller\nnode.id=1\nlog.dirs=logs\n"
        << "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:9093\n"
        << "inter.broker.listener.name=PLAINTEXT\ncontroller.listener.names=CONTROLLER\n"
        << "advertised.listeners=PLAINTEXT://localhost:0,CONTROLLER://localhost:9093\n"
        << "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL\n"
        << quorum << "\n";
    for (int start = 0; start < 2; ++start) {
      Program program({"broker", "server.properties"}, folder.path());
      std::string ready = program.line();
      ASSERT_THAT(ready, HasSubstr("data in logs")) << program.errors();
      port_in(ready);
      program.signal(SIGTERM);
      EXPECT_EQ(program.wait(), 0) << program.errors();
    }
  }
}

TEST(Program, SaysWhyItCannotStart) {
  TemporaryFolder folder;
  std::ofstream(folder / "bad.properties") << "num.partitions=many\n";
  Program first(on_any_port({"--override", "log.dirs=taken"}), folder.path());
  std::string ready = first.line();
  ASSERT_THAT(ready, StartsWith("Cordwood")) << first.errors();
  std::string port = std::to_string(port_in(ready));

  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"broker", "absent.properties"}, "absent.properties"},
      {{"broker", "bad.properties"}, "num.partitions"},
      {{"broker", "--override", "listeners=PLAINTEXT://127.0.0.1:" + port, "--override", "log.dirs=untouched"},
       "cannot listen on 127.0.0.1:" + port + ": Address already in use (98)"},
      {on_any_port({"--override", "log.dirs=taken"}), "taken"},
      {on_any_port({"--override", "log.dirs=/proc/nothing/here"}), "/proc/nothing/here"},
  };
  int number = 0;
  for (const auto& [arguments, part] : cases) {
    Program program(arguments, folder.path(), "stderr" + std::to_string(number++));
    EXPECT_EQ(program.rest(), "") << part;
    EXPECT_EQ(program.wait(), 1) << part;
    EXPECT_THAT(program.errors(), HasSubstr("cordwood: ")) << part;
    EXPECT_THAT(program.errors(), HasSubstr(part));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "untouched")) << "a taken port is found before the data is touched";
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0);
}

}  // namespace
}  // namespace cordwood::server
