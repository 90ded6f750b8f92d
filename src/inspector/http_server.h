// inspector/http_server.h — HTTP/1.1 for the inspector: connections, limits, keep-alive, streams of events. What is answered is an
// HttpService's business.
//
// One thread for the connections and, from the first request on, two that run the service; never one of the broker. Bounded in
// everything that a stranger can ask for: connections, streams, bytes of a header and of a body, and the time that each may take.
// Threads: start() and stop() from one thread; the service is called by several at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/types.h"

namespace cordwood::inspector {

struct HttpRequest {
  std::string method;  // GET, HEAD or POST: others are refused before
  std::string target;  // as it came: "/api/v1/topics?search=a"
  std::string body;
  // Headers that matter; empty where there is none.
  std::string host;
  std::string origin;
  std::string content_type;
  std::string authorization;
  std::string cookie;
  std::string fetch_site;  // Sec-Fetch-Site
  std::string fetch_mode;
  std::string fetch_dest;
  std::string if_none_match;
  bool accepts_gzip = false;
};

// Somebody who listens to events; what that means is the service's.
class EventStream {
 public:
  virtual ~EventStream() = default;
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  bool gzipped = false;  // the body is, already
  std::string etag;      // with its quotes; empty: none
  std::string cache_control = "no-store";
  std::vector<std::pair<std::string, std::string>> headers;  // further ones
  std::shared_ptr<EventStream> stream;  // then there is no body: what tick() says is sent, until one side ends it
};

class HttpService {
 public:
  virtual ~HttpService() = default;
  // On a worker; may take its time.
  virtual HttpAnswer answer(const HttpRequest& request) = 0;
  // On the thread of the connections, before: what needs no thought is answered even when all workers are busy. Not compressed.
  virtual std::optional<HttpAnswer> answer_at_once(const HttpRequest&) { return {}; }
  // Every 250 ms at most, while somebody listens: what each stream is sent now, ready for the wire; empty for nothing. Streams
  // that have not taken the last one yet are left out. Never twice at the same time.
  virtual std::vector<std::string> tick(std::span<const std::shared_ptr<EventStream>> streams) = 0;
  // Nobody listens any more.
  virtual void all_streams_ended() {}
};

// Where to listen. "127.0.0.1:9192", "[::1]:9192", "localhost:0", also behind "http://".
struct HttpAddress {
  std::string host;
  std::uint16_t port = 0;
  // Errors: invalid.
  static Result<HttpAddress> parse(std::string_view text);
};

struct HttpServerOptions {
  HttpAddress address;
  std::size_t max_connections = 256;
  std::size_t max_streams = 64;
  std::size_t workers = 2;
  DurationMs read_timeout{30'000};   // for a request, from the end of the one before
  DurationMs write_timeout{30'000};  // for an answer, or an event
};

class HttpServer {
 public:
  static constexpr std::size_t kLargestHeader = 16 * 1024;
  static constexpr std::size_t kLargestBody = 2 << 20;

  // `clock` and `logger` must outlive it. Binds and listens; nothing is accepted before start(). Errors: locked when the port is taken; not_found for a host that
  // nobody knows; io.
  static Result<std::unique_ptr<HttpServer>> open(HttpServerOptions options, const Clock& clock, Logger& logger);
  ~HttpServer();

  // `service` must outlive the server, or its stop().
  void start(HttpService& service);
  // Ends all connections and waits for the answers that are being made. Idempotent.
  void stop();

  const std::string& host() const;  // the address that is bound, "127.0.0.1"
  std::uint16_t port() const;
  bool is_loopback() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cordwood::inspector
