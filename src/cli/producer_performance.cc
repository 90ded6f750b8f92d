// kafka-producer-perf-test: sends so many records, as fast as asked for, and tells what that took.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "cli/argparse.h"
#include "cli/client_config.h"
#include "cli/client_log.h"
#include "cli/command.h"
#include "client/producer.h"
#include "io/file_system.h"

namespace cordwood::cli {
namespace {

constexpr ByteCount kLargestPayloadFile{1 * GiB};

constexpr std::string_view kKeyDistributions[] = {"none", "range", "random"};
constexpr std::string_view kPayloadNames[] = {"record-size", "payload-file", "payload-monotonic"};
constexpr Exclusive kPayloads[] = {{kPayloadNames, true}};

constexpr OptionSpec kPerfProducerOptions[] = {
    {.name = "topic", .argument = "TOPIC", .help = "where the records go", .required = true},
    {.name = "num-records", .argument = "COUNT", .help = "how many", .required = true, .number = Number::int64},
    {.name = "payload-delimiter", .argument = "TEXT", .help = "what stands between the payloads of the file", .default_text = "\\n"},
    {.name = "throughput", .argument = "RATE", .help = "records a second; -1 for as many as there can be", .required = true, .number = Number::float64},
    {.name = "producer-props", .argument = "KEY=VALUE", .help = "the old name of --command-property", .takes_several = true},
    {.name = "producer.config", .argument = "FILE", .help = "the old name of --command-config"},
    {.name = "command-property", .argument = "KEY=VALUE", .help = "properties of the producer", .takes_several = true},
    {.name = "command-config", .argument = "FILE", .help = "properties of the producer, from a file"},
    {.name = "bootstrap-server", .argument = "HOST:PORT,…", .help = "where the cluster is reached"},
    {.name = "print-metrics", .help = "accepted; this client keeps no metrics"},
    {.name = "transactional-id", .argument = "ID", .help = "transactions are not spoken here"},
    {.name = "transaction-duration-ms", .argument = "MS", .help = "transactions are not spoken here", .number = Number::int64},
    {.name = "warmup-records", .argument = "COUNT", .help = "records at the start that a second summary leaves out", .default_text = "0", .number = Number::int64},
    {.name = "reporting-interval", .argument = "MS", .help = "how often a line tells of the progress", .default_text = "5000", .number = Number::int64},
    {.name = "key-distribution", .argument = "KIND", .help = "how keys are chosen", .default_text = "none", .choices = kKeyDistributions},
    {.name = "record-key-range", .argument = "COUNT", .help = "how many keys there are", .number = Number::int32},
    {.name = "random-seed", .argument = "NUMBER", .help = "what chance begins with", .default_text = "0", .number = Number::int64},
    {.name = "record-size", .argument = "BYTES", .help = "payloads of random letters, each so long", .number = Number::int32},
    {.name = "payload-file", .argument = "FILE", .help = "payloads out of this file, at random"},
    {.name = "payload-monotonic", .help = "payloads 0, 1, 2 and so on"},
};
constexpr Grammar kPerfProducerGrammar{.habit = Habit::argparse4j, .options = kPerfProducerOptions, .exclusive = kPayloads};

// Latencies of records, in milliseconds, and what follows from them.
class Latencies {
 public:
  Latencies(std::int64_t records, TimestampMs start) : sampling_(std::max<std::int64_t>(1, records / kMostSamples)), start_(start) {}

  void add(std::int64_t ms, std::int64_t bytes) {
    if (count_++ % sampling_ == 0) samples_.push_back(ms);
    bytes_ += bytes;
    total_ += ms;
    most_ = std::max(most_, ms);
  }
  void restart(TimestampMs now) { *this = Latencies(sampling_ * kMostSamples, now); }
  std::int64_t count() const { return count_; }
  TimestampMs start() const { return start_; }

