// Real sockets on loopback: what strangers may send, and what becomes of it.
#include "inspector/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

namespace cordwood::inspector {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class EchoService final : public HttpService {
 public:
  HttpAnswer answer(const HttpRequest& request) override {
    ++answered;
    HttpAnswer answer;
    if (request.target == "/events") {
      answer.stream = std::make_shared<EventStream>();
      return answer;
    }
    if (request.target == "/large") {
      answer.body = std::string(100'000, 'x');
      return answer;
    }
    if (request.target == "/tagged") answer.etag = "\"one\"";
    answer.body = request.method + " " + request.target + " " + std::to_string(request.body.size());
    return answer;
  }
  std::vector<std::string> tick(std::span<const std::shared_ptr<EventStream>> streams) override {
    return std::vector<std::string>(streams.size(), "data: {}\n\n");
  }
  void all_streams_ended() override { ended = true; }
  std::atomic<int> answered{0};
  std::atomic<bool> ended{false};
};

class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval patience{10, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // Up to and with `end`, or what comes before the connection ends.
  std::string read_to(std::string_view end) {
    std::string got;
    char c = 0;
    while (!got.ends_with(end) && ::recv(fd_, &c, 1, 0) == 1) got += c;
    return got;
  }
  std::string read_all() { return read_to(std::string_view("\0never\0", 7)); }

 private:
  int fd_;
  bool connected_ = false;
};

class HttpServerTest : public testing::Test {
 protected:
  void start(HttpServerOptions options = {}) {
    options.address = {"127.0.0.1", 0};
    server_ = HttpServer::open(std::move(options), clock_, logger_).value();
    server_->start(service_);
  }
  std::string ask(const std::string& text) {
    Client client(server_->port());
    client.send(text);
    return client.read_all();
  }

