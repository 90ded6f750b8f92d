#include "cli/admin_client.h"

#include <poll.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/properties.h"

namespace cordwood::cli {
namespace {

constexpr std::string_view kNetworkClient = "org.apache.kafka.clients.NetworkClient";
constexpr ByteCount kLargestPropertiesFile{4 * MiB};

client::ClusterOptions with_pause(client::ClusterOptions options, Session& session) {
  options.pause = [&session](DurationMs wait) { return pause(session, wait); };
  return options;
}

// `type` is Kafka's: INT or LONG.
Result<void> read_number(const Properties& properties, std::string_view key, std::string_view type, DurationMs& into) {
  std::string text = property(properties, key);
  if (text.empty()) return {};
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || (type == "INT" && value != static_cast<std::int32_t>(value))) {
    return Error{Errc::invalid, fmt::format("Invalid value {} for configuration {}: Not a number of type {}", text, key, type)};
  }
  if (value < 0) {
    return Error{Errc::invalid, fmt::format("Invalid value {} for configuration {}: Value must be at least 0", text, key)};
  }
  into = {value};
  return {};
}

}  // namespace

bool pause(const Session& session, DurationMs wait) {
  constexpr std::int64_t kLongest = 1'000'000;
  MonotonicNs until = session.clock.monotonic() + to_ns({std::min(wait.value, kLongest)});
  while (!session.interrupted) {
    std::int64_t left = ((until - session.clock.monotonic()).value + 999'999) / 1'000'000;
    if (left <= 0) return true;
    (void)::poll(nullptr, 0, static_cast<int>(left));  // a signal ends it early
  }
  return false;
}

Result<Properties> read_properties_file(Session& session, const std::string& path) {
  auto bytes = io::read_file(session.files, path, kLargestPropertiesFile);
  if (!bytes && bytes.error().code == Errc::not_found) return Error{Errc::not_found, path};
  if (!bytes) return bytes.error();
  return parse_properties(as_text(*bytes));
}

std::string property(const Properties& properties, std::string_view key, std::string_view otherwise) {
  for (auto pair = properties.rbegin(); pair != properties.rend(); ++pair) {
    if (pair->first == key) return pair->second;
  }
  return std::string(otherwise);
}

Result<client::ClusterOptions> cluster_options(const Properties& properties, client::ClusterOptions options) {
  std::string security = property(properties, "security.protocol", "PLAINTEXT");
  if (security != "PLAINTEXT") {
    return Error{Errc::unsupported, fmt::format("security.protocol={}: only PLAINTEXT is spoken", security)};
  }
  options.client_id = property(properties, "client.id", options.client_id);
  TRY(read_number(properties, "request.timeout.ms", "INT", options.request_timeout));
  TRY(read_number(properties, "default.api.timeout.ms", "INT", options.api_timeout));
  TRY(read_number(properties, "retry.backoff.ms", "LONG", options.retry_backoff));
  TRY(read_number(properties, "reconnect.backoff.ms", "LONG", options.reconnect_backoff));
  TRY(read_number(properties, "reconnect.backoff.max.ms", "LONG", options.reconnect_backoff_max));
  return options;
}

void ConnectionLog::cannot_connect(const client::Node& node, const std::string& address) {
  log_line(session_, Level::warn,
           fmt::format("[{}] Connection to node {} ({}) could not be established. Node may not be available.", who_, node.id,
                       address),
           kNetworkClient);
  if (bootstrap_ == Bootstrap::told && node.id < 0) {
    log_line(session_, Level::warn,
             fmt::format("[{}] Bootstrap broker {}:{} (id: {} rack: null isFenced: false) disconnected", who_, node.host,
                         node.port, node.id),
             kNetworkClient);
  }
  session_.err.flush();
}

void ConnectionLog::unresolvable(const client::HostPort& server) {
  log_line(session_, Level::warn,
           fmt::format("Couldn't resolve server {} from bootstrap.servers as DNS resolution failed for {}", server.to_string(),
                       server.host),
           "org.apache.kafka.clients.ClientUtils");
}

void ConnectionLog::wrong_endpoint(const client::Failure& failure) {
  log_line(session_, Level::warn, fmt::format("[{}] Fatal error during metadata update", who_),
           "org.apache.kafka.clients.admin.internals.AdminMetadataManager");
  session_.err.print("{}: {}\n", client::java_class_of(failure.code), failure.message);
}

AdminClient::AdminClient(Session& session, client::ClusterOptions options)
    : log(session, fmt::format("AdminClient clientId={}", options.client_id)),
      cluster(with_pause(std::move(options), session), session.clock, log) {}

}  // namespace cordwood::cli
