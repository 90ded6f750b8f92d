// A whole server with its threads, over loopback sockets.
#include "net/server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/random.h"
#include "net/net_testing.h"

namespace cordwood::net {
namespace {

TEST(Server, AnswersAFrame) {
  TestSink sink;
  RunningServer running(sink);
  TestClient client(running.port);
  ASSERT_TRUE(client.send_frame("hello"));
  EXPECT_EQ(client.receive_frame(), "hello");
}

TEST(Server, TakesAFrameOneByteAtATime) {
  TestSink sink;
  RunningServer running(sink);
  TestClient client(running.port);
  for (std::byte byte : framed("one byte at a time")) ASSERT_TRUE(client.send(BytesView(&byte, 1)));
  EXPECT_EQ(client.receive_frame(), "one byte at a time");
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
  TestSink sink;
  RunningServer running(sink);
  TestClient client(running.port);
  ByteVector all;
  for (int i = 0; i < 5; ++i) {
    auto frame = framed("request " + std::to_string(i));
    all.insert(all.end(), frame.begin(), frame.end());
  }
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.receive_frame(), "request " + std::to_string(i));
}

TEST(Server, AnswersPipelinedRequestsInOrderFromOtherThreads) {
  std::vector<std::thread> threads;
  Mutex mu;
  TestSink sink([&](protocol::Request request) {
    MutexLock lock(mu);
    threads.emplace_back([request = std::make_shared<protocol::Request>(std::move(request))]() mutable {
      request->responder.send(payload_of(as_text(request->frame->bytes())));
    });
  });
  RunningServer running(sink);
  TestClient client(running.port);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(client.send_frame("request " + std::to_string(i)));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.receive_frame(), "request " + std::to_string(i));
  running.server.stop();
  for (auto& thread : threads) thread.join();
}

TEST(Server, ClosesOnAFrameSizeThatCannotBe) {
  TestSink sink;
  ServerOptions options;
  options.connections.request_max_bytes = {1000};
  RunningServer running(sink, options);
  for (std::int32_t size : {0, -1, 1001, INT32_MAX, INT32_MIN}) {
    TestClient client(running.port);
    ByteWriter writer;
    writer.i32(size);
    ASSERT_TRUE(client.send(writer.view()));
    EXPECT_TRUE(client.closed_by_server()) << size;
  }
  EXPECT_EQ(sink.handled(), 0u);
  EXPECT_TRUE(running.logger.contains("a request of 0 bytes was announced, 1000 are allowed"));
  TestClient client(running.port);
  ASSERT_TRUE(client.send_frame(std::string(1000, 'x')));
  EXPECT_EQ(client.receive_frame(), std::string(1000, 'x'));
}

TEST(Server, CarriesLargeFramesBothWays) {
  TestSink sink;
  RunningServer running(sink);
  TestClient client(running.port);
  std::string body(as_text(pattern(10 * MiB + 3)));
  for (int i = 0; i < 3; ++i) {
    std::thread sender([&] { client.send_frame(body); });
    auto answer = client.receive_frame();
    sender.join();
    ASSERT_TRUE(answer);
    EXPECT_TRUE(*answer == body);
  }
}

TEST(Server, ASlowReaderHoldsNobodyUp) {
  auto content = pattern(20 * MiB);
  auto file = std::make_shared<TestFile>(content);
  TestSink sink([&](protocol::Request request) {
    if (as_text(request.frame->bytes()) != "file") return TestSink::echo(std::move(request));
    protocol::Payload payload;
    payload.pieces.push_back(FileRange{file, {0}, {20 * MiB}});
    request.responder.send(std::move(payload));
  });
  ServerOptions options;
  options.loops = 1;
  RunningServer running(sink, options);
  TestClient slow(running.port, 4096);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(slow.send_frame("file"));
  ASSERT_TRUE(slow.something_to_read(10'000));
  TestClient quick(running.port);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(quick.send_frame("quick"));
    ASSERT_EQ(quick.receive_frame(), "quick");
  }
  EXPECT_EQ(sink.handled(), 101u) << "the slow one's second request waits until its first answer is read";
  for (int i = 0; i < 3; ++i) {
    auto answer = slow.receive_frame();
    ASSERT_TRUE(answer);
    EXPECT_EQ(std::memcmp(answer->data(), content.data(), content.size()), 0);
  }
}

TEST(Server, SendsFileRangesAndMemoryAsTheyWerePutTogether) {
  auto content = pattern(3 * MiB, 7);
  std::shared_ptr<TestFile> files[2] = {
      std::make_shared<TestFile>(content),
      std::make_shared<TestFile>(content, TestFile::Descriptor::hidden),
  };
  SeededRandom random(42);
  ByteVector expected;
  TestSink sink([&](protocol::Request request) {
    protocol::Payload payload;
    expected.clear();
    for (int i = 0; i < 30; ++i) {
      std::size_t size = random.below(i % 5 == 0 ? 600 * KiB : 20 * KiB);
      std::size_t at = random.below(content.size() - size);
      auto first = content.begin() + static_cast<std::ptrdiff_t>(at);
      auto last = first + static_cast<std::ptrdiff_t>(size);
      expected.insert(expected.end(), first, last);
      if (i % 3 == 0) {
        payload.pieces.push_back(ByteVector(first, last));
      } else {
        payload.pieces.push_back(FileRange{files[random.below(2)], {static_cast<std::int64_t>(at)},
                                           {static_cast<std::int64_t>(size)}});
      }
    }
    request.responder.send(std::move(payload));
  });
  RunningServer running(sink);
  TestClient client(running.port);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(client.send_frame("go"));
    auto answer = client.receive_frame();
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->size(), expected.size());
    EXPECT_EQ(std::memcmp(answer->data(), expected.data(), expected.size()), 0) << i;
  }
}

