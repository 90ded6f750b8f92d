// The only file that includes Boost.Beast: the rest of the program compiles without it.
#include "inspector/http_server.h"

#include <fmt/format.h>
#include <pthread.h>
#include <zlib.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"

namespace cordwood::inspector {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::chrono::milliseconds kTickInterval{250};
constexpr std::chrono::milliseconds kAcceptPause{100};
// While there is no room, a connection that has kept its request to itself for so long is ended for a new one.
constexpr DurationMs kPatienceWhenFull{2000};
constexpr std::size_t kWorthCompressing = 4096;
constexpr std::size_t kLargestAsset = 64 << 20;

std::chrono::milliseconds chrono_of(DurationMs duration) { return std::chrono::milliseconds(duration.value); }

std::string text_of(boost::beast::string_view view) { return std::string(view.data(), view.size()); }

bool accepts_gzip(std::string_view encodings) {
  for (std::size_t at = encodings.find("gzip"); at != std::string_view::npos; at = encodings.find("gzip", at + 1)) {
    const std::string_view rest = encodings.substr(at + 4, encodings.substr(at + 4).find(','));
    // "gzip;q=0" is a refusal.
    const std::size_t q = rest.find("q=");
    return q == std::string_view::npos || rest.substr(q + 2).find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

std::optional<std::string> gzip(const std::string& text) {
  z_stream stream{};
  // 15 bits of window, and 16 for gzip's header instead of zlib's.
  if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int done = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (done != Z_STREAM_END) return {};
  return out;
}

std::optional<std::string> gunzip(const std::string& packed, std::size_t at_most) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return {};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  int state = Z_OK;
  while (state == Z_OK && out.size() < at_most) {
    const std::size_t before = out.size();
    out.resize(before + 256 * 1024);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = 256 * 1024;
    state = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END) return {};
  return out;
}

// A few threads with one queue. They are made with the first job.
class WorkerPool {
 public:
  explicit WorkerPool(std::size_t threads) : wanted_(threads) {}
  ~WorkerPool() { stop(); }

  void post(std::function<void()> job) {
    MutexLock lock(mu_);
    if (stopped_) return;
    jobs_.push_back(std::move(job));
    if (threads_.size() < wanted_ && idle_ < jobs_.size()) {
      threads_.emplace_back([this] { run(); });
      ::pthread_setname_np(threads_.back().native_handle(), "insp-answers");
    }
    changed_.notify_one();
  }
  // What has begun is finished; the rest never runs.
  void stop() {
    std::vector<std::thread> threads;
    {
      MutexLock lock(mu_);
      stopped_ = true;
      threads.swap(threads_);
      changed_.notify_all();
    }
    for (std::thread& thread : threads) thread.join();
  }
  // The jobs that stop() has left, and what they hold.
  void drop() {
    std::deque<std::function<void()>> jobs;
    MutexLock lock(mu_);
    jobs.swap(jobs_);
  }

 private:
  void run() {
    while (true) {
      std::function<void()> job;
      {
        MutexLock lock(mu_);
        ++idle_;
        changed_.wait(mu_, [&] {
          mu_.assert_held();
          return stopped_ || !jobs_.empty();
        });
        --idle_;
        if (stopped_) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job();
    }
  }

  const std::size_t wanted_;
  Mutex mu_;
  ConditionVariable changed_;
  std::deque<std::function<void()>> jobs_ GUARDED_BY(mu_);
  std::vector<std::thread> threads_ GUARDED_BY(mu_);
  std::size_t idle_ GUARDED_BY(mu_) = 0;
  bool stopped_ GUARDED_BY(mu_) = false;
};

HttpAnswer problem(int status, std::string_view error) {
  HttpAnswer answer;
  answer.status = status;
  // The words are ours, without quotes and backslashes.
  answer.body = fmt::format("{{\"error\":\"{}\",\"field\":null}}", error);
  return answer;
}

// Styles within elements are set by charts and bars; scripts come from files of ours only.
constexpr std::string_view kContentPolicy =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 63\r\nRetry-After: 2\r\n"
    "Connection: close\r\n\r\n"
    "{\"error\":\"there are too many connections already\",\"field\":null}";
static_assert(kFull.size() - kFull.find("\r\n\r\n") - 4 == 63);

}  // namespace

Result<HttpAddress> HttpAddress::parse(std::string_view text) {
  HttpAddress address;
  std::string_view rest = text;
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return Error{Errc::invalid, fmt::format("'{}' is no HOST:PORT", text)};
  std::string_view host = rest.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return Error{Errc::invalid, fmt::format("'{}': an IPv6 address stands in brackets", text)};
  }
  const std::string_view port = rest.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size()) {
    return Error{Errc::invalid, fmt::format("'{}': '{}' is no port", text, port)};
  }
  if (host.find_first_of(" /@?#") != std::string_view::npos) return Error{Errc::invalid, fmt::format("'{}': '{}' is no host", text, host)};
  address.host = host.empty() ? "0.0.0.0" : std::string(host);
  return address;
}

