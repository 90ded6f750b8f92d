// kafka-console-producer: lines of standard input become records of a topic.
//
// As Kafka's tool: a failed record is only logged and the exit code stays 0, except with --sync; a line that makes no record ends the
// program after what came before was sent.
#include <fmt/format.h>

#include <array>

#include "cli/client_config.h"
#include "cli/client_log.h"
#include "cli/command.h"
#include "cli/line_reader.h"
#include "client/node_links.h"
#include "client/producer.h"

namespace cordwood::cli {
namespace {

constexpr std::string_view kLineReaderClass = "org.apache.kafka.tools.LineMessageReader";
constexpr std::size_t kPieceSize = 256 * KiB;

constexpr OptionSpec kProducerOptions[] = {
    {"batch-size", "BYTES", "how many bytes of records one batch gathers", 0, "16384"},
    {"bootstrap-server", "HOST:PORT,…", "where the cluster is reached", 0, {}, false, true},
    {"command-config", "FILE", "properties of the producer, from a file"},
    {"command-property", "KEY=VALUE", "a property of the producer, before those of the file", 0, {}, true},
    {"compression-codec", "CODEC", "none, gzip, snappy, lz4 or zstd; gzip when no codec is named", 0, {}, false, false, true},
    {"help", {}, "print this"},
    {"line-reader", "CLASS", "how lines are read; there is one way here", 0, kLineReaderClass},
    {"max-block-ms", "MS", "how long one record may wait for metadata or for buffer space", 0, "60000"},
    {"max-memory-bytes", "BYTES", "how much is buffered until it is sent", 0, "33554432"},
    {"max-partition-memory-bytes", "BYTES", "the old name of --batch-size"},
    {"message-send-max-retries", "COUNT", "how often a batch is sent again", 0, "3"},
    {"metadata-expiry-ms", "MS", "after how long metadata are asked for anew", 0, "300000"},
    {"producer-property", "KEY=VALUE", "the old name of --command-property", 0, {}, true},
    {"producer.config", "FILE", "the old name of --command-config"},
    {"property", "KEY=VALUE", "the old name of --reader-property", 0, {}, true},
    {"reader-config", "FILE", "properties of the line reader, from a file"},
    {"reader-property", "KEY=VALUE",
     "parse.key, key.separator, parse.headers, headers.delimiter, headers.separator, headers.key.separator, null.marker, ignore.error", 0,
     {}, true},
    {"request-required-acks", "ACKS", "0, 1, or all (-1)", 0, "-1"},
    {"request-timeout-ms", "MS", "how long one request may take", 0, "1500"},
    {"retry-backoff-ms", "MS", "how long to wait before a batch is sent again", 0, "100"},
    {"socket-buffer-size", "BYTES", "the size of the socket's buffer", 0, "102400"},
    {"sync", {}, "wait for each record's answer before the next line"},
    {"timeout", "MS", "how long a batch that is not full waits for more", 0, "1000"},
    {"topic", "TOPIC", "where the records go", 0, {}, false, true},
    {"version", {}, "print the version"},
};
constexpr Grammar kProducerGrammar{.habit = Habit::joptsimple, .options = kProducerOptions};

// A number of the command line that becomes a property. Where the property was given by itself, it counts unless the option was.
struct NumberOption {
  std::string_view option;
  std::string_view property;
  std::string_view otherwise;
  bool is_long;
};
constexpr NumberOption kNumberOptions[] = {
    {"timeout", "linger.ms", "1000", true},
    {"request-timeout-ms", "request.timeout.ms", "1500", false},
    {"message-send-max-retries", "retries", "3", false},
    {"retry-backoff-ms", "retry.backoff.ms", "100", true},
    {"metadata-expiry-ms", "metadata.max.age.ms", "300000", true},
    {"max-block-ms", "max.block.ms", "60000", true},
    {"max-memory-bytes", "buffer.memory", "33554432", true},
    {"socket-buffer-size", "send.buffer.bytes", "102400", false},
    {"max-partition-memory-bytes", "batch.size", "", false},
    {"batch-size", "batch.size", "16384", false},
};

int refuse_producer_words(Session& session, std::string_view text) {
  session.err.print("{}\n", text);
  session.err.write(option_table(kProducerGrammar, session.err.columns()));
  return 1;
}

int fail_producer(Session& session, std::string_view text) {
  session.err.print("{}\n", text);
  return 1;
}

struct ConsoleProducerSettings {
  std::string topic;
  Properties producer;
  LineFormat format;
  bool sync = false;
};

// What the words of the line mean; or the exit code, when the program ends here.
std::variant<ConsoleProducerSettings, int> read_producer_words(const Words& words, Session& session) {
  auto parsed = parse_options(kProducerGrammar, words);
  if (!parsed) return refuse_producer_words(session, parsed.mistake().message);
  const Options& options = *parsed;
  if (words.empty() || options.has("help")) {
    return refuse_producer_words(session, "This tool helps to read data from standard input and publish it to Kafka.");
  }
  if (options.has("version")) {
    session.out.print("{}\n", kKafkaVersion);
    return 0;
  }
  if (!options.has("topic")) return refuse_producer_words(session, "Missing required argument \"[topic]\"");
  struct OldName {
    std::string_view old_name;
    std::string_view new_name;
    bool exclusive;
    std::string_view until;
  };
  constexpr OldName kOldNames[] = {{"property", "reader-property", true, "a future version"},
                                   {"producer-property", "command-property", true, "a future version"},
                                   {"producer.config", "command-config", true, "a future version"},
                                   {"max-partition-memory-bytes", "batch-size", false, "Apache Kafka 5.0"}};
  for (const OldName& name : kOldNames) {
    if (name.exclusive && options.has(name.old_name) && options.has(name.new_name)) {
      return refuse_producer_words(session, fmt::format("Options --{} and --{} cannot be specified together.", name.new_name, name.old_name));
    }
  }
  for (const OldName& name : kOldNames) {
    if (!options.has(name.old_name)) continue;
    session.out.print("Warning: --{} is deprecated and will be removed in {}. Use --{} instead.\n", name.old_name, name.until, name.new_name);
  }
  auto bootstrap = options.value("bootstrap-server");
  if (!bootstrap) return fail_producer(session, bootstrap.mistake().message);
  if (!*bootstrap) return refuse_producer_words(session, "Error while validating the bootstrap address\n");

  ConsoleProducerSettings settings;
  auto topic = options.value("topic");
  if (!topic) return fail_producer(session, topic.mistake().message);
  settings.topic = **topic;
  settings.sync = options.has("sync");

  // The reader's properties: a file, and before it what the line says.
  auto merged = [&](std::string_view file_option, std::string_view old_file, std::string_view property_option,
                    std::string_view old_property) -> std::variant<Properties, int> {
    Properties properties;
    auto path = options.value(file_option);
    if (path && !*path && !old_file.empty()) path = options.value(old_file);
    if (!path) return fail_producer(session, path.mistake().message);
    if (*path) {
      auto file = read_properties_file(session, **path);
      if (!file && file.error().code == Errc::not_found) {
        return fail_producer(session, fmt::format("java.nio.file.NoSuchFileException: {}", file.error().what));
      }
      if (!file) return fail_producer(session, file.error().message());
      properties = *std::move(file);
    }
    auto given = pairs_of(options.values(options.has(property_option) ? property_option : old_property));
    if (!given) return fail_producer(session, given.error().what);
    for (auto& [key, value] : *given) set_property(properties, key, std::move(value));
    return properties;
  };
  auto reader = merged("reader-config", "", "reader-property", "property");
  if (auto* code = std::get_if<int>(&reader)) return *code;
  auto producer = merged("command-config", "producer.config", "command-property", "producer-property");
  if (auto* code = std::get_if<int>(&producer)) return *code;
  settings.producer = std::get<Properties>(std::move(producer));

  set_property(settings.producer, "bootstrap.servers", **bootstrap);
  if (options.has("compression-codec")) {
    auto codec = options.value("compression-codec");
    if (!codec) return fail_producer(session, codec.mistake().message);
    set_property(settings.producer, "compression.type", codec->value_or("gzip"));
  } else {
    set_property(settings.producer, "compression.type", "none");
  }
  if (!has_property(settings.producer, "client.id")) set_property(settings.producer, "client.id", "console-producer");
  auto acks = options.value("request-required-acks");
  if (!acks) return fail_producer(session, acks.mistake().message);
  if (*acks || !has_property(settings.producer, "acks")) set_property(settings.producer, "acks", acks->value_or("-1"));
  for (const NumberOption& number : kNumberOptions) {
    std::optional<std::string> value;
    if (number.is_long) {
      auto given = options.long_value(number.option);
      if (!given) return fail_producer(session, given.mistake().message);
      if (*given) value = std::to_string(**given);
    } else {
      auto given = options.int_value(number.option);
      if (!given) return fail_producer(session, given.mistake().message);
      if (*given) value = std::to_string(**given);
    }
    if (value) {
      set_property(settings.producer, number.property, *value);
    } else if (!has_property(settings.producer, number.property) && !number.otherwise.empty()) {
      set_property(settings.producer, number.property, std::string(number.otherwise));
    }
  }
  auto reader_class = options.value("line-reader");
  if (!reader_class) return fail_producer(session, reader_class.mistake().message);
  if (*reader_class && **reader_class != kLineReaderClass) {
    return fail_producer(session, fmt::format("java.lang.ClassNotFoundException: {}", **reader_class));
  }
  auto format = line_format(std::get<Properties>(reader));
  if (!format) return fail_producer(session, fmt::format("org.apache.kafka.common.KafkaException: {}", format.error().what));
  settings.format = *std::move(format);
  return settings;
}

// Reads, sends, and looks after what is under way.
class LineSender {
 public:
  LineSender(const ConsoleProducerSettings& settings, client::Producer& producer, Session& session)
      : settings_(settings), producer_(producer), session_(session), reader_(settings.format) {}

