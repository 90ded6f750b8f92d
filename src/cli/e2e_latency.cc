// kafka-e2e-latency: how long a record takes from a producer through the broker to a consumer, one record at a time.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cli/client_config.h"
#include "cli/client_log.h"
#include "cli/command.h"
#include "cli/java_text.h"
#include "cli/kafka_tool.h"
#include "client/call.h"
#include "client/topics.h"

namespace cordwood::cli {
namespace {

constexpr std::string_view kAboutLatency = "This tool measures end-to-end latency in Kafka by sending messages and timing their reception.";

constexpr OptionSpec kLatencyOptions[] = {
    {.name = "bootstrap-server", .argument = "HOST:PORT,…", .help = "brokers to start from", .required = true},
    {.name = "topic", .argument = "TOPIC", .help = "where the records go; made when it is not there", .required = true},
    {.name = "num-records", .argument = "COUNT", .help = "how many records", .required = true},
    {.name = "producer-acks", .argument = "ACKS", .help = "1 or all", .required = true},
    {.name = "record-size", .argument = "BYTES", .help = "of each value", .required = true},
    {.name = "record-key-size", .argument = "BYTES", .help = "of each key; none without it", .default_text = "0", .value_is_optional = true, .number = Number::int32},
    {.name = "record-header-key-size", .argument = "BYTES", .help = "of each header's key", .default_text = "0", .value_is_optional = true, .number = Number::int32},
    {.name = "record-header-size", .argument = "BYTES", .help = "of each header's value; -1 for null", .default_text = "0", .value_is_optional = true, .number = Number::int32},
    {.name = "num-headers", .argument = "COUNT", .help = "headers of each record", .default_text = "0", .value_is_optional = true, .number = Number::int32},
    {.name = "command-config", .argument = "FILE", .help = "properties of the clients", .value_is_optional = true},
    {.name = "version", .help = "print Kafka's version"},
    {.name = "help", .help = "this text"},
};
constexpr Grammar kLatencyGrammar{.habit = Habit::joptsimple, .options = kLatencyOptions};

// Without one of these the words are taken by their places, in this order, as long ago.
constexpr std::string_view kNamedWords[] = {"bootstrap-server", "topic", "num-records", "producer-acks", "record-size", "command-config"};
constexpr std::size_t kFewestWords = 5;

struct LatencyWords {
  std::string topic;
  std::int32_t records = 0;
  std::int32_t value_size = 0;
  std::int32_t key_size = 0;
  std::int32_t header_key_size = 0;
  std::int32_t header_size = 0;  // -1: null
  std::int32_t headers = 0;
};

bool names_its_words(const Words& words) {
  return std::ranges::any_of(words, [](const std::string& word) {
    return std::ranges::any_of(kNamedWords, [&](std::string_view name) { return word == fmt::format("--{}", name); });
  });
}

// What is sent, and expected to come back.
struct LatencyRecord {
  std::optional<ByteVector> key;
  ByteVector value;
  std::vector<std::pair<std::string, std::optional<ByteVector>>> headers;
};

ByteVector random_letters(std::int32_t size, Random& random) {
  constexpr std::uint64_t kLetters = 26;
  ByteVector bytes;
  for (std::int32_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>('A' + random.below(kLetters)));
  return bytes;
}

LatencyRecord random_record(const LatencyWords& words, Random& random) {
  LatencyRecord record;
  record.value = random_letters(words.value_size, random);
  if (words.key_size > 0) record.key = random_letters(words.key_size, random);
  for (std::int32_t i = 0; i < words.headers; ++i) {
    std::string key(as_text(random_letters(words.header_key_size, random)));
    std::optional<ByteVector> value;
    if (words.header_size >= 0) value = random_letters(words.header_size, random);
    record.headers.emplace_back(std::move(key), std::move(value));
  }
  return record;
}

JavaError unexpected_record(std::string message) { return {"java.lang.RuntimeException", std::move(message)}; }

std::optional<JavaError> mistake_in_record(const LatencyRecord& sent, const record::RecordView& got) {
  BytesView value = got.value.value_or(BytesView());
  if (!std::ranges::equal(value, sent.value)) {
    return unexpected_record(fmt::format("The message value read [{}] did not match the message value sent [{}]",
                                         repaired_utf8(as_text(value)), as_text(sent.value)));
  }
  if (sent.key.has_value() != got.key.has_value() || (sent.key && !std::ranges::equal(*got.key, *sent.key))) {
    if (!got.key) return unexpected_record("Expected message key but received null");
    if (!sent.key) return unexpected_record(fmt::format("Expected null message key but received [{}]", repaired_utf8(as_text(*got.key))));
    return unexpected_record(fmt::format("The message key read [{}] did not match the message key sent [{}]",
                                         repaired_utf8(as_text(*got.key)), as_text(*sent.key)));
  }
  if (got.headers.size() != sent.headers.size()) {
    return unexpected_record(got.headers.empty() ? "Expected message headers but received none"
                                                 : "Header count mismatch between sent and received messages");
  }
  for (std::size_t i = 0; i < sent.headers.size(); ++i) {
    const auto& header = got.headers[i];
    const auto& [key, wanted] = sent.headers[i];
    bool same_value = header.value.has_value() == wanted.has_value() && (!wanted || std::ranges::equal(*header.value, *wanted));
    if (same_value && header.key == key) continue;
    auto text = [](BytesView bytes) { return repaired_utf8(as_text(bytes)); };
    return unexpected_record(fmt::format("The message header read [{}:{}] did not match the message header sent [{}:{}]", header.key,
                                         header.value ? text(*header.value) : "null", key, wanted ? text(*wanted) : "null"));
  }
  return {};
}

class LatencyTest {
 public:
  LatencyTest(LatencyWords words, Session& session, client::Producer& producer, client::Consumer& consumer)
      : words_(std::move(words)), session_(session), producer_(producer), consumer_(consumer) {}

