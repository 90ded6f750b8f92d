#include "net/connection.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "net/connection_set.h"

namespace cordwood::net {
namespace {

// How long the one request that may exceed the memory budget can stand still while all other large ones wait for it.
constexpr DurationMs kOverdraftPatience{10'000};

// "connections.max.idle.ms" beyond this is as good as never, and would overflow in nanoseconds.
constexpr DurationMs kLongestIdle{INT64_MAX / 2'000'000};

}  // namespace

template <class Function>
void ConnectionChannel::on_loop(Function function) {
  if (loop_.on_loop_thread()) {
    if (connection_ != nullptr) function(*connection_);
    return;
  }
  loop_.post([self = shared_from_this(), function = std::move(function)]() mutable {
    if (self->connection_ != nullptr) function(*self->connection_);
  });
}

void ConnectionChannel::send(std::uint64_t sequence, protocol::Payload payload) {
  on_loop([sequence, payload = std::move(payload)](Connection& connection) mutable {
    connection.answer(sequence, std::move(payload));
  });
}

void ConnectionChannel::send_nothing(std::uint64_t sequence) {
  on_loop([sequence](Connection& connection) { connection.answer_nothing(sequence); });
}

void ConnectionChannel::close(std::uint64_t sequence, std::string why) {
  on_loop([sequence, why = std::move(why)](Connection& connection) mutable { connection.refuse(sequence, std::move(why)); });
}

Connection::Connection(ConnectionSet& set, std::uint64_t id, std::unique_ptr<Transport> transport,
                       std::shared_ptr<const protocol::Peer> peer)
    : set_(set),
      id_(id),
      transport_(std::move(transport)),
      peer_(std::move(peer)),
      channel_(std::make_shared<ConnectionChannel>(set.loop(), *this)),
      reader_(set.pool(), set.budget(), set.settings().request_max_bytes) {}

Connection::~Connection() {
  channel_->detach();
  set_.loop().unwatch(watch_);
  set_.loop().cancel(idle_timer_);
  set_.loop().cancel(overdraft_timer_);
}

bool Connection::open() {
  // Edge-triggered for everything once and for all: no system call is spent on changing what is waited for.
  auto watch = set_.loop().watch(transport_->fd(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, *this);
  if (!watch) {
    set_.report(*peer_, watch.error().message());
    return false;
  }
  watch_ = *watch;
  last_activity_ = set_.clock().monotonic();
  DurationMs idle = set_.settings().max_idle_ms;
  if (idle.value >= 0 && idle < kLongestIdle) {
    idle_timer_ = set_.loop().schedule(last_activity_ + to_ns(idle), [this] { check_idle(); });
  }
  return true;
}

void Connection::on_events(std::uint32_t epoll_events) {
  if (epoll_events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) readable_ = true;
  if (epoll_events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) writable_ = true;
  if (epoll_events & (EPOLLRDHUP | EPOLLHUP)) peer_shut_down_ = true;
  if (epoll_events & (EPOLLERR | EPOLLHUP)) reset_ = true;
  drive();
}

void Connection::drive() {
  if (!set_.begin_driving()) {
    set_.drive_later(id_);
    return;
  }
  driving_ = true;
  turn_left_ = ConnectionSet::kBytesPerTurn;
  input_ = leftover_;
  Step step = Step::again;
  while (step == Step::again && !over_) step = writer_.busy() ? write_some() : is_answered() ? begin_answer() : read_some();
  driving_ = false;
  set_.end_driving();
  if (over_) {
    set_.remove(id_);  // destroys this
    return;
  }
  keep_leftover();
}

Connection::Step Connection::write_some() {
  if (!writable_) return Step::wait;
  std::uint64_t before = writer_.bytes_sent();
  auto progress = writer_.write(*transport_, {turn_left_});
  auto count = static_cast<std::int64_t>(writer_.bytes_sent() - before);
  turn_left_ -= count;
  if (count > 0) last_activity_ = set_.clock().monotonic();
  switch (progress) {
    case PayloadWriter::Progress::done: return Step::again;
    case PayloadWriter::Progress::blocked: writable_ = false; return Step::wait;
    case PayloadWriter::Progress::used_turn: set_.drive_later(id_); return Step::wait;
    case PayloadWriter::Progress::failed: break;
  }
  return end(writer_.peer_is_gone() ? std::string_view() : writer_.error());
}

Connection::Step Connection::read_some() {
  if (!awaited_.empty() && reset_) return end();
  if (set_.quiet()) return Step::wait;
  if (!awaited_.empty()) return turn_left_ > 0 && next_joins() ? next_frame(reader_.take(input_)) : Step::wait;
  if (turn_left_ <= 0) {
    set_.drive_later(id_);
    return Step::wait;
  }
  if (!input_.empty() || needs_memory_) return next_frame(reader_.take(input_));
  if (read_ended_) return end();  // half-closed by the peer, and everything it has asked is answered
  if (!readable_) return Step::wait;

  MutableBytesView room = reader_.room();
  bool into_frame = !room.empty();
  if (!into_frame) room = set_.scratch();
  Moved moved = transport_->read(room);
  switch (moved.status) {
    case Moved::Status::would_block: readable_ = false; return Step::wait;
    case Moved::Status::end: read_ended_ = true; return Step::again;
    case Moved::Status::failed: return end();
    case Moved::Status::some: break;
  }
  last_activity_ = set_.clock().monotonic();
  turn_left_ -= static_cast<std::int64_t>(moved.count);
  // A short read has emptied the socket, and what comes later is a new edge; only the end of the stream may be behind it.
  if (moved.count < room.size() && !peer_shut_down_) readable_ = false;
  if (into_frame) return next_frame(reader_.filled(moved.count));
  input_ = room.first(moved.count);
  return next_frame(reader_.take(input_));
}

Connection::Step Connection::next_frame(FrameReader::State state) {
  needs_memory_ = state == FrameReader::State::need_memory;
  if (reader_.overdrawn() && overdraft_timer_ == 0) {
    overdraft_timer_ = set_.loop().schedule(set_.clock().monotonic() + to_ns(kOverdraftPatience),
                                            [this] { check_overdraft(); });
  }
  switch (state) {
    case FrameReader::State::need_bytes: return Step::again;
    case FrameReader::State::need_memory:
      if (!std::exchange(memory_wake_set_, true)) set_.wake_when_memory_is_there(id_, reader_.memory_wanted());
      return Step::wait;
    case FrameReader::State::bad_size:
      return end(fmt::format("a request of {} bytes was announced, {} are allowed", reader_.announced_size(),
                             set_.settings().request_max_bytes));
    case FrameReader::State::frame_ready: hand_over(); return Step::again;
  }
  return Step::again;
}

void Connection::memory_is_there() {
  memory_wake_set_ = false;
  drive();
}

void Connection::hand_over() {
  awaited_.emplace_back();
  turn_left_ -= ConnectionSet::kRequestCost;
  protocol::Request request;
  request.frame = reader_.frame();
  request.peer = peer_;
  request.responder = protocol::Responder(channel_, ++sequence_);
  request.received = set_.clock().monotonic();
  set_.sink().handle(std::move(request));
}

void Connection::answer(std::uint64_t sequence, protocol::Payload payload) { answered(sequence, std::move(payload)); }
void Connection::answer_nothing(std::uint64_t sequence) { answered(sequence, Nothing{}); }
void Connection::refuse(std::uint64_t sequence, std::string why) { answered(sequence, Refusal{std::move(why)}); }

void Connection::answered(std::uint64_t sequence, Answer answer) {
  const std::uint64_t first = sequence_ + 1 - awaited_.size();
  if (sequence < first || sequence > sequence_ || awaited_[sequence - first]) return;
  awaited_[sequence - first] = std::move(answer);
  if (!driving_) drive();
}

Connection::Step Connection::begin_answer() {
  Answer answer = std::move(*awaited_.front());
  awaited_.erase(awaited_.begin());
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return end(refusal->why);
  if (auto* payload = std::get_if<protocol::Payload>(&answer)) writer_.start(std::move(*payload));
  return Step::again;
}

bool Connection::next_joins() const {
  constexpr std::size_t kSizeField = 4;
  if (reader_.inside_frame() || input_.size() < kSizeField) return false;
  const std::int64_t size = load_be<std::int32_t>(input_, 0);
  const auto there = static_cast<std::int64_t>(input_.size() - kSizeField);
  if (size <= 0 || size > there || size > set_.settings().request_max_bytes.value) return false;
  return set_.sink().joins(*peer_, input_.subspan(kSizeField, static_cast<std::size_t>(size)));
}

Connection::Step Connection::end(std::string_view why) {
  if (!why.empty() && !over_) set_.report(*peer_, why);
  over_ = true;
  return Step::wait;
}

void Connection::keep_leftover() {
  if (input_.empty()) {
    leftover_ = ByteVector();
  } else if (input_.data() >= leftover_.data() && input_.data() < leftover_.data() + leftover_.size()) {
    leftover_.erase(leftover_.begin(), leftover_.end() - static_cast<std::ptrdiff_t>(input_.size()));
  } else {
    leftover_.assign(input_.begin(), input_.end());
  }
  input_ = {};
}

void Connection::check_idle() {
  MonotonicNs now = set_.clock().monotonic();
  DurationNs idle = to_ns(set_.settings().max_idle_ms);
  MonotonicNs deadline = awaited_.empty() ? last_activity_ + idle : now + idle;
  if (deadline > now) {
    idle_timer_ = set_.loop().schedule(deadline, [this] { check_idle(); });
    return;
  }
  idle_timer_ = 0;
  end();
  drive();
}

void Connection::check_overdraft() {
  overdraft_timer_ = 0;
  if (!reader_.overdrawn()) return;
  MonotonicNs now = set_.clock().monotonic();
  if (now - last_activity_ < to_ns(kOverdraftPatience)) {
    overdraft_timer_ = set_.loop().schedule(last_activity_ + to_ns(kOverdraftPatience), [this] { check_overdraft(); });
    return;
  }
  end(fmt::format("its request of {} bytes stopped arriving while others wait for memory", reader_.announced_size()));
  drive();
}

}  // namespace cordwood::net
