// net/net_testing.h — what the tests of net share: a blocking client, a sink that records, a file to send from.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"
#include "net/address.h"
#include "net/request_sink.h"
#include "net/server.h"
#include "net/unique_fd.h"

namespace cordwood::net {

inline ByteVector framed(std::string_view body) {
  ByteWriter writer;
  writer.i32(static_cast<std::int32_t>(body.size()));
  writer.text(body);
  return writer.take();
}

inline protocol::Payload payload_of(std::string_view text) {
  protocol::Payload payload;
  payload.pieces.push_back(to_vector(as_bytes(text)));
  return payload;
}

// A blocking socket; every wait ends after ten seconds, so that a broken server fails a test and does not hang it.
class TestClient {
 public:
  explicit TestClient(std::uint16_t port, int receive_buffer = 0) {
    socket_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    timeval limit{10, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (receive_buffer > 0) {
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    auto address = resolve("127.0.0.1", port);
    connected_ = address && ::connect(socket_.get(), address->raw(), address->length) == 0;
  }

  bool connected() const { return connected_; }
  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }
  void shut_down_write() { ::shutdown(socket_.get(), SHUT_WR); }

  bool send(BytesView bytes) {
    while (!bytes.empty()) {
      ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
  }
  bool send_frame(std::string_view body) { return send(framed(body)); }

  // Nothing when the stream ended or nothing came in time.
  std::optional<ByteVector> receive(std::size_t count) {
    ByteVector bytes(count);
    std::size_t at = 0;
    while (at < count) {
      ssize_t got = ::recv(socket_.get(), bytes.data() + at, count - at, 0);
      if (got <= 0) return std::nullopt;
      at += static_cast<std::size_t>(got);
    }
    return bytes;
  }
  std::optional<std::string> receive_frame() {
    auto size = receive(4);
    if (!size) return std::nullopt;
    auto body = receive(static_cast<std::size_t>(load_be<std::int32_t>(*size, 0)));
    if (!body) return std::nullopt;
    return std::string(as_text(*body));
  }
  // True when the server has closed the connection and nothing came before that.
  bool closed_by_server() {
    std::byte byte;
    ssize_t got = ::recv(socket_.get(), &byte, 1, 0);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }
  bool something_to_read(int within_ms) {
    pollfd poll{socket_.get(), POLLIN, 0};
    return ::poll(&poll, 1, within_ms) > 0;
  }

 private:
  UniqueFd socket_;
  bool connected_ = false;
};

// Calls a function with each request; the default answers with the request's own bytes.
class TestSink final : public RequestSink {
 public:
  using Function = std::function<void(protocol::Request)>;
  explicit TestSink(Function function = echo) : function_(std::move(function)) {}

  static void echo(protocol::Request request) {
    request.responder.send(payload_of(as_text(request.frame->bytes())));
  }

  void handle(protocol::Request request) override {
    {
      MutexLock lock(mu_);
      ++handled_;
    }
    function_(std::move(request));
  }
  bool joins(const protocol::Peer&, BytesView frame) override {
    return joining && as_text(frame).starts_with(*joining);
  }
  void disconnected(const protocol::Peer& peer) override {
    MutexLock lock(mu_);
    disconnected_.push_back(peer.connection_id);
    changed_.notify_all();
  }

  std::optional<std::string> joining;  // a request that begins like this joins those that wait

  std::size_t handled() const {
    MutexLock lock(mu_);
    return handled_;
  }
  bool wait_for_disconnects(std::size_t count) {
    MutexLock lock(mu_);
    return changed_.wait_for(mu_, std::chrono::seconds(10), [&]() NO_THREAD_SAFETY_ANALYSIS {
      return disconnected_.size() >= count;
    });
  }

 private:
  Function function_;
  mutable Mutex mu_;
  ConditionVariable changed_;
  std::size_t handled_ GUARDED_BY(mu_) = 0;
  std::vector<std::uint64_t> disconnected_ GUARDED_BY(mu_);
};

// Keeps requests until the test answers them.
class HeldRequests {
 public:
  void hold(protocol::Request request) {
    MutexLock lock(mu_);
    requests_.push_back(std::move(request));
    changed_.notify_all();
  }
  // The one that came first. Ends the test program when none comes in time.
  protocol::Request take() {
    MutexLock lock(mu_);
    bool came = changed_.wait_for(mu_, std::chrono::seconds(10), [&]() NO_THREAD_SAFETY_ANALYSIS {
      return !requests_.empty();
    });
    CHECK(came, "no request came");
    protocol::Request first = std::move(requests_.front());
    requests_.erase(requests_.begin());
    return first;
  }
  std::size_t count() const {
    MutexLock lock(mu_);
    return requests_.size();
  }

 private:
  mutable Mutex mu_;
  ConditionVariable changed_;
  std::vector<protocol::Request> requests_ GUARDED_BY(mu_);
};

// A server on a port of its own.
struct RunningServer {
  explicit RunningServer(RequestSink& sink, ServerOptions options = {}) : server(with_listener(options), sink, clock, logger) {
    server.bind().value();
    server.start().value();
    port = server.bound().front().port;
  }
  static ServerOptions with_listener(ServerOptions options) {
    if (options.listeners.empty()) options.listeners = {{"PLAINTEXT", "127.0.0.1", 0}};
    if (options.loops == 0) options.loops = 2;
    return options;
  }

  SystemClock clock;
  MemoryLogger logger;
  Server server;
  std::uint16_t port = 0;
};

// A temporary file, with or without a descriptor that sendfile may use.
class TestFile final : public ByteSource {
 public:
  enum class Descriptor { shown, hidden };
  explicit TestFile(BytesView content, Descriptor descriptor = Descriptor::shown) : descriptor_(descriptor) {
    char path[] = "/tmp/cordwood-net-test-XXXXXX";
    fd_ = UniqueFd(::mkstemp(path));
    CHECK(fd_.valid(), "mkstemp");
    ::unlink(path);
    while (!content.empty()) {
      ssize_t count = ::write(fd_.get(), content.data(), content.size());
      CHECK(count > 0, "write");
      content = content.subspan(static_cast<std::size_t>(count));
    }
  }
  int native_fd() const override { return descriptor_ == Descriptor::shown ? fd_.get() : -1; }
  Result<std::size_t> read_at(FilePosition position, MutableBytesView into) const override {
    ssize_t count = ::pread(fd_.get(), into.data(), into.size(), position.value);
    if (count < 0) return system_error("pread", errno);
    return static_cast<std::size_t>(count);
  }

 private:
  UniqueFd fd_;
  Descriptor descriptor_;
};

// Bytes that differ enough for a misplaced piece to show.
inline ByteVector pattern(std::size_t size, std::uint32_t seed = 1) {
  ByteVector bytes(size);
  std::uint32_t state = seed;
  for (auto& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

}  // namespace cordwood::net