struct HttpServer::Impl {
  class Session;

  Impl(HttpServerOptions wanted, const Clock& time, Logger& to)
      : options(std::move(wanted)), clock(time), logger(to), workers(options.workers) {}

  Result<void> bind();
  void accept();
  void take_in(tcp::socket socket);
  bool make_room();
  void start_ticker();
  void tick();
  void give_events(const std::vector<std::shared_ptr<Session>>& listeners, std::vector<std::string> events);

  const HttpServerOptions options;
  const Clock& clock;
  Logger& logger;
  HttpService* service = nullptr;
  asio::io_context io{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> keeps_running;
  tcp::acceptor acceptor{io};
  asio::steady_timer accept_pause{io};
  asio::steady_timer ticker{io};
  std::string host;
  std::uint16_t port = 0;
  bool loopback = false;
  WorkerPool workers;
  std::thread thread;
  // What follows belongs to the thread of the connections.
  bool stopping = false;
  bool ticker_runs = false;
  bool tick_under_way = false;
  std::list<Session*> sessions;  // the oldest first
  std::size_t stream_count = 0;
};

// One connection. All of it happens on the thread of the connections; whoever holds it keeps it alive.
class HttpServer::Impl::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Impl& server, tcp::socket socket) : server_(server), stream_(std::move(socket)) {
    place_ = server_.sessions.insert(server_.sessions.end(), this);
  }
  ~Session() {
    server_.sessions.erase(place_);
    if (!events_) return;
    --server_.stream_count;
    if (server_.stream_count > 0 || server_.stopping) return;
    server_.workers.post([service = server_.service] { service->all_streams_ended(); });
  }

  void read() {
    if (server_.stopping) return close();
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(kLargestHeader));
    parser_->body_limit(kLargestBody);
    waits_since_ = server_.clock.monotonic();
    stream_.expires_after(chrono_of(server_.options.read_timeout));
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](ErrorCode error, std::size_t) { self->on_read(error); });
  }

  void close() {
    ErrorCode ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

  // Since when it has waited for a request; nothing while one is being answered.
  const std::optional<MonotonicNs>& waits_since() const { return waits_since_; }
  const std::shared_ptr<EventStream>& events() const { return events_; }
  bool takes_events() const { return events_ != nullptr && !writing_; }

  void send_event(std::string text) {
    if (text.empty() || writing_) return;
    writing_ = true;
    event_ = std::move(text);
    stream_.expires_after(chrono_of(server_.options.write_timeout));
    asio::async_write(stream_, asio::buffer(event_), [self = shared_from_this()](ErrorCode error, std::size_t) {
      self->writing_ = false;
      if (error) self->close();
    });
  }

 private:
  void on_read(ErrorCode error) {
    waits_since_.reset();
    keeps_alive_ = false;
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return send(problem(431, "the header is longer than 16 KiB"));
    }
    if (error == http::error::body_limit) return send(problem(413, "the body is longer than 2 MiB"));
    if (error == http::error::end_of_stream || error == asio::error::operation_aborted) return close();
    // Something that is no HTTP, but only where something came.
    if (error && error.category() == http::make_error_code(http::error::bad_method).category()) {
      return send(problem(400, "this is no HTTP request"));
    }
    if (error) return close();

    const http::request<http::string_body>& message = parser_->get();
    keeps_alive_ = message.keep_alive();
    head_only_ = message.method() == http::verb::head;
    if (message.method() != http::verb::get && !head_only_ && message.method() != http::verb::post) {
      HttpAnswer answer = problem(405, "only GET, HEAD and POST are answered");
      answer.headers.emplace_back("Allow", "GET, HEAD, POST");
      return send(std::move(answer));
    }
    auto request = std::make_shared<HttpRequest>(read_request(message));
    parser_.reset();
    if (std::optional<HttpAnswer> at_once = server_.service->answer_at_once(*request)) return send(std::move(*at_once));
    server_.workers.post([self = shared_from_this(), request] {
      auto answer = std::make_shared<HttpAnswer>(self->server_.service->answer(*request));
      prepare(*answer, *request);
      asio::post(self->server_.io, [self, answer] { self->send(std::move(*answer)); });
    });
  }

  static HttpRequest read_request(const http::request<http::string_body>& message) {
    const auto header = [&](auto name) {
      const auto at = message.find(name);
      return at == message.end() ? std::string() : text_of(at->value());
    };
    HttpRequest request;
    request.method = text_of(message.method_string());
    request.target = text_of(message.target());
    request.body = message.body();
    request.host = header(http::field::host);
    request.origin = header(http::field::origin);
    request.content_type = header(http::field::content_type);
    request.authorization = header(http::field::authorization);
    request.cookie = header(http::field::cookie);
    request.fetch_site = header("Sec-Fetch-Site");
    request.fetch_mode = header("Sec-Fetch-Mode");
    request.fetch_dest = header("Sec-Fetch-Dest");
    request.if_none_match = header(http::field::if_none_match);
    request.accepts_gzip = accepts_gzip(header(http::field::accept_encoding));
    return request;
  }

  // Not on the thread of the connections: it may be a megabyte.
  static void prepare(HttpAnswer& answer, const HttpRequest& request) {
    if (!answer.etag.empty() && answer.status == 200 && request.if_none_match == answer.etag) {
      answer.status = 304;
      answer.body.clear();
      answer.gzipped = false;
    }
    if (!answer.gzipped && request.accepts_gzip && answer.body.size() >= kWorthCompressing) {
      if (std::optional<std::string> packed = gzip(answer.body)) {
        answer.body = std::move(*packed);
        answer.gzipped = true;
      }
    } else if (answer.gzipped && !request.accepts_gzip) {
      std::optional<std::string> plain = gunzip(answer.body, kLargestAsset);
      if (!plain) {
        answer = problem(500, "the file cannot be unpacked");
        return;
      }
      answer.body = std::move(*plain);
      answer.gzipped = false;
    }
  }

  template <class Body>
  static void set_headers(http::response<Body>& response, const HttpAnswer& answer) {
    response.set(http::field::content_type, answer.content_type);
    response.set(http::field::cache_control, answer.cache_control);
    response.set("X-Content-Type-Options", "nosniff");
    response.set("Referrer-Policy", "no-referrer");
    response.set("X-Frame-Options", "DENY");
    response.set("Cross-Origin-Resource-Policy", "same-origin");
    response.set("Cross-Origin-Opener-Policy", "same-origin");
    response.set("Content-Security-Policy", kContentPolicy);
    response.set(http::field::vary, "Accept-Encoding");
    if (answer.gzipped) response.set(http::field::content_encoding, "gzip");
    if (!answer.etag.empty()) response.set(http::field::etag, answer.etag);
    for (const auto& [name, value] : answer.headers) response.set(name, value);
  }

  template <class Body>
  void write(std::shared_ptr<http::response<Body>> response) {
    stream_.expires_after(chrono_of(server_.options.write_timeout));
    http::async_write(stream_, *response, [self = shared_from_this(), response](ErrorCode error, std::size_t) {
      if (error) return self->close();
      if (self->events_) return self->listen();
      if (!self->keeps_alive_) return self->close();
      self->read();
    });
  }

  void send(HttpAnswer answer) {
    if (server_.stopping) return close();
    if (answer.stream) {
      if (server_.stream_count >= server_.options.max_streams) {
        answer = problem(503, "there are too many event streams already");
      } else {
        ++server_.stream_count;
        events_ = std::move(answer.stream);
        answer.content_type = "text/event-stream";
      }
    }
    const auto status = static_cast<http::status>(answer.status);
    if (events_ || head_only_) {
      auto response = std::make_shared<http::response<http::empty_body>>(status, 11);
      set_headers(*response, answer);
      if (events_) {
        // Its end is the end of the connection.
        keeps_alive_ = false;
      } else {
        response->content_length(answer.body.size());
      }
      response->keep_alive(keeps_alive_);
      return write(std::move(response));
    }
    auto response = std::make_shared<http::response<http::string_body>>(status, 11);
    set_headers(*response, answer);
    response->body() = std::move(answer.body);
    if (answer.status != 304) response->prepare_payload();
    response->keep_alive(keeps_alive_);
    write(std::move(response));
  }

  void listen() {
    stream_.expires_never();
    notice_end();
    server_.start_ticker();
  }

  // Who listens has nothing to say: the read is there to see the end.
  void notice_end() {
    stream_.async_read_some(asio::buffer(unwanted_), [self = shared_from_this()](ErrorCode error, std::size_t) {
      if (error) return self->close();
      self->notice_end();
    });
  }

  Impl& server_;
  std::list<Session*>::iterator place_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kLargestHeader + kLargestBody};
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<MonotonicNs> waits_since_;
  bool keeps_alive_ = false;
  bool head_only_ = false;
  std::shared_ptr<EventStream> events_;
  std::string event_;
  bool writing_ = false;
  std::array<char, 256> unwanted_{};
};

