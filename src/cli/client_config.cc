#include "cli/client_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "record/batch.h"

namespace cordwood::cli {
namespace {

std::string trimmed(std::string_view text) {
  auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

// Reads properties one by one.
class PropertyReader {
 public:
  explicit PropertyReader(const Properties& properties) : properties_(properties) {}

  bool has(std::string_view key) const { return has_property(properties_, key); }
  std::string text(std::string_view key) const { return trimmed(property(properties_, key)); }

  // `type` is Kafka's: INT or LONG.
  template <class Number>
  Result<void> number(std::string_view key, Number& into, std::int64_t least) const {
    if (!has(key)) return {};
    std::string given = text(key);
    std::string_view digits = given;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    Number value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      return Error{Errc::invalid, fmt::format("Invalid value {} for configuration {}: Not a number of type {}", given, key,
                                              sizeof(Number) == 4 ? "INT" : "LONG")};
    }
    if (value < least) {
      return Error{Errc::invalid, fmt::format("Invalid value {} for configuration {}: Value must be at least {}", value, key, least)};
    }
    into = value;
    return {};
  }
  template <class Number>
  Result<void> duration(std::string_view key, DurationMs& into, std::int64_t least) const {
    auto value = static_cast<Number>(into.value);
    TRY(number(key, value, least));
    into = {value};
    return {};
  }
  Result<void> boolean(std::string_view key, bool& into) const {
    if (!has(key)) return {};
    std::string given = text(key);
    std::string lower = given;
    std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (lower != "true" && lower != "false") {
      return Error{Errc::invalid,
                   fmt::format("Invalid value {} for configuration {}: Expected value to be either true or false", given, key)};
    }
    into = lower == "true";
    return {};
  }
  Result<std::string> one_of(std::string_view key, std::string_view otherwise, std::initializer_list<std::string_view> allowed) const {
    if (!has(key)) return std::string(otherwise);
    std::string given = text(key);
    if (std::ranges::find(allowed, std::string_view(given)) == allowed.end()) {
      return Error{Errc::invalid, fmt::format("Invalid value {} for configuration {}: String must be one of: {}", given, key,
                                              fmt::join(allowed, ", "))};
    }
    return given;
  }

 private:
  const Properties& properties_;
};

}  // namespace

bool has_property(const Properties& properties, std::string_view key) {
  return std::ranges::any_of(properties, [&](const auto& pair) { return pair.first == key; });
}

void set_property(Properties& properties, std::string_view key, std::string value) {
  std::erase_if(properties, [&](const auto& pair) { return pair.first == key; });
  properties.emplace_back(std::string(key), std::move(value));
}

Result<Properties> pairs_of(const std::vector<std::string>& words) {
  Properties pairs;
  for (const std::string& word : words) {
    auto equals = word.find('=');
    if (equals == 0 || word.empty()) return Error{Errc::invalid, fmt::format("Invalid command line properties: {}", word)};
    set_property(pairs, word.substr(0, equals), equals == std::string::npos ? "" : word.substr(equals + 1));
  }
  return pairs;
}

Result<client::ClusterOptions> client_cluster(const Properties& properties, Session& session) {
  client::ClusterOptions options;
  options.bootstrap = TRY(client::parse_bootstrap_servers(property(properties, "bootstrap.servers")));
  options = TRY(cluster_options(properties, std::move(options)));
  options.pause = [&session](DurationMs wait) { return pause(session, wait); };
  return options;
}

std::string java_config_error(const Error& error) {
  return fmt::format("org.apache.kafka.common.config.ConfigException: {}", error.what);
}

Result<client::ProducerOptions> producer_options(const Properties& properties) {
  PropertyReader reader(properties);
  client::ProducerOptions options;
  std::string acks = TRY(reader.one_of("acks", "all", {"all", "-1", "0", "1"}));
  options.acks = static_cast<std::int16_t>(acks == "0" ? 0 : acks == "1" ? 1 : -1);
  std::string codec = TRY(reader.one_of("compression.type", "none", {"none", "gzip", "snappy", "lz4", "zstd"}));
  options.batching.compression.codec = *record::codec_from_name(codec);
  if (codec == "gzip" || codec == "lz4" || codec == "zstd") {
    std::string key = fmt::format("compression.{}.level", codec);
    std::int32_t level = 0;
    TRY(reader.number(key, level, INT32_MIN));
    auto in_range = [&](int low, int high) { return level >= low && level <= high; };
    bool allowed = codec == "gzip" ? level == -1 || in_range(1, 9) : codec == "lz4" ? in_range(1, 17) : in_range(-131072, 22);
    if (reader.has(key) && !allowed) {
      return Error{Errc::invalid, fmt::format("Invalid value {} for configuration {}: no level of {}", level, key, codec)};
    }
    if (reader.has(key)) options.batching.compression.level = level;
  }
  TRY(reader.number("batch.size", options.batching.batch_size, 0));
  TRY(reader.duration<std::int64_t>("linger.ms", options.linger, 0));
  TRY(reader.number("buffer.memory", options.buffer_memory, 0));
  std::int32_t largest_request = static_cast<std::int32_t>(options.max_request_size);
  TRY(reader.number("max.request.size", largest_request, 0));
  options.max_request_size = largest_request;
  TRY(reader.number("retries", options.retries, 0));
  TRY(reader.number("max.in.flight.requests.per.connection", options.max_in_flight, 1));
  TRY(reader.boolean("partitioner.ignore.keys", options.ignore_keys));
  TRY(reader.duration<std::int64_t>("retry.backoff.ms", options.retry_backoff, 0));
  TRY(reader.duration<std::int64_t>("retry.backoff.max.ms", options.retry_backoff_max, 0));
  TRY(reader.duration<std::int32_t>("delivery.timeout.ms", options.delivery_timeout, 0));
  TRY(reader.duration<std::int32_t>("request.timeout.ms", options.request_timeout, 0));
  TRY(reader.duration<std::int64_t>("max.block.ms", options.max_block, 0));
  TRY(reader.duration<std::int64_t>("metadata.max.age.ms", options.metadata_max_age, 0));
  if (options.delivery_timeout < options.linger + options.request_timeout) {
    if (reader.has("delivery.timeout.ms")) {
      return Error{Errc::invalid, "delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms"};
    }
    options.delivery_timeout = options.linger + options.request_timeout;
  }
  TRY(reader.boolean("enable.idempotence", options.idempotence));
  const bool asked_for = reader.has("enable.idempotence") && options.idempotence;
  if (options.acks != -1 || options.retries == 0) {
    if (asked_for && options.retries == 0) return Error{Errc::invalid, "Must set retries to non-zero when using the idempotent producer."};
    if (asked_for) {
      return Error{Errc::invalid,
                   "Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence."};
    }
    options.idempotence = false;
  }
  constexpr std::int32_t kMostWithIdempotence = 5;
  if (options.idempotence && options.max_in_flight > kMostWithIdempotence) {
    if (asked_for) {
      return Error{Errc::invalid, "Must set max.in.flight.requests.per.connection to at most 5 to use the idempotent producer."};
    }
    options.idempotence = false;
  }
  if (!reader.text("transactional.id").empty()) {
    return Error{Errc::unsupported, "transactional.id: transactions are not spoken by this producer"};
  }
  return options;
}

Result<client::ConsumerOptions> consumer_options(const Properties& properties) {
  PropertyReader reader(properties);
  client::ConsumerOptions options;
  std::string protocol = TRY(reader.one_of("group.protocol", "classic", {"consumer", "classic", "CONSUMER", "CLASSIC"}));
  if (protocol == "consumer" || protocol == "CONSUMER") {
    return Error{Errc::unsupported, "group.protocol=consumer: only the classic protocol is spoken by this consumer"};
  }
  options.group.group_id = reader.text("group.id");
  if (std::string instance = reader.text("group.instance.id"); !instance.empty()) options.group.instance_id = instance;
  TRY(reader.duration<std::int32_t>("session.timeout.ms", options.group.session_timeout, 0));
  TRY(reader.duration<std::int32_t>("max.poll.interval.ms", options.group.rebalance_timeout, 1));
  TRY(reader.duration<std::int32_t>("heartbeat.interval.ms", options.group.heartbeat_interval, 0));
  if (reader.has("heartbeat.interval.ms") && options.group.heartbeat_interval >= options.group.session_timeout) {
    return Error{Errc::invalid, "Heartbeat must be set lower than the session timeout"};
  }
  TRY(reader.duration<std::int64_t>("retry.backoff.ms", options.retry_backoff, 0));
  TRY(reader.duration<std::int64_t>("retry.backoff.max.ms", options.retry_backoff_max, 0));
  options.group.retry_backoff = options.retry_backoff;
  if (reader.has("partition.assignment.strategy")) {
    options.group.assignors.clear();
    std::string names = reader.text("partition.assignment.strategy");
    for (std::string_view rest = names; !rest.empty();) {
      auto comma = std::min(rest.find(','), rest.size());
      std::string name = trimmed(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      auto assignor = client::assignor_from_name(name);
      if (!assignor) return Error{Errc::unsupported, fmt::format("partition.assignment.strategy: {} is not there", name)};
      options.group.assignors.push_back(*assignor);
    }
  }
  std::string reset = reader.has("auto.offset.reset") ? reader.text("auto.offset.reset") : "latest";
  if (reset == "earliest") {
    options.reset = client::OffsetReset::earliest;
  } else if (reset == "none") {
    options.reset = client::OffsetReset::none;
  } else if (reset != "latest") {
    return Error{Errc::invalid,
                 fmt::format("Invalid value {} for configuration auto.offset.reset: Invalid value `{}` for configuration "
                             "auto.offset.reset. The value must be either 'earliest', 'latest', 'none' or of the format "
                             "'by_duration:<PnDTnHnMn.nS.>'.",
                             reset, reset)};
  }
  std::string isolation = TRY(reader.one_of("isolation.level", "read_uncommitted", {"read_committed", "read_uncommitted"}));
  if (isolation == "read_committed") options.isolation = client::Isolation::read_committed;
  TRY(reader.number("fetch.min.bytes", options.fetch_min_bytes, 0));
  TRY(reader.duration<std::int32_t>("fetch.max.wait.ms", options.fetch_max_wait, 0));
  TRY(reader.number("fetch.max.bytes", options.fetch_max_bytes, 0));
  TRY(reader.number("max.partition.fetch.bytes", options.max_partition_fetch_bytes, 0));
  TRY(reader.boolean("check.crcs", options.check_crcs));
  TRY(reader.boolean("allow.auto.create.topics", options.create_topics));
  TRY(reader.boolean("exclude.internal.topics", options.exclude_internal_topics));
  TRY(reader.boolean("enable.auto.commit", options.auto_commit));
  TRY(reader.duration<std::int32_t>("auto.commit.interval.ms", options.auto_commit_interval, 0));
  TRY(reader.duration<std::int64_t>("metadata.max.age.ms", options.metadata_max_age, 0));
  return options;
}

}  // namespace cordwood::cli