  // "999 records sent, 497.8 records/sec (0.05 MB/sec), 7.7 ms avg latency, 139.0 ms max latency."
  std::string progress(TimestampMs now) const {
    Rates rates = rates_until(now);
    return fmt::format("{} records sent, {:.1f} records/sec ({:.2f} MB/sec), {:.1f} ms avg latency, {:.1f} ms max latency.\n", count_,
                       rates.records, rates.megabytes, average(), static_cast<double>(most_));
  }
  std::string summary(std::string_view what, TimestampMs now) {
    Rates rates = rates_until(now);
    std::ranges::sort(samples_);
    auto at = [&](double part) -> std::int64_t {
      if (samples_.empty()) return 0;
      return samples_[std::min(static_cast<std::size_t>(part * static_cast<double>(samples_.size())), samples_.size() - 1)];
    };
    return fmt::format("{}{} sent, {:f} records/sec ({:.2f} MB/sec), {} ms avg latency, {:.2f} ms max latency, {} ms 50th, {} ms 95th, "
                       "{} ms 99th, {} ms 99.9th.\n",
                       count_, what, rates.records, rates.megabytes, count_ == 0 ? "NaN" : fmt::format("{:.2f}", average()),
                       static_cast<double>(most_), at(0.5), at(0.95), at(0.99), at(0.999));
  }

 private:
  static constexpr std::int64_t kMostSamples = 500'000;
  struct Rates {
    double records;
    double megabytes;
  };
  Rates rates_until(TimestampMs now) const {
    double seconds = static_cast<double>(std::max<std::int64_t>(1, (now - start_).value)) / 1000;
    return {static_cast<double>(count_) / seconds, static_cast<double>(bytes_) / seconds / static_cast<double>(MiB)};
  }
  double average() const { return static_cast<double>(total_) / static_cast<double>(count_); }

  std::int64_t sampling_;
  TimestampMs start_;
  std::int64_t count_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t total_ = 0;
  std::int64_t most_ = 0;
  std::vector<std::int64_t> samples_;
};

struct PerfProducerSettings {
  std::string topic;
  std::int64_t records = 0;
  double throughput = -1;
  std::int64_t warmup = 0;
  std::int64_t interval_ms = 5000;
  std::optional<std::int32_t> record_size;
  std::vector<std::string> payloads;
  std::string key_distribution = "none";
  std::int32_t key_range = 0;
  std::uint64_t seed = 0;
  Properties producer;
};

std::vector<std::string> split_payloads(std::string_view text, std::string_view delimiter) {
  std::vector<std::string> payloads;
  while (!text.empty()) {
    auto end = std::min(text.find(delimiter), text.size());
    if (end > 0) payloads.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + delimiter.size(), text.size()));
  }
  return payloads;
}