Result<void> HttpServer::Impl::bind() {
  ErrorCode error;
  tcp::endpoint endpoint;
  const std::string& wanted = options.address.host;
  const asio::ip::address literal = asio::ip::make_address(wanted, error);
  if (!error) {
    endpoint = tcp::endpoint(literal, options.address.port);
  } else if (wanted == "localhost") {
    endpoint = tcp::endpoint(asio::ip::address_v4::loopback(), options.address.port);
  } else {
    tcp::resolver resolver(io);
    const auto found = resolver.resolve(wanted, std::to_string(options.address.port), tcp::resolver::passive, error);
    if (error || found.empty()) return Error{Errc::not_found, fmt::format("{}: there is no such host", wanted)};
    endpoint = found.begin()->endpoint();
  }
  const std::string at = fmt::format("{}:{}", wanted, options.address.port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error == asio::error::address_in_use) return Error{Errc::locked, fmt::format("{} is taken", at)};
  if (error) return Error{Errc::io, fmt::format("cannot listen on {}", at), error.value()};
  const tcp::endpoint bound = acceptor.local_endpoint(error);
  if (error) return Error{Errc::io, fmt::format("cannot listen on {}", at), error.value()};
  host = bound.address().to_string();
  port = bound.port();
  loopback = bound.address().is_loopback();
  return {};
}