  SystemClock clock_;
  MemoryLogger logger_;
  EchoService service_;
  std::unique_ptr<HttpServer> server_;
};

const std::string kGet = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n";
const std::string kClosing = "GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

TEST_F(HttpServerTest, AnswersOneRequestAfterTheOther) {
  start();
  Client client(server_->port());
  client.send(kGet + kGet);
  EXPECT_THAT(client.read_to("GET /a 0"), HasSubstr("HTTP/1.1 200 OK"));
  EXPECT_THAT(client.read_to("GET /a 0"), HasSubstr("HTTP/1.1 200 OK"));
  client.send("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_THAT(client.read_to("POST /b 3"), HasSubstr("200 OK"));
  client.send("HEAD /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string head = client.read_all();
  EXPECT_THAT(head, HasSubstr("Content-Length: 9\r\n"));
  EXPECT_THAT(head, testing::EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, TellsBrowsersToTrustNobodyElse) {
  start();
  const std::string answer = ask(kClosing);
  EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(answer, HasSubstr("Referrer-Policy: no-referrer\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("Access-Control")));
}

TEST_F(HttpServerTest, RefusesWhatIsNoRequestOrTooLarge) {
  start();
  EXPECT_THAT(ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask(std::string("\0\1\2\3\r\n\r\n", 8)), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask("DELETE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(20'000, 'y') + "\r\n\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"), StartsWith("HTTP/1.1 413"));
  EXPECT_EQ(service_.answered, 0);
  EXPECT_THAT(ask(kClosing), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, RefusesBombs) {
  start();
  std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 10'000; ++i) many += "A: b\r\n";
  EXPECT_THAT(ask(many + "\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(ask("GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 4"));
  // A body that does not say how long it becomes.
  std::string chunks = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 40; ++i) chunks += "10000\r\n" + std::string(0x10000, 'a') + "\r\n";
  EXPECT_THAT(ask(chunks + "0\r\n\r\n"), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(ask("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n"), StartsWith("HTTP/1.1 4"));
  EXPECT_EQ(service_.answered, 0);
  EXPECT_THAT(ask(kClosing), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, AnswersManyThatCameAtOnceInTheirOrder) {
  start();
  std::string all;
  for (int i = 0; i < 500; ++i) all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  Client client(server_->port());
  client.send(all);
  for (int i = 0; i < 500; ++i) {
    const std::string wanted = "GET /" + std::to_string(i) + " 0";
    ASSERT_THAT(client.read_to(wanted), testing::EndsWith(wanted));
  }
  EXPECT_EQ(service_.answered, 500);
}

TEST_F(HttpServerTest, EndsARequestThatComesByteByByte) {
  start({.read_timeout = DurationMs{300}});
  Client slow(server_->port());
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(1000, 'a');
  // Each byte comes long before the timeout; the whole of it does not.
  const MonotonicNs began = clock_.monotonic();
  std::thread dripping([&] {
    for (const char c : request) {
      slow.send(std::string_view(&c, 1));
      ::usleep(20'000);
      if (clock_.monotonic() - began > DurationNs{5'000'000'000}) break;
    }
  });
  slow.read_all();
  EXPECT_LT(clock_.monotonic() - began, DurationNs{4'500'000'000});
  dripping.join();
  EXPECT_EQ(service_.answered, 0);
}

TEST_F(HttpServerTest, PacksWhatIsLargeForWhoeverTakesIt) {
  start();
  const std::string packed = ask("GET /large HTTP/1.1\r\nHost: x\r\nAccept-Encoding: br, gzip\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(packed, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_LT(packed.size(), 5000u);
  const std::string plain = ask("GET /large HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip;q=0\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(plain, Not(HasSubstr("Content-Encoding")));
  EXPECT_GT(plain.size(), 100'000u);
}

TEST_F(HttpServerTest, SendsNothingTwiceThatIsTagged) {
  start();
  EXPECT_THAT(ask("GET /tagged HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), HasSubstr("ETag: \"one\"\r\n"));
  EXPECT_THAT(ask("GET /tagged HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"one\"\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 304"));
}

TEST_F(HttpServerTest, HasRoomForSoManyConnectionsAndStreams) {
  start({.max_connections = 4, .max_streams = 2});
  std::vector<std::unique_ptr<Client>> listening;
  for (int i = 0; i < 2; ++i) {
    listening.push_back(std::make_unique<Client>(server_->port()));
    listening.back()->send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(listening.back()->read_to("data: {}\n\n"), HasSubstr("text/event-stream"));
  }
  Client third(server_->port());
  third.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(third.read_to("\r\n"), StartsWith("HTTP/1.1 503"));
  Client fourth(server_->port());
  fourth.send(kGet);
  EXPECT_THAT(fourth.read_to("\r\n"), StartsWith("HTTP/1.1 200"));
  // Nothing is answered to it but that.
  EXPECT_THAT(ask(kGet), StartsWith("HTTP/1.1 503"));
  EXPECT_FALSE(service_.ended);
  listening.clear();
  while (!service_.ended) ::usleep(1000);
}

TEST_F(HttpServerTest, EndsAConnectionThatKeepsItsRequestToItself) {
  start({.read_timeout = DurationMs{200}});
  Client silent(server_->port());
  Client half(server_->port());
  half.send("GET / HTT");
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_EQ(half.read_all(), "");
}

TEST_F(HttpServerTest, StopsWhateverIsOpen) {
  start();
  Client listening(server_->port());
  listening.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  listening.read_to("\n\n");
  Client half(server_->port());
  half.send("GET / HTT");
  server_->stop();
  listening.read_all();
  half.read_all();
  Client late(server_->port());
  EXPECT_FALSE(late.connected());
}

TEST_F(HttpServerTest, SaysThatAPortIsTaken) {
  start();
  HttpServerOptions same;
  same.address = {"127.0.0.1", server_->port()};
  EXPECT_EQ(HttpServer::open(same, clock_, logger_).error().code, Errc::locked);
  EXPECT_TRUE(server_->is_loopback());
}

TEST(HttpAddress, IsHostAndPort) {
  EXPECT_EQ(HttpAddress::parse("127.0.0.1:9192").value().port, 9192);
  EXPECT_EQ(HttpAddress::parse("http://localhost:80/").value().host, "localhost");
  EXPECT_EQ(HttpAddress::parse("[::1]:1").value().host, "::1");
  EXPECT_EQ(HttpAddress::parse(":8080").value().host, "0.0.0.0");
  for (const char* bad : {"", "localhost", "a:b", "a:70000", "a:-1", "::1:9192", "a b:1", "user@host:1", "host:"}) {
    EXPECT_FALSE(HttpAddress::parse(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace cordwood::inspector