std::variant<PerfProducerSettings, int> read_perf_producer_words(const Command& self, const Words& words, Session& session) {
  if (words.empty()) {
    session.out.write(argument_help_text("kafka-producer-perf-test", self, nullptr));
    return 0;
  }
  auto read = arguments_or_exit_code(self, {.program = "kafka-producer-perf-test"}, words, session);
  if (auto* code = std::get_if<int>(&read)) return *code;
  const Options& options = std::get<Arguments>(read).options;
  auto refuse = [&](std::string message) {
    session.err.write(mistake_text("kafka-producer-perf-test", kPerfProducerGrammar, {std::move(message), {}, nullptr}));
    return 1;
  };
  auto text = [&](std::string_view name) { return options.has(name) ? options.values(name).back() : std::string(); };
  PerfProducerSettings settings;
  settings.topic = text("topic");
  settings.records = (*options.long_value("num-records")).value_or(0);
  settings.throughput = (*options.double_value("throughput")).value_or(-1);
  settings.warmup = (*options.long_value("warmup-records")).value_or(0);
  settings.interval_ms = (*options.long_value("reporting-interval")).value_or(5000);
  settings.record_size = *options.int_value("record-size");
  settings.key_range = (*options.int_value("record-key-range")).value_or(0);
  settings.seed = static_cast<std::uint64_t>((*options.long_value("random-seed")).value_or(0));
  if (options.has("key-distribution")) settings.key_distribution = text("key-distribution");
  if (settings.records <= 0) return refuse("--num-records should be greater than zero.");
  if (settings.record_size && *settings.record_size <= 0) return refuse("--record-size should be greater than zero.");
  if (settings.warmup >= settings.records) {
    return refuse("The value for --warmup-records must be strictly fewer than the number of records in the test, --num-records.");
  }
  if (!options.has("bootstrap-server") && !options.has("command-property") && !options.has("producer-props") &&
      !options.has("producer.config") && !options.has("command-config")) {
    return refuse("At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or --command-config must be "
                  "specified.");
  }
  if (options.has("producer-props")) {
    session.out.write("Option --producer-props has been deprecated and will be removed in a future version. Use --command-property instead.\n");
  }
  if (options.has("producer.config")) {
    session.out.write("Option --producer.config has been deprecated and will be removed in a future version. Use --command-config instead.\n");
  }
  auto thrown = [&](std::string_view java_class, std::string_view message) {
    session.err.print("Exception in thread \"main\" {}: {}\n", java_class, message);
    return 1;
  };
  std::string file = options.has("command-config") ? text("command-config") : text("producer.config");
  if (!file.empty()) {
    auto properties = read_properties_file(session, file);
    if (!properties) return thrown("java.nio.file.NoSuchFileException", properties.error().what);
    settings.producer = *std::move(properties);
  }
  for (const std::string& pair : options.values(options.has("command-property") ? "command-property" : "producer-props")) {
    auto equals = pair.find('=');
    if (equals == std::string::npos) return thrown("java.lang.IllegalArgumentException", fmt::format("Invalid property: {}", pair));
    set_property(settings.producer, pair.substr(0, equals), pair.substr(equals + 1));
  }
  if (options.has("bootstrap-server")) set_property(settings.producer, "bootstrap.servers", text("bootstrap-server"));
  if (options.has("transactional-id")) set_property(settings.producer, "transactional.id", text("transactional-id"));
  if (!has_property(settings.producer, "client.id")) set_property(settings.producer, "client.id", "perf-producer-client");
  if (options.has("payload-file")) {
    std::string path = text("payload-file");
    session.out.print("Reading payloads from: {}\n", std::filesystem::absolute(path).string());
    session.out.flush();
    auto bytes = io::read_file(session.files, path, kLargestPayloadFile);
    if (!bytes || bytes->empty()) return thrown("java.lang.IllegalArgumentException", "File does not exist or empty file provided.");
    std::string delimiter = options.has("payload-delimiter") ? text("payload-delimiter") : "\\n";
    settings.payloads = split_payloads(as_text(*bytes), delimiter == "\\n" ? "\n" : delimiter == "\\t" ? "\t" : delimiter);
    session.out.print("Number of records read: {}\n", settings.payloads.size());
    if (settings.payloads.empty()) return thrown("java.lang.IllegalArgumentException", "File does not exist or empty file provided.");
  }
  return settings;
}

class LoadSender {
 public:
  LoadSender(const PerfProducerSettings& settings, client::Producer& producer, Session& session)
      : settings_(settings),
        producer_(producer),
        session_(session),
        chance_(settings.seed),
        all_(settings.records, session.clock.now()),
        window_(settings.records, session.clock.now()),
        steady_(settings.records, session.clock.now()) {}

  int run() {
    if (settings_.warmup > 0) {
      session_.out.print("Warmup first {} records. Steady state results will print after the complete test summary.\n", settings_.warmup);
      session_.out.flush();
    }
    const MonotonicNs start = session_.clock.monotonic();
    for (std::int64_t i = 0; i < settings_.records && !session_.interrupted; ++i) {
      if (i == settings_.warmup) steady_.restart(session_.clock.now());
      send(i);
      keep_pace(start, i + 1);
    }
    producer_.flush();
    TimestampMs now = session_.clock.now();
    session_.out.write(all_.summary(" records", now));
    if (settings_.warmup > 0) session_.out.write(steady_.summary(" steady state records", now));
    return 0;
  }