TEST(Server, ClosesTheConnectionWhenAFileIsShorterThanPromised) {
  auto file = std::make_shared<TestFile>(pattern(100 * KiB));
  TestSink sink([&](protocol::Request request) {
    protocol::Payload payload = payload_of("header");
    payload.pieces.push_back(FileRange{file, {0}, {200 * KiB}});
    request.responder.send(std::move(payload));
  });
  RunningServer running(sink);
  TestClient client(running.port);
  ASSERT_TRUE(client.send_frame("go"));
  EXPECT_FALSE(client.receive_frame());
  EXPECT_TRUE(sink.wait_for_disconnects(1));
  EXPECT_TRUE(running.logger.contains("a file ended"));
}

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(Server, AThousandIdleConnectionsCostLittle) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 8192);
  ::setrlimit(RLIMIT_NOFILE, &files);
  TestSink sink;
  RunningServer running(sink);
  std::vector<std::unique_ptr<TestClient>> clients;
  std::string body(as_text(pattern(60 * KiB)));
  std::int64_t before = resident_bytes();
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(std::make_unique<TestClient>(running.port));
    ASSERT_TRUE(clients.back()->connected());
    // Each has had a request that needed a buffer.
    ASSERT_TRUE(clients.back()->send_frame(body));
    ASSERT_EQ(clients.back()->receive_frame(), body);
  }
  EXPECT_EQ(running.server.connections(), 1000u);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(resident_bytes() - before, 6 * MiB);
#else
  (void)before;
#endif
  clients.clear();
  EXPECT_TRUE(sink.wait_for_disconnects(1000));
  EXPECT_EQ(running.server.connections(), 0u);
}

TEST(Server, RefusesClientsBeforeItHasStarted) {
  SystemClock clock;
  MemoryLogger logger;
  TestSink sink;
  Server server(RunningServer::with_listener({}), sink, clock, logger);
  server.bind().value();
  ASSERT_EQ(server.bound().size(), 1u);
  EXPECT_NE(server.bound().front().port, 0);
  EXPECT_FALSE(TestClient(server.bound().front().port).connected());
  server.start().value();
  EXPECT_TRUE(TestClient(server.bound().front().port).connected());
  server.stop();
  EXPECT_FALSE(TestClient(server.bound().front().port).connected());
}

TEST(Server, NamesThePortThatIsTaken) {
  TestSink sink;
  RunningServer running(sink);
  SystemClock clock;
  MemoryLogger logger;
  ServerOptions options;
  options.listeners = {{"PLAINTEXT", "127.0.0.1", running.port}};
  Server second(options, sink, clock, logger);
  auto bound = second.bind();
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().message(), fmt::format("cannot listen on 127.0.0.1:{}: Address already in use (98)", running.port));
}

TEST(Server, OfTwoThatBoundTheSamePortOnlyOneStarts) {
  TestSink sink;
  SystemClock clock;
  MemoryLogger logger;
  Server first(RunningServer::with_listener({}), sink, clock, logger);
  first.bind().value();
  ServerOptions options;
  options.listeners = {{"PLAINTEXT", "127.0.0.1", first.bound().front().port}};
  Server second(options, sink, clock, logger);
  second.bind().value();
  first.start().value();
  auto started = second.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().sys_errno, EADDRINUSE);
}

TEST(Server, ListensOnAllAddressesWhenTheHostIsEmpty) {
  TestSink sink([](protocol::Request request) {
    request.responder.send(payload_of(request.peer->listener_name + " " + request.peer->local_host + " " +
                                      request.peer->remote_host + " " + request.peer->principal));
  });
  ServerOptions options;
  options.listeners = {{"EXTERNAL", "", 0}};
  RunningServer running(sink, options);
  TestClient client(running.port);
  ASSERT_TRUE(client.send_frame("who"));
  EXPECT_EQ(client.receive_frame(), "EXTERNAL 127.0.0.1 127.0.0.1 User:ANONYMOUS");
}

TEST(Server, ClosesConnectionsBeyondTheLimitOfAnAddress) {
  TestSink sink;
  ServerOptions options;
  options.max_connections_per_ip = 2;
  RunningServer running(sink, options);
  TestClient first(running.port), second(running.port);
  ASSERT_TRUE(first.send_frame("1") && second.send_frame("2"));
  EXPECT_EQ(first.receive_frame(), "1");
  EXPECT_EQ(second.receive_frame(), "2");
  TestClient third(running.port);
  EXPECT_TRUE(third.closed_by_server());
  first.close();
  ASSERT_TRUE(sink.wait_for_disconnects(1));
  TestClient fourth(running.port);
  ASSERT_TRUE(fourth.send_frame("4"));
  EXPECT_EQ(fourth.receive_frame(), "4");
}

