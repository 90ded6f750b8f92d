// Connections stepped by hand over a socket pair: what depends on the clock, and on what is asked of the socket when.
#include "net/connection.h"

#include <gtest/gtest.h>

#include <array>

#include "net/connection_set.h"
#include "net/net_testing.h"

namespace cordwood::net {
namespace {

struct Stepped {
  explicit Stepped(TestSink::Function function = TestSink::echo, ConnectionSettings settings = {},
                   std::int64_t budget_bytes = 512 * MiB)
      : sink(std::move(function)),
        budget(std::make_shared<ByteBudget>(ByteCount{budget_bytes})),
        set(*loop, sink, clock, logger, settings, budget, limits) {}

  // The client's end of a new connection.
  UniqueFd connect() {
    int fds[2];
    CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0, "socketpair");
    auto peer = std::make_shared<protocol::Peer>();
    peer->connection_id = ++last_id;
    peer->listener_name = "PLAINTEXT";
    peer->remote_host = "test";
    peer->loop = loop.get();
    CHECK(limits.admit("test"), "admit");
    set.add(make_plain_transport(UniqueFd(fds[0])), peer);
    return UniqueFd(fds[1]);
  }
  void run() {
    while (loop->step({0}) > 0) {
    }
  }
  static std::string received(const UniqueFd& client) {
    std::string text;
    char buffer[65536];
    for (ssize_t count; (count = ::recv(client.get(), buffer, sizeof buffer, 0)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }
  static void send(const UniqueFd& client, BytesView bytes) {
    CHECK(::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()), "send");
  }
  static bool closed(const UniqueFd& client) {
    char byte;
    return ::recv(client.get(), &byte, 1, MSG_PEEK) == 0;
  }

  ManualClock clock;
  MemoryLogger logger;
  std::unique_ptr<EventLoop> loop = EventLoop::open(clock).value();
  TestSink sink;
  ConnectionLimits limits{1000, 1000};
  std::shared_ptr<ByteBudget> budget;
  std::uint64_t last_id = 0;
  ConnectionSet set;
};

std::string text_of(const ByteVector& bytes) { return std::string(as_text(bytes)); }

TEST(Connection, HandsOverOneRequestAtATime) {
  HeldRequests held;
  Stepped s([&](protocol::Request request) { held.hold(std::move(request)); });
  auto client = s.connect();
  ByteVector both = framed("one");
  auto second = framed("two");
  both.insert(both.end(), second.begin(), second.end());
  s.send(client, both);
  s.run();
  ASSERT_EQ(held.count(), 1u);
  auto first = held.take();
  EXPECT_EQ(as_text(first.frame->bytes()), "one");
  s.run();
  EXPECT_EQ(held.count(), 0u);
  first.responder.send(payload_of("answer one"));
  s.run();
  EXPECT_EQ(s.received(client), text_of(framed("answer one")));
  auto next = held.take();
  EXPECT_EQ(as_text(next.frame->bytes()), "two");
  next.responder.send_nothing();
  s.run();
  EXPECT_EQ(s.received(client), "");
  EXPECT_EQ(s.set.size(), 1u);
}

// The frames as a client sends them in one go.
ByteVector in_one_go(std::initializer_list<std::string_view> requests) {
  ByteVector bytes;
  for (std::string_view request : requests) {
    const ByteVector frame = framed(request);
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  return bytes;
}

std::array<protocol::Request, 3> take_three(HeldRequests& held) { return {held.take(), held.take(), held.take()}; }

TEST(Connection, HandsOverWhatJoinsAndAnswersInOrder) {
  HeldRequests held;
  Stepped s([&](protocol::Request request) { held.hold(std::move(request)); });
  s.sink.joining = "produce";
  auto client = s.connect();
  s.send(client, in_one_go({"produce 1", "produce 2", "produce 3", "fetch", "metadata"}));
  s.run();
  ASSERT_EQ(held.count(), 3u);
  auto [first, second, third] = take_three(held);
  third.responder.send(payload_of("3"));
  second.responder.send_nothing();
  s.run();
  EXPECT_EQ(s.received(client), "");
  first.responder.send(payload_of("1"));
  s.run();
  EXPECT_EQ(s.received(client), text_of(in_one_go({"1", "3"})));
  ASSERT_EQ(held.count(), 1u);
  auto fetch = held.take();
  EXPECT_EQ(as_text(fetch.frame->bytes()), "fetch");
  fetch.responder.send(payload_of("f"));
  s.run();
  held.take().responder.send(payload_of("m"));
  s.run();
  EXPECT_EQ(s.received(client), text_of(in_one_go({"f", "m"})));
  EXPECT_EQ(s.set.size(), 1u);
}

TEST(Connection, ARefusalWaitsForTheAnswersBeforeIt) {
  HeldRequests held;
  Stepped s([&](protocol::Request request) { held.hold(std::move(request)); });
  s.sink.joining = "produce";
  auto client = s.connect();
  s.send(client, in_one_go({"produce 1", "produce 2", "produce 3"}));
  s.run();
  auto [first, second, third] = take_three(held);
  third.responder.send(payload_of("3"));
  second.responder.close("cannot be read");
  s.run();
  EXPECT_EQ(s.set.size(), 1u);
  first.responder.send(payload_of("1"));
  s.run();
  EXPECT_EQ(s.received(client), text_of(framed("1")));
  EXPECT_TRUE(s.closed(client));
  EXPECT_EQ(s.set.size(), 0u);
}

TEST(Connection, WhatHasNotArrivedYetJoinsNothing) {
  HeldRequests held;
  Stepped s([&](protocol::Request request) { held.hold(std::move(request)); });
  s.sink.joining = "produce";
  auto client = s.connect();
  const ByteVector both = in_one_go({"produce 1", "produce 2"});
  s.send(client, BytesView(both).first(both.size() - 1));
  s.run();
  ASSERT_EQ(held.count(), 1u);
  s.send(client, BytesView(both).last(1));
  s.run();
  EXPECT_EQ(held.count(), 1u) << "nothing is read while a request waits";
  held.take().responder.send(payload_of("1"));
  s.run();
  ASSERT_EQ(held.count(), 1u);
  held.take().responder.send(payload_of("2"));
  s.run();
  EXPECT_EQ(s.received(client), text_of(in_one_go({"1", "2"})));
}

TEST(Connection, GoesWithSeveralRequestsUnanswered) {
  HeldRequests held;
  Stepped s([&](protocol::Request request) { held.hold(std::move(request)); });
  s.sink.joining = "produce";
  auto client = s.connect();
  s.send(client, in_one_go({"produce 1", "produce 2"}));
  s.run();
  ASSERT_EQ(held.count(), 2u);
  auto first = held.take();
  auto second = held.take();
  s.set.close_all();
  second.responder.send(payload_of("2"));
  first.responder.send(payload_of("1"));
  s.run();
  EXPECT_EQ(s.received(client), "");
}

TEST(Connection, ClosesWhenIdleForTooLong) {
  Stepped s(TestSink::echo, {.request_max_bytes = {1000}, .max_idle_ms = {10'000}});
  auto client = s.connect();
  s.run();
  s.clock.advance({9'000});
  s.send(client, framed("still here"));
  s.run();
  s.clock.advance({9'999});
  s.run();
  EXPECT_EQ(s.set.size(), 1u);
  s.clock.advance({1});
  s.run();
  EXPECT_EQ(s.set.size(), 0u);
  EXPECT_EQ(s.received(client), text_of(framed("still here")));
  EXPECT_TRUE(s.closed(client));
  EXPECT_EQ(s.limits.count(), 0);
}

TEST(Connection, ARequestThatWaitsIsNotIdle) {
  HeldRequests held;
  Stepped s([&](protocol::Request request) { held.hold(std::move(request)); },
            {.request_max_bytes = {1000}, .max_idle_ms = {10'000}});
  auto client = s.connect();
  s.send(client, framed("long poll"));
  s.run();
  for (int i = 0; i < 5; ++i) {
    s.clock.advance({10'000});
    s.run();
  }
  held.take().responder.send(payload_of("at last"));
  s.run();
  EXPECT_EQ(s.received(client), text_of(framed("at last")));
}

TEST(Connection, AHalfSentFrameIsIdle) {
  Stepped s(TestSink::echo, {.request_max_bytes = {1000}, .max_idle_ms = {10'000}});
  auto client = s.connect();
  s.send(client, BytesView(framed("never complete")).first(7));
  s.run();
  s.clock.advance({10'000});
  s.run();
  EXPECT_TRUE(s.closed(client));
  EXPECT_EQ(s.sink.handled(), 0u);
}

TEST(Connection, NeverClosesForIdlenessWhenTheLimitIsNegativeOrEndless) {
  for (std::int64_t idle : {std::int64_t{-1}, INT64_MAX}) {
    Stepped s(TestSink::echo, {.request_max_bytes = {1000}, .max_idle_ms = {idle}});
    auto client = s.connect();
    s.clock.advance({1'000'000'000'000});
    s.run();
    EXPECT_EQ(s.set.size(), 1u);
  }
}

TEST(Connection, AnswersWhatAHalfClosedPeerHasAskedAndThenCloses) {
  HeldRequests held;
  Stepped s([&](protocol::Request request) { held.hold(std::move(request)); });
  auto client = s.connect();
  ByteVector both = framed("one");
  auto second = framed("two");
  both.insert(both.end(), second.begin(), second.end());
  s.send(client, both);
  ::shutdown(client.get(), SHUT_WR);
  s.run();
  held.take().responder.send(payload_of("1"));
  s.run();
  held.take().responder.send(payload_of("2"));
  s.run();
  EXPECT_EQ(s.received(client), text_of(framed("1")) + text_of(framed("2")));
  EXPECT_TRUE(s.closed(client));
  EXPECT_EQ(s.set.size(), 0u);
}

TEST(Connection, ForgetsARequestWhoseClientIsGone) {
  HeldRequests held;
  Stepped s([&](protocol::Request request) { held.hold(std::move(request)); });
  auto client = s.connect();
  s.send(client, framed("one"));
  s.run();
  client.reset();
  s.run();
  EXPECT_EQ(s.set.size(), 0u);
  EXPECT_TRUE(s.sink.wait_for_disconnects(1));
  held.take().responder.send(payload_of("to nobody"));
  s.run();
}

TEST(Connection, ARequestDroppedWithoutAnAnswerClosesTheConnection) {
  Stepped s([](protocol::Request) {});
  auto client = s.connect();
  s.send(client, framed("one"));
  s.run();
  EXPECT_TRUE(s.closed(client));
  EXPECT_TRUE(s.logger.contains("dropped without an answer"));
}

TEST(Connection, ClosesWithoutAnAnswerWhenToldSo) {
  Stepped s([](protocol::Request request) { request.responder.close("unreadable header"); });
  auto client = s.connect();
  s.send(client, framed("one"));
  s.run();
  EXPECT_TRUE(s.closed(client));
  EXPECT_TRUE(s.logger.contains("INFO closing the connection from test:0 on PLAINTEXT: unreadable header"));
}

TEST(Connection, SaysOnceASecondWhyItClosesAndCountsTheRest) {
  Stepped s([](protocol::Request request) { request.responder.close("bad"); });
  for (int i = 0; i < 5; ++i) {
    auto client = s.connect();
    s.send(client, framed("one"));
    s.run();
  }
  EXPECT_EQ(s.logger.lines().size(), 1u);
  s.clock.advance({1000});
  auto client = s.connect();
  s.send(client, framed("one"));
  s.run();
  ASSERT_EQ(s.logger.lines().size(), 2u);
  EXPECT_NE(s.logger.lines()[1].find("(4 more like this"), std::string::npos);
}

TEST(Connection, AnAnswerToAnotherConnectionFromInsideAHandlerArrives) {
  HeldRequests held;
  Stepped s([&](protocol::Request request) {
    // The second connection's request answers the first one's, as a produce may end another client's long poll.
    if (as_text(request.frame->bytes()) == "wait") {
      held.hold(std::move(request));
    } else {
      held.take().responder.send(payload_of("woken"));
      request.responder.send(payload_of("done"));
    }
  });
  auto waiting = s.connect();
  auto waking = s.connect();
  s.send(waiting, framed("wait"));
  s.run();
  // More requests lie behind both, so that a mixed-up read buffer would show.
  ByteVector more = framed("wake");
  auto next = framed("wait");
  more.insert(more.end(), next.begin(), next.end());
  s.send(waking, more);
  s.run();
  EXPECT_EQ(s.received(waiting), text_of(framed("woken")));
  EXPECT_EQ(s.received(waking), text_of(framed("done")));
  EXPECT_EQ(held.count(), 1u);
  // A request must not outlive its loop.
  held.take().responder.send_nothing();
}

TEST(Connection, AStreamOfSmallRequestsLeavesOthersTheirTurn) {
  Stepped s;
  auto busy = s.connect();
  auto other = s.connect();
  s.run();
  ByteVector many;
  auto one = framed("x");
  for (int i = 0; i < 10'000; ++i) many.insert(many.end(), one.begin(), one.end());
  s.send(busy, many);
  s.send(other, one);
  s.loop->step({0});  // both are ready
  EXPECT_EQ(s.received(other), text_of(one));
  EXPECT_LT(s.sink.handled(), 1'000u);
  std::string answers = s.received(busy);
  while (s.loop->step({0}) > 0) answers += s.received(busy);
  EXPECT_EQ(answers.size(), many.size());
  EXPECT_EQ(s.sink.handled(), 10'001u);
}

TEST(Connection, LargeRequestsWaitForMemoryAndAllArrive) {
  constexpr std::size_t kClients = 8;
  Stepped s([](protocol::Request request) { request.responder.send(payload_of("ok")); }, {}, 600 * KiB);
  auto large = framed(std::string(250 * KiB, 'x'));
  std::vector<UniqueFd> clients;
  std::vector<BytesView> left(kClients, large);
  for (std::size_t i = 0; i < kClients; ++i) clients.push_back(s.connect());
  std::int64_t most_used = 0;
  for (int round = 0; round < 1000 && s.sink.handled() < kClients; ++round) {
    for (std::size_t i = 0; i < kClients; ++i) {
      std::size_t size = std::min<std::size_t>(left[i].size(), 40'000);
      if (size == 0) continue;
      ssize_t count = ::send(clients[i].get(), left[i].data(), size, MSG_NOSIGNAL);
      if (count > 0) left[i] = left[i].subspan(static_cast<std::size_t>(count));
    }
    s.run();
    most_used = std::max(most_used, s.budget->used().value);
  }
  EXPECT_EQ(s.sink.handled(), kClients);
  for (const auto& client : clients) EXPECT_EQ(s.received(client), text_of(framed("ok")));
  EXPECT_LE(most_used, (600 + 250) * KiB);  // one request may overdraw
  EXPECT_GT(most_used, 600 * KiB);
  EXPECT_EQ(s.budget->used(), ByteCount{0});
}

TEST(Connection, ALargeRequestThatStopsArrivingMakesWayForThoseThatWait) {
  Stepped s(TestSink::echo, {}, 100 * KiB);
  auto large = framed(std::string(250 * KiB, 'x'));
  auto stuck = s.connect();
  s.send(stuck, BytesView(large).first(130 * KiB));
  s.run();
  auto waiting = s.connect();
  s.send(waiting, BytesView(large).first(130 * KiB));
  s.run();
  s.send(waiting, BytesView(large).subspan(130 * KiB));
  s.run();
  EXPECT_EQ(s.sink.handled(), 0u);
  s.clock.advance({10'000});
  s.run();
  EXPECT_TRUE(s.logger.contains("stopped arriving while others wait for memory"));
  EXPECT_EQ(s.sink.handled(), 1u);
  EXPECT_EQ(s.set.size(), 1u);
}

}  // namespace
}  // namespace cordwood::net