 private:
  void send(std::int64_t number) {
    std::string_view payload = next_payload(number);
    std::string key = next_key(number);
    client::RecordToSend record{session_.clock.now(), {}, as_bytes(payload), {}};
    if (!key.empty()) record.key = as_bytes(key);
    const std::int64_t begun = session_.clock.now().value;
    const bool steady = number >= settings_.warmup;
    const auto size = static_cast<std::int64_t>(payload.size() + key.size());
    producer_.send(settings_.topic, {}, record, [this, begun, size, steady](const client::Delivery& delivery) {
      TimestampMs now = session_.clock.now();
      if (delivery.failure) {
        session_.err.write(java_lines(delivery));
        session_.err.flush();
        return;
      }
      all_.add(now.value - begun, size);
      window_.add(now.value - begun, size);
      if (steady) steady_.add(now.value - begun, size);
      if ((now - window_.start()).value < settings_.interval_ms) return;
      session_.out.write(window_.progress(now));
      session_.out.flush();
      window_.restart(now);
    });
  }

  // Looks after the network now and then, and waits where the records run ahead.
  void keep_pace(MonotonicNs start, std::int64_t sent) {
    constexpr std::int64_t kRecordsBetweenPolls = 64;
    if (settings_.throughput <= 0) {
      if (sent % kRecordsBetweenPolls == 0) producer_.poll({0});
      return;
    }
    const auto due = static_cast<std::int64_t>(static_cast<double>(sent) * 1e9 / settings_.throughput);
    for (;;) {
      std::int64_t left = due - (session_.clock.monotonic() - start).value;
      producer_.poll({std::clamp<std::int64_t>(left / 1'000'000, 0, 100)});
      if (left < 1'000'000 || session_.interrupted) return;
    }
  }

  std::string_view next_payload(std::int64_t number) {
    if (!settings_.payloads.empty()) return settings_.payloads[chance_.below(settings_.payloads.size())];
    if (!settings_.record_size) return payload_ = std::to_string(number);
    payload_.resize(static_cast<std::size_t>(*settings_.record_size));
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < payload_.size(); ++i, bits /= 26) {
      constexpr std::size_t kLettersOfOneNumber = 8;
      if (i % kLettersOfOneNumber == 0) bits = chance_.next();
      payload_[i] = static_cast<char>('A' + bits % 26);
    }
    return payload_;
  }

  std::string next_key(std::int64_t number) {
    if (settings_.key_distribution == "none" || settings_.key_range <= 0) return {};
    auto range = static_cast<std::uint64_t>(settings_.key_range);
    std::uint64_t key = settings_.key_distribution == "range" ? static_cast<std::uint64_t>(number) % range : chance_.below(range);
    return std::to_string(key);
  }

  const PerfProducerSettings& settings_;
  client::Producer& producer_;
  Session& session_;
  SeededRandom chance_;
  Latencies all_;
  Latencies window_;
  Latencies steady_;
  std::string payload_;
};

int run_producer_perf_test(const Command& self, const Words& words, Session& session) {
  auto read = read_perf_producer_words(self, words, session);
  if (auto* code = std::get_if<int>(&read)) return *code;
  const PerfProducerSettings& settings = std::get<PerfProducerSettings>(read);
  auto refuse = [&](const Error& error) {
    session.err.print("Exception in thread \"main\" {}\n", java_config_error(error));
    return 1;
  };
  auto options = producer_options(settings.producer);
  if (!options) return refuse(options.error());
  auto cluster = client_cluster(settings.producer, session);
  if (!cluster) return refuse(cluster.error());
  ProducerLog log(session, cluster->client_id);
  client::Producer producer(*std::move(cluster), *std::move(options), session.clock, session.random, log);
  return LoadSender(settings, producer, session).run();
}

}  // namespace

extern const Command producer_perf_test_command;
const Command producer_perf_test_command{
    .name = "producer-perf-test",
    .kafka_name = "kafka-producer-perf-test",
    .summary = "send records and tell how fast that went",
    .details = {},
    .grammar = &kPerfProducerGrammar,
    .run = run_producer_perf_test,
};

}  // namespace cordwood::cli