  Tried<std::monostate> run() {
    std::int64_t total_ns = 0;
    std::vector<std::int64_t> latencies_ms;
    for (std::int32_t i = 0; i < words_.records && !session_.interrupted; ++i) {
      std::int64_t taken_ns = NEED(one_record());
      constexpr std::int32_t kRecordsBetweenLines = 1000;
      if (i % kRecordsBetweenLines == 0) {
        session_.out.print("{}\t{}\n", i, java_double(static_cast<double>(taken_ns) / 1000.0 / 1000.0));
        session_.out.flush();
      }
      total_ns += taken_ns;
      latencies_ms.push_back(taken_ns / 1'000'000);
    }
    if (latencies_ms.empty()) return std::monostate{};
    auto count = static_cast<double>(latencies_ms.size());
    session_.out.print("Avg latency: {:.4f} ms\n", static_cast<double>(total_ns) / count / 1000.0 / 1000.0);
    std::ranges::sort(latencies_ms);
    auto at = [&](double part) { return latencies_ms[static_cast<std::size_t>(count * part)]; };
    session_.out.print("Percentiles: 50th = {}, 99th = {}, 99.9th = {}\n", at(0.5), at(0.99), at(0.999));
    constexpr DurationMs kPatience{30'000};
    consumer_.commit(kPatience);
    return std::monostate{};
  }

 private:
  // How many nanoseconds passed until it came back.
  Tried<std::int64_t> one_record() {
    LatencyRecord sent = random_record(words_, session_.random);
    std::vector<record::HeaderToWrite> headers;
    for (const auto& [key, value] : sent.headers) {
      headers.push_back({.key = key, .value = value ? std::optional<BytesView>(*value) : std::nullopt});
    }
    client::RecordToSend record{session_.clock.now(), {}, BytesView(sent.value), headers};
    if (sent.key) record.key = BytesView(*sent.key);
    MonotonicNs begun = session_.clock.monotonic();
    std::optional<client::Delivery> delivered;
    producer_.send(words_.topic, {}, record, [&](const client::Delivery& delivery) { delivered = delivery; });
    producer_.flush();
    if (!delivered) return std::unexpected(JavaError{"org.apache.kafka.common.errors.InterruptException", "interrupted"});
    if (delivered->failure) {
      JavaError cause = java_error(*delivered->failure);
      if (!delivered->java_class.empty()) cause.java_class = delivered->java_class;
      std::string text = cause.to_string();
      return std::unexpected(with_cause({"java.util.concurrent.ExecutionException", std::move(text)}, std::move(cause)));
    }
    constexpr DurationMs kPatience{60'000};
    std::int64_t count = 0;
    std::optional<JavaError> mistake;
    MonotonicNs end = session_.clock.monotonic() + to_ns(kPatience);
    while (count == 0 && session_.clock.monotonic() < end && !session_.interrupted) {
      auto polled = consumer_.poll(kPatience, [&](const client::ConsumedRecord& consumed) {
        ++count;
        if (!mistake) mistake = mistake_in_record(sent, consumed.record);
        return record::Walk::go_on;
      });
      if (!polled) return std::unexpected(java_error(polled.failure()));
    }
    std::int64_t taken = (session_.clock.monotonic() - begun).value;
    if (count == 0) return std::unexpected(unexpected_record("poll() timed out before finding a result (timeout:[60000ms])"));
    if (mistake) return std::unexpected(*std::move(mistake));
    if (count > 1) {
      return std::unexpected(unexpected_record(fmt::format("Only one result was expected during this test. We found [{}]", count)));
    }
    return taken;
  }

  LatencyWords words_;
  Session& session_;
  client::Producer& producer_;
  client::Consumer& consumer_;
};

// The topic's partitions; it is made when it is not there.
Tried<std::vector<TopicPartition>> partitions_to_read(const std::string& topic, AdminClient& admin, Session& session) {
  auto names = NEED(tried_get(client::list_topics(admin.cluster)));
  std::vector<TopicPartition> partitions;
  if (std::ranges::find(names, topic, &client::TopicListing::name) == names.end()) {
    constexpr std::int32_t kPartitions = 1;
    constexpr std::int16_t kFactor = 1;
    session.out.print("Topic \"{}\" does not exist. Will create topic with {} partition(s) and replication factor = {}\n", topic, kPartitions, kFactor);
    session.out.flush();
    auto made = client::create_topic(admin.cluster, {.name = topic, .partitions = kPartitions, .replication_factor = kFactor, .assignment = {}, .configs = {}});
    if (!made) {
      session.out.print("Creation of topic {} failed\n", topic);
      session.out.flush();
      return std::unexpected(execution_exception(made.failure()));
    }
  }
  // A topic that was just made may not be known everywhere yet.
  MonotonicNs deadline = admin.cluster.deadline();
  for (int attempt = 0;; ++attempt) {
    auto described = client::describe_topics(admin.cluster, std::vector<std::string>{topic});
    if (described) {
      for (const auto& partition : described->front().partitions) partitions.push_back({topic, PartitionId{partition.partition}});
      return partitions;
    }
    if (described.failure().code != protocol::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) return std::unexpected(java_error(described.failure()));
    NEED(tried(admin.cluster.back_off(attempt, "describeTopics", deadline)));
  }
}

JavaError not_constructed(std::string_view what, const Error& error) {
  return with_cause({"org.apache.kafka.common.KafkaException", fmt::format("Failed to construct kafka {}", what)},
                    {"org.apache.kafka.common.config.ConfigException", error.what});
}

Tried<std::monostate> measure(const LatencyWords& words, const Options& options, Session& session) {
  Properties properties;
  std::string config = NEED(tried(options.value("command-config"))).value_or("");
  if (!config.empty()) {
    auto file = read_properties_file(session, config);
    if (!file) return std::unexpected(JavaError{"java.nio.file.NoSuchFileException", file.error().what});
    properties = *std::move(file);
  }
  std::string servers = NEED(tried(options.value("bootstrap-server"))).value_or("");
  set_property(properties, "bootstrap.servers", servers);
  Properties of_consumer = properties;
  set_property(of_consumer, "group.id", fmt::format("test-group-{}", session.clock.now().value));
  set_property(of_consumer, "enable.auto.commit", "false");
  set_property(of_consumer, "auto.offset.reset", "latest");
  set_property(of_consumer, "fetch.max.wait.ms", "0");
  Properties of_producer = properties;
  set_property(of_producer, "linger.ms", "0");
  set_property(of_producer, "max.block.ms", fmt::format("{}", INT64_MAX / 2'000'000));  // for ever
  set_property(of_producer, "acks", NEED(tried(options.value("producer-acks"))).value_or(""));

  auto consumer_settings = consumer_options(of_consumer);
  if (!consumer_settings) return std::unexpected(not_constructed("consumer", consumer_settings.error()));
  auto consumer_cluster = client_cluster(of_consumer, session);
  if (!consumer_cluster) return std::unexpected(not_constructed("consumer", consumer_cluster.error()));
  auto producer_settings = producer_options(of_producer);
  if (!producer_settings) return std::unexpected(not_constructed("producer", producer_settings.error()));
  auto producer_cluster = client_cluster(of_producer, session);
  if (!producer_cluster) return std::unexpected(not_constructed("producer", producer_cluster.error()));

  auto admin = NEED(make_admin_client(session, servers, config));
  auto partitions = NEED(partitions_to_read(words.topic, *admin, session));
  ConsumerLog consumer_log(session, consumer_cluster->client_id, consumer_settings->group.group_id);
  client::Consumer consumer(*std::move(consumer_cluster), *std::move(consumer_settings), session.clock, consumer_log);
  ProducerLog producer_log(session, producer_cluster->client_id);
  client::Producer producer(*std::move(producer_cluster), *std::move(producer_settings), session.clock, session.random, producer_log);
  consumer.assign(partitions);
  for (const TopicPartition& partition : partitions) consumer.seek_by_reset(partition, client::OffsetReset::latest);
  // Only what is sent after the ends are known may be read.
  while (std::ranges::any_of(partitions, [&](const TopicPartition& partition) { return !consumer.position(partition); })) {
    auto polled = consumer.poll({10}, [](const client::ConsumedRecord&) { return record::Walk::go_on; });
    if (!polled) return std::unexpected(java_error(polled.failure()));
    if (session.interrupted) return std::monostate{};
  }
  return LatencyTest(words, session, producer, consumer).run();
}

// Words that make no sense are told with the table of options; numbers that are none as exceptions.
Tried<std::variant<LatencyWords, int>> read_latency_words(const Command& self, const Options& options, Session& session) {
  for (std::string_view name : kNamedWords) {
    if (name == "command-config") continue;
    if (auto code = check_required(self, options, session, {name})) return *code;
  }
  std::string acks = NEED(tried(options.value("producer-acks"))).value_or("");
  if (acks != "1" && acks != "all") {
    return usage_and_exit_code(self, session, "Invalid value for --producer-acks. Latency testing requires synchronous acknowledgement. "
                                              "Please use '1' or 'all'.");
  }
  LatencyWords words;
  words.topic = NEED(tried(options.value("topic"))).value_or("");
  struct Field {
    std::string_view name;
    std::int32_t LatencyWords::*place;
    std::int32_t lowest;
    std::string_view rule;
  };
  constexpr Field kFields[] = {
      {"num-records", &LatencyWords::records, 1, "a positive integer"},
      {"record-size", &LatencyWords::value_size, 0, "a non-negative integer"},
      {"record-key-size", &LatencyWords::key_size, 0, "a non-negative integer"},
      {"record-header-key-size", &LatencyWords::header_key_size, 0, "a non-negative integer"},
      {"record-header-size", &LatencyWords::header_size, -1, "a non-negative integer or -1 for null header value"},
      {"num-headers", &LatencyWords::headers, 0, "a non-negative integer"},
  };
  for (const Field& field : kFields) {
    words.*field.place = NEED(tried(options.int_value(field.name))).value_or(0);
    if (words.*field.place >= field.lowest) continue;
    return usage_and_exit_code(self, session, fmt::format("Value for --{} must be {}.", field.name, field.rule));
  }
  return words;
}

int run_e2e_latency(const Command& self, const Words& given, Session& session) {
  Words words = given;
  if (!words.empty() && !names_its_words(words)) {
    if (words.size() < kFewestWords || words.size() > std::size(kNamedWords)) {
      session.err.print("Invalid number of arguments. Expected 5 or 6 positional arguments, but got {}. Usage: bootstrap-server topic "
                        "num-records producer-acks record-size [optional] command-config\n",
                        words.size());
      return 1;
    }
    session.out.write("WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. Please use named arguments "
                      "instead: --bootstrap-server, --topic, --num-records, --producer-acks, --record-size, --command-config\n");
    session.out.flush();
    words.clear();
    for (std::size_t i = 0; i < given.size(); ++i) {
      words.push_back(fmt::format("--{}", kNamedWords[i]));
      words.push_back(given[i]);
    }
  }
  if (words.empty()) return usage_and_exit_code(self, session, kAboutLatency);
  auto options = parse_options(*self.grammar, words);
  if (!options) {
    int code = usage_and_exit_code(self, session, options.mistake().message);
    suggest_option(self, session, options.mistake());
    return code;
  }
  if (auto code = help_or_version(self, *options, session, kAboutLatency)) return *code;
  auto read = read_latency_words(self, *options, session);
  if (!read) return print_with_trace(session, read.error());
  if (const int* code = std::get_if<int>(&*read)) return *code;
  auto done = measure(std::get<LatencyWords>(*read), *options, session);
  if (done) return 0;
  session.out.flush();
  return print_with_trace(session, done.error());
}

}  // namespace

extern const Command e2e_latency_command{
    .name = "e2e-latency",
    .kafka_name = "kafka-e2e-latency",
    .summary = "tell how long records take from a producer to a consumer",
    .grammar = &kLatencyGrammar,
    .run = run_e2e_latency,
};

}  // namespace cordwood::cli