void HttpServer::Impl::accept() {
  acceptor.async_accept([this](ErrorCode error, tcp::socket socket) {
    if (stopping || error == asio::error::operation_aborted) return;
    if (error) {
      // No descriptors, most likely. The next try a little later, or this would be all that the thread does.
      accept_pause.expires_after(kAcceptPause);
      accept_pause.async_wait([this](ErrorCode cancelled) {
        if (!cancelled && !stopping) accept();
      });
      return;
    }
    take_in(std::move(socket));
    accept();
  });
}

void HttpServer::Impl::take_in(tcp::socket socket) {
  if (sessions.size() < options.max_connections || make_room()) {
    ErrorCode ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    std::make_shared<Session>(*this, std::move(socket))->read();
    return;
  }
  // What it has asked already is read first, or the answer would be lost with the reset.
  ErrorCode ignored;
  socket.non_blocking(true, ignored);
  std::array<char, 4096> asked;
  socket.read_some(asio::buffer(asked), ignored);
  socket.write_some(asio::buffer(kFull), ignored);
  socket.shutdown(tcp::socket::shutdown_send, ignored);
}

// The connection that has waited longest for its request goes, but not one that has just come.
bool HttpServer::Impl::make_room() {
  const MonotonicNs now = clock.monotonic();
  Session* longest = nullptr;
  for (Session* session : sessions) {
    const auto& since = session->waits_since();
    if (!since || now - *since < to_ns(kPatienceWhenFull)) continue;
    if (longest == nullptr || *since < *longest->waits_since()) longest = session;
  }
  if (longest == nullptr) return false;
  longest->close();
  return true;
}

