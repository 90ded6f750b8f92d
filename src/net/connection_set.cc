#include "net/connection_set.h"

#include <utility>

#include "base/check.h"
#include "net/address.h"

namespace cordwood::net {
namespace {
constexpr ByteCount kPoolPerLoop{8 * MiB};
}

ConnectionSet::ConnectionSet(EventLoop& loop, RequestSink& sink, const Clock& clock, Logger& logger,
                             ConnectionSettings settings, std::shared_ptr<ByteBudget> budget, ConnectionLimits& limits)
    : loop_(loop),
      sink_(sink),
      clock_(clock),
      settings_(settings),
      pool_(std::make_shared<FramePool>(kPoolPerLoop)),
      budget_(std::move(budget)),
      limits_(limits),
      closings_(clock, logger),
      scratch_(kScratch) {}

ConnectionSet::~ConnectionSet() { close_all(); }

void ConnectionSet::add(std::unique_ptr<Transport> transport, std::shared_ptr<const protocol::Peer> peer) {
  std::uint64_t id = peer->connection_id;
  auto [entry, added] =
      connections_.emplace(id, std::make_unique<Connection>(*this, id, std::move(transport), std::move(peer)));
  CHECK(added, "connection id {} used twice", id);
  if (!entry->second->open()) remove(id);
}

void ConnectionSet::close_all() {
  while (!connections_.empty()) remove(connections_.begin()->first);
}

void ConnectionSet::remove(std::uint64_t id) {
  auto entry = connections_.find(id);
  CHECK(entry != connections_.end(), "connection {} removed twice", id);
  std::unique_ptr<Connection> connection = std::move(entry->second);
  connections_.erase(entry);
  auto peer = connection->peer();
  connection.reset();
  limits_.leave(peer->remote_host);
  sink_.disconnected(*peer);
}

bool ConnectionSet::begin_driving() {
  if (driving_) return false;
  driving_ = true;
  return true;
}

void ConnectionSet::drive_later(std::uint64_t id) {
  loop_.post([this, id] {
    auto entry = connections_.find(id);
    if (entry != connections_.end()) entry->second->drive();
  });
}

void ConnectionSet::wake_when_memory_is_there(std::uint64_t id, ByteCount wanted) {
  budget_->wait(wanted, [this, loop = &loop_, id] {
    loop->post([this, id] {
      auto entry = connections_.find(id);
      if (entry != connections_.end()) entry->second->memory_is_there();
    });
  });
}

void ConnectionSet::report(const protocol::Peer& peer, std::string_view why) {
  closings_.write(Severity::info, "closing the connection from {} on {}: {}",
                  to_text(peer.remote_host, peer.remote_port), peer.listener_name, why);
}

}  // namespace cordwood::net
