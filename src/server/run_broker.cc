#include "server/run_broker.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/properties.h"
#include "base/random.h"
#include "broker/broker.h"
#include "broker/config.h"
#include "inspector/broker_inspector.h"
#include "io/file_system.h"
#include "net/address.h"
#include "net/request_sink.h"
#include "net/server.h"
#include "server/process.h"
#include "storage/log_manager.h"

namespace cordwood::server {
namespace {

constexpr ByteCount kLargestPropertiesFile{16 * MiB};

Result<broker::Config> read_config(const RunBroker& command, io::FileSystem& fs, Logger& logger) {
  std::vector<std::pair<std::string, std::string>> properties;
  if (!command.properties_file.empty()) {
    ByteVector text = TRY(io::read_file(fs, command.properties_file, kLargestPropertiesFile));
    properties = TRY(parse_properties(as_text(text)));
  }
  properties.insert(properties.end(), command.overrides.begin(), command.overrides.end());
  return broker::Config::from_properties(properties, logger);
}

net::ServerOptions server_options(const broker::Config& config) {
  net::ServerOptions options;
  for (const auto& listener : config.listeners) options.listeners.push_back({listener.name, listener.host, listener.port});
  options.loops = config.num_network_threads;
  options.connections.request_max_bytes = config.socket_request_max_bytes;
  options.connections.max_idle_ms = config.connections_max_idle_ms;
  options.max_connections = config.max_connections;
  options.max_connections_per_ip = config.max_connections_per_ip;
  return options;
}

// Where net meets the broker. No connection is open while there is no broker behind it.
class BrokerSink final : public net::RequestSink {
 public:
  void plug_in(broker::Broker& broker) { broker_ = &broker; }
  void handle(protocol::Request request) override { broker_->handle(std::move(request)); }
  bool joins(const protocol::Peer& peer, BytesView frame) override { return broker_->joins(peer, frame); }
  void disconnected(const protocol::Peer& peer) override { broker_->disconnected(peer); }

 private:
  broker::Broker* broker_ = nullptr;
};

// A partition that recovers for longer than this no longer keeps the others waiting.
constexpr DurationMs kLoadingGrace{2'000};

broker::Broker::StartOptions start_options() {
  broker::Broker::StartOptions options;
  options.loading_grace = kLoadingGrace;
  options.stop_requested = stop_signal_is_pending;
  options.max_open_segments = segments_that_may_be_open();
  if (::isatty(STDERR_FILENO) == 1) {
    options.progress = [](const storage::LoadProgress& progress) {
      // Nobody needs to see what is over in a moment. A line of its own comes over it when all is done.
      if (progress.elapsed < to_ns({500})) return;
      std::fprintf(stderr, "\r\x1b[Kloading %s\r", progress.to_string().c_str());
      if (progress.logs_done == progress.logs_total) std::fputs("\x1b[K", stderr);
    };
  }
  return options;
}

std::string ready_line(DurationNs took, const net::Server& server, const broker::Config& config,
                       broker::Broker& broker, const inspector::BrokerInspector* inspector) {
  std::string listeners;
  for (std::size_t i = 0; i < server.bound().size(); ++i) {
    const auto& bound = server.bound()[i];
    listeners += fmt::format("{}{}://{}", i == 0 ? "" : ",", bound.name, net::to_text(bound.host, bound.port));
  }
  std::string directories;
  for (const auto& directory : config.log_dirs) directories += (directories.empty() ? "" : ",") + directory;
  std::string loading;
  if (const std::size_t count = broker.partitions().loading(); count > 0) {
    loading = fmt::format("; {} partition{} still recover{}", count, count == 1 ? "" : "s", count == 1 ? "s" : "");
  }
  const std::string page = inspector == nullptr ? std::string() : fmt::format("; inspector at {}", inspector->address());
  return fmt::format("Cordwood {} ready in {} ms: {}, cluster id {}, data in {}{}{}\n", version_text(),
                     (took.value + 500'000) / 1'000'000, listeners, broker.controller().cluster_id(), directories, loading, page);
}

}  // namespace

Result<int> run_broker(const RunBroker& command, Clock& clock, MonotonicNs began) {
  take_over_signals();
  raise_open_files_limit();

  SystemRandom random;
  StderrLogger logger(clock);
  io::PosixFileSystem fs;
  broker::Config config = TRY(read_config(command, fs, logger));

  // The ports before the data: a second broker started by mistake must not touch the first one's directories.
  BrokerSink sink;
  net::Server server(server_options(config), sink, clock, logger);
  TRY(server.bind());
  for (const auto& bound : server.bound()) config.set_bound_port(bound.name, bound.port);
  const auto inspector = TRY(inspector::BrokerInspector::open(config, clock, random, logger, version_text()));
  auto opened = broker::Broker::start({&fs, &clock, &random, &logger}, config, start_options());
  if (!opened && opened.error().code == Errc::closed && stop_signal_is_pending()) {
    const int number = wait_for_stop_signal();
    logger.info("{}: {}", signal_name(number), opened.error().message());
    return 128 + number;
  }
  auto broker = TRY(std::move(opened));
  // As Kafka: without an orderly stop, since there is nothing left that it could be written to.
  broker->on_fatal([&logger](const std::string& why) {
    logger.error("{}: the broker ends", why);
    halt();
  });
  sink.plug_in(*broker);
  if (auto started = server.start(); !started) {
    // The other reason is the one to tell; a stop that is not clean either costs a recovery, no data.
    (void)broker->shut_down();
    return started.error();
  }

  if (inspector) inspector->show(*broker, clock.now() - DurationMs{(clock.monotonic() - began).value / 1'000'000});
  std::string line = ready_line(clock.monotonic() - began, server, config, *broker, inspector.get());
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);

  logger.info("{}: stopping", signal_name(wait_for_stop_signal()));
  if (inspector) inspector->set_stopping();
  // Whoever looks looks no longer. Requests end then, then the logs close; what waits is answered in between, while there are still loops to send it.
  if (inspector) inspector->stop();
  server.quiesce();
  Result<void> stopped = broker->shut_down();
  server.stop();
  broker.reset();
  if (!stopped) return stopped.error();
  logger.info("stopped");
  return 0;
}

}  // namespace cordwood::server