void HttpServer::Impl::start_ticker() {
  if (ticker_runs) return;
  ticker_runs = true;
  tick();
}

void HttpServer::Impl::tick() {
  if (stopping || stream_count == 0) {
    ticker_runs = false;
    return;
  }
  std::vector<std::shared_ptr<Session>> listeners;
  for (Session* session : sessions) {
    if (session->takes_events()) listeners.push_back(session->shared_from_this());
  }
  if (!tick_under_way && !listeners.empty()) {
    tick_under_way = true;
    workers.post([this, listeners = std::move(listeners)]() mutable {
      std::vector<std::shared_ptr<EventStream>> streams;
      for (const auto& listener : listeners) streams.push_back(listener->events());
      auto events = std::make_shared<std::vector<std::string>>(service->tick(streams));
      asio::post(io, [this, listeners = std::move(listeners), events] { give_events(listeners, std::move(*events)); });
    });
  }
  ticker.expires_after(kTickInterval);
  ticker.async_wait([this](ErrorCode cancelled) {
    if (!cancelled) tick();
  });
}

void HttpServer::Impl::give_events(const std::vector<std::shared_ptr<Session>>& listeners, std::vector<std::string> events) {
  tick_under_way = false;
  if (stopping) return;
  for (std::size_t i = 0; i < listeners.size() && i < events.size(); ++i) listeners[i]->send_event(std::move(events[i]));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() { stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::open(HttpServerOptions options, const Clock& clock, Logger& logger) {
  auto impl = std::make_unique<Impl>(std::move(options), clock, logger);
  TRY(impl->bind());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

void HttpServer::start(HttpService& service) {
  Impl& impl = *impl_;
  impl.service = &service;
  impl.keeps_running.emplace(impl.io.get_executor());
  impl.accept();
  impl.thread = std::thread([&impl] { impl.io.run(); });
  ::pthread_setname_np(impl.thread.native_handle(), "insp-conns");
}

void HttpServer::stop() {
  Impl& impl = *impl_;
  if (!impl.thread.joinable()) return;
  // Answers that are being made are posted to the connections' thread, which goes on until nothing is left of them.
  impl.workers.stop();
  asio::post(impl.io, [&impl] {
    impl.stopping = true;
    ErrorCode ignored;
    impl.acceptor.close(ignored);
    impl.accept_pause.cancel();
    impl.ticker.cancel();
    for (Impl::Session* session : impl.sessions) session->close();
    impl.keeps_running.reset();
  });
  impl.thread.join();
  // These hold connections, too.
  impl.workers.drop();
}

const std::string& HttpServer::host() const { return impl_->host; }
std::uint16_t HttpServer::port() const { return impl_->port; }
bool HttpServer::is_loopback() const { return impl_->loopback; }

}  // namespace cordwood::inspector