TEST(Server, LeavesConnectionsBeyondTheTotalLimitInTheBacklog) {
  TestSink sink;
  ServerOptions options;
  options.max_connections = 2;
  RunningServer running(sink, options);
  TestClient first(running.port), second(running.port);
  ASSERT_TRUE(first.send_frame("1") && second.send_frame("2"));
  EXPECT_EQ(first.receive_frame(), "1");
  EXPECT_EQ(second.receive_frame(), "2");
  TestClient third(running.port);
  ASSERT_TRUE(third.send_frame("3"));
  EXPECT_FALSE(third.something_to_read(50));
  first.close();
  EXPECT_EQ(third.receive_frame(), "3");
}

TEST(Server, SurvivesRunningOutOfDescriptors) {
  TestSink sink;
  RunningServer running(sink);
  TestClient early(running.port);
  ASSERT_TRUE(early.send_frame("early"));
  EXPECT_EQ(early.receive_frame(), "early");
  auto waiting = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(waiting.get()) + 1;
  std::vector<UniqueFd> holes;  // descriptors below the limit that are free
  while (true) {
    int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd > waiting.get()) {
      ::close(fd);
      break;
    }
    holes.emplace_back(fd);
  }
  ::setrlimit(RLIMIT_NOFILE, &tight);
  auto address = resolve("127.0.0.1", running.port).value();
  ASSERT_EQ(::connect(waiting.get(), address.raw(), address.length), 0);
  auto frame = framed("waited");
  ASSERT_EQ(::send(waiting.get(), frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
  // The server cannot accept, says so, and keeps serving those it has.
  for (int i = 0; i < 200 && !running.logger.contains("cannot accept"); ++i) ::usleep(10'000);
  EXPECT_TRUE(running.logger.contains("WARN listener PLAINTEXT cannot accept: Too many open files (24)"));
  ASSERT_TRUE(early.send_frame("still"));
  EXPECT_EQ(early.receive_frame(), "still");
  ::setrlimit(RLIMIT_NOFILE, &before);
  pollfd poll{waiting.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&poll, 1, 10'000), 1) << "accepted once descriptors are there again";
}

TEST(Server, StopsWithRequestsUnanswered) {
  HeldRequests held;
  TestSink sink([&](protocol::Request request) { held.hold(std::move(request)); });
  RunningServer running(sink);
  TestClient client(running.port);
  ASSERT_TRUE(client.send_frame("waits"));
  auto request = held.take();
  running.server.stop();
  EXPECT_TRUE(client.closed_by_server());
  EXPECT_TRUE(sink.wait_for_disconnects(1));
  request.responder.send(payload_of("to nobody"));
  request.peer->loop->post([] { ADD_FAILURE() << "the loop has ended"; });
  running.server.stop();
}

TEST(Server, QuietItTakesNoMoreRequestsButStillAnswers) {
  HeldRequests held;
  TestSink sink([&](protocol::Request request) { held.hold(std::move(request)); });
  RunningServer running(sink);
  TestClient waiting(running.port);
  ASSERT_TRUE(waiting.send_frame("waits"));
  auto request = held.take();
  running.server.quiesce();
  EXPECT_FALSE(TestClient(running.port).connected());
  ASSERT_TRUE(waiting.send_frame("comes too late"));
  request.responder.send(payload_of("answered"));
  EXPECT_EQ(waiting.receive_frame(), "answered");
  EXPECT_FALSE(waiting.something_to_read(50));
  running.server.stop();
  EXPECT_TRUE(waiting.closed_by_server());
  EXPECT_EQ(sink.handled(), 1u);
}

TEST(Server, SpreadsConnectionsOverItsLoops) {
  Mutex mu;
  std::vector<Executor*> seen;
  TestSink sink([&](protocol::Request request) {
    {
      MutexLock lock(mu);
      seen.push_back(request.peer->loop);
    }
    TestSink::echo(std::move(request));
  });
  ServerOptions options;
  options.loops = 3;
  RunningServer running(sink, options);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<TestClient>(running.port));
    ASSERT_TRUE(clients.back()->send_frame("x"));
    ASSERT_TRUE(clients.back()->receive_frame());
  }
  MutexLock lock(mu);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()) - seen.begin(), 3);
}

TEST(Server, ManyClientsAtOnce) {
  TestSink sink;
  RunningServer running(sink);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(static_cast<std::uint64_t>(t));
      TestClient client(running.port);
      for (int i = 0; i < 200; ++i) {
        std::string body(as_text(pattern(1 + random.below(i % 20 == 0 ? 300'000 : 3'000), static_cast<std::uint32_t>(i))));
        if (!client.send_frame(body) || client.receive_frame() != body) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace cordwood::net