  int run() {
    const bool prompts = session_.in.is_terminal() && session_.out.is_terminal();
    ByteVector piece(kPieceSize);
    while (!session_.interrupted && code_ == 0) {
      if (prompts) {
        session_.out.write(">");
        session_.out.flush();
      }
      if (!wait_for_input()) break;
      auto got = session_.in.read(piece);
      if (!got) return fail_producer(session_, got.error().message());
      if (*got == 0) {
        reader_.finish([&](std::string_view line) { take(line); });
        break;
      }
      reader_.feed(as_text(BytesView(piece).first(*got)), [&](std::string_view line) { take(line); });
      producer_.poll({0});
    }
    producer_.flush();
    if (session_.interrupted) return 130;
    return code_;
  }

 private:
  // Whether there is something to read; sends what is due meanwhile.
  bool wait_for_input() {
    while (!session_.interrupted) {
      const int input = session_.in.descriptor();
      if (input < 0) return true;
      std::vector<int> descriptors = producer_.descriptors();
      descriptors.push_back(input);
      std::vector<bool> readable = client::wait_readable(descriptors, producer_.idle() ? DurationMs{60'000} : producer_.until_due());
      if (readable.back()) return true;
      producer_.poll({0});
    }
    return false;
  }

  void take(std::string_view line) {
    if (code_ != 0 || session_.interrupted) return;
    auto parsed = reader_.parse(line);
    if (!parsed) {
      code_ = fail_producer(session_, fmt::format("org.apache.kafka.common.KafkaException: {}", parsed.error().what));
      return;
    }
    auto bytes = [](const std::optional<std::string_view>& text) {
      return text ? std::optional(as_bytes(*text)) : std::optional<BytesView>();
    };
    client::RecordToSend record{session_.clock.now(), bytes(parsed->key), bytes(parsed->value), parsed->headers};
    if (settings_.sync) return send_and_wait(record);
    const auto key_size = parsed->key ? static_cast<std::int32_t>(parsed->key->size()) : -1;
    const auto value_size = parsed->value ? static_cast<std::int32_t>(parsed->value->size()) : -1;
    producer_.send(settings_.topic, {}, record, [this, key_size, value_size](const client::Delivery& delivery) {
      if (delivery.failure) tell(delivery, key_size, value_size);
    });
  }

  void tell(const client::Delivery& delivery, std::int32_t key_size, std::int32_t value_size) {
    auto described = [](std::int32_t size) { return size < 0 ? std::string("null") : fmt::format("{} bytes", size); };
    log_line(session_, Level::error,
             fmt::format("Error when sending message to topic {} with key: {}, value: {} with error:", settings_.topic,
                         described(key_size), described(value_size)),
             "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback");
    session_.err.write(java_lines(delivery));
    session_.err.flush();
  }

  void send_and_wait(const client::RecordToSend& record) {
    producer_.send(settings_.topic, {}, record, [this](const client::Delivery& delivery) {
      if (!delivery.failure) return;
      std::string lines = java_lines(delivery);
      session_.err.print("java.util.concurrent.ExecutionException: {}Caused by: {}", lines.substr(0, lines.find('\n') + 1), lines);
      code_ = 1;
    });
    producer_.flush();
  }

  const ConsoleProducerSettings& settings_;
  client::Producer& producer_;
  Session& session_;
  LineReader reader_;
  int code_ = 0;
};

int run_console_producer(const Command&, const Words& words, Session& session) {
  auto read = read_producer_words(words, session);
  if (auto* code = std::get_if<int>(&read)) return *code;
  const ConsoleProducerSettings& settings = std::get<ConsoleProducerSettings>(read);
  auto refused = [&](const Error& error) {
    bool address = error.what.find("bootstrap") != std::string::npos;
    if (address) session.err.write("org.apache.kafka.common.KafkaException: Failed to construct kafka producer\nCaused by: ");
    return fail_producer(session, java_config_error(error));
  };
  auto options = producer_options(settings.producer);
  if (!options) return refused(options.error());
  auto cluster = client_cluster(settings.producer, session);
  if (!cluster) return refused(cluster.error());
  ProducerLog log(session, cluster->client_id);
  client::Producer producer(*std::move(cluster), *std::move(options), session.clock, session.random, log);
  return LineSender(settings, producer, session).run();
}

}  // namespace

extern const Command console_producer_command;
const Command console_producer_command{
    .name = "console-producer",
    .kafka_name = "kafka-console-producer",
    .summary = "send lines of standard input to a topic",
    .details = {},
    .grammar = &kProducerGrammar,
    .run = run_console_producer,
};

}  // namespace cordwood::cli
