// kafka-console-consumer: prints the records of a topic, of several, or of one partition.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "cli/client_config.h"
#include "cli/client_log.h"
#include "cli/command.h"
#include "cli/java_regex.h"
#include "cli/message_formatter.h"
#include "client/consumer.h"

namespace cordwood::cli {
namespace {

constexpr std::string_view kLogger = "org.apache.kafka.tools.consumer.ConsoleConsumer";
constexpr int kInterruptedCode = 130;

constexpr OptionSpec kConsumerOptions[] = {
    {"bootstrap-server", "HOST:PORT,…", "where the cluster is reached", 0, {}, false, true},
    {"command-config", "FILE", "properties of the consumer, from a file"},
    {"command-property", "KEY=VALUE", "a property of the consumer, before those of the file", 0, {}, true},
    {"consumer-property", "KEY=VALUE", "the old name of --command-property", 0, {}, true},
    {"consumer.config", "FILE", "the old name of --command-config"},
    {"enable-systest-events", {}, "print a line when the consumer has ended"},
    {"formatter", "CLASS", "how a record is printed", 0, kDefaultFormatter},
    {"formatter-config", "FILE", "properties of the formatter, from a file"},
    {"formatter-property", "KEY=VALUE",
     "print.timestamp, print.partition, print.offset, print.delivery, print.epoch, print.headers, print.key, print.value, key.separator, "
     "line.separator, headers.separator, null.literal, key.deserializer, value.deserializer, headers.deserializer",
     0, {}, true},
    {"from-beginning", {}, "where the group has no position, begin with the first record there is"},
    {"group", "GROUP", "the group to take part in; without it nothing is committed"},
    {"help", {}, "print this"},
    {"include", "PATTERN", "a regular expression: all topics whose whole name it matches"},
    {"isolation-level", "LEVEL", "read_committed leaves out what belongs to open or aborted transactions", 0, "read_uncommitted"},
    {"key-deserializer", "CLASS", "how keys become text"},
    {"max-messages", "COUNT", "end after so many records"},
    {"offset", "OFFSET", "where to begin in the partition: a number, earliest or latest", 0, "latest"},
    {"partition", "NUMBER", "read this partition, without a group"},
    {"property", "KEY=VALUE", "the old name of --formatter-property", 0, {}, true},
    {"skip-message-on-error", {}, "go on behind a record that cannot be printed"},
    {"timeout-ms", "MS", "end when no record comes for so long"},
    {"topic", "TOPIC", "the topic to read"},
    {"value-deserializer", "CLASS", "how values become text"},
    {"version", {}, "print the version"},
};
constexpr Grammar kConsumerGrammar{.habit = Habit::joptsimple, .options = kConsumerOptions};

int refuse_consumer_words(Session& session, std::string_view text) {
  session.err.print("{}\n", text);
  session.err.write(option_table(kConsumerGrammar, session.err.columns()));
  return 1;
}

int fail_consumer(Session& session, std::string_view java_lines) {
  log_line(session, Level::error, "Unknown error when running consumer: ", kLogger);
  session.err.print("{}\n", java_lines);
  return 1;
}

// A joptsimple exception with the causes that Java prints below it.
std::string mistake_in_java(const ParseMistake& mistake, std::string_view text) {
  std::string lines = fmt::format("{}: {}", mistake.java_class(), mistake.message);
  if (mistake.kind == ParseMistake::Kind::conversion) {
    std::string cause = fmt::format("java.lang.NumberFormatException: For input string: \"{}\"", text);
    lines += fmt::format("\nCaused by: joptsimple.internal.ReflectionException: {}\nCaused by: {}", cause, cause);
  }
  return lines;
}

struct ConsoleConsumerSettings {
  Options options;
  std::optional<std::string> topic;
  std::optional<std::string> include;
  std::optional<std::int32_t> partition;
  std::string offset;
  Properties consumer;
  std::unique_ptr<MessageFormatter> formatter;
};

using ConsumerWords = std::variant<ConsoleConsumerSettings, int>;

// The properties of one kind: a file, and before it what the line says, each under its new or its old name.
std::variant<Properties, int> consumer_properties(const Options& options, std::string_view file, std::string_view old_file,
                                                  std::string_view pairs, std::string_view old_pairs, Session& session) {
  Properties properties;
  auto path = options.value(file);
  if (path && !*path && !old_file.empty()) path = options.value(old_file);
  if (!path) return fail_consumer(session, mistake_in_java(path.mistake(), ""));
  if (*path) {
    auto read = read_properties_file(session, **path);
    if (!read && read.error().code == Errc::not_found) {
      if (old_file.empty()) return refuse_consumer_words(session, read.error().what);  // the formatter's
      session.err.print("Exception in thread \"main\" java.nio.file.NoSuchFileException: {}\n", read.error().what);
      return 1;
    }
    if (!read) return fail_consumer(session, fmt::format("java.io.IOException: {}", read.error().message()));
    properties = *std::move(read);
  }
  auto given = pairs_of(options.values(options.has(pairs) ? pairs : old_pairs));
  if (!given) return fail_consumer(session, fmt::format("java.lang.IllegalArgumentException: {}", given.error().what));
  for (auto& [key, value] : *given) set_property(properties, key, std::move(value));
  return properties;
}

// The group's id, wherever it was given. Answers the exit code when that was in two places that differ.
std::optional<int> choose_group(const Options& options, Properties& consumer, const Properties& from_file, const Properties& from_line,
                                Session& session) {
  std::vector<std::string> ids;
  auto note = [&](const std::string& id) {
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  };
  auto group = options.value("group");
  if (!group) return fail_consumer(session, mistake_in_java(group.mistake(), ""));
  if (*group) note(**group);
  if (has_property(from_line, "group.id")) note(property(from_line, "group.id"));
  if (has_property(from_file, "group.id")) note(property(from_file, "group.id"));
  if (ids.size() > 1) {
    std::vector<std::string> quoted;
    for (const std::string& id : ids) quoted.push_back(fmt::format("'{}'", id));
    return refuse_consumer_words(session, fmt::format("The group ids provided in different places (directly using '--group', via "
                                                      "'--consumer-property', or via '--consumer.config') do not match. Detected group "
                                                      "ids: {}",
                                                      fmt::join(quoted, ", ")));
  }
  if (!ids.empty()) {
    set_property(consumer, "group.id", ids.front());
  } else {
    constexpr std::uint64_t kRandomGroups = 100'000;
    set_property(consumer, "group.id", fmt::format("console-consumer-{}", session.random.below(kRandomGroups)));
    if (!has_property(consumer, "enable.auto.commit")) set_property(consumer, "enable.auto.commit", "false");
  }
  return {};
}

ConsumerWords read_consumer_words(const Words& words, Session& session) {
  auto parsed = parse_options(kConsumerGrammar, words);
  if (!parsed) return refuse_consumer_words(session, parsed.mistake().message);
  ConsoleConsumerSettings settings{*std::move(parsed), {}, {}, {}, {}, {}, {}};
  const Options& options = settings.options;
  if (words.empty() || options.has("help")) {
    return refuse_consumer_words(session, "This tool helps to read data from Kafka topics and outputs it to standard output.");
  }
  if (options.has("version")) {
    session.out.print("{}\n", kKafkaVersion);
    return 0;
  }
  for (std::string_view name : {"topic", "include", "bootstrap-server", "offset", "formatter", "isolation-level"}) {
    if (auto value = options.value(name); !value) return fail_consumer(session, mistake_in_java(value.mistake(), ""));
  }
  settings.topic = *options.value("topic");
  settings.include = *options.value("include");
  if (settings.topic.has_value() == settings.include.has_value()) {
    return refuse_consumer_words(session, "Exactly one of the following arguments is required: [topic], [include]");
  }
  auto partition = options.int_value("partition");
  if (!partition) return refuse_consumer_words(session, partition.mistake().message);
  settings.partition = *partition;
  if (settings.partition && !settings.topic) return refuse_consumer_words(session, "The topic is required when partition is specified.");
  if (options.has("offset") && !settings.partition) {
    return refuse_consumer_words(session, "The partition is required when offset is specified.");
  }
  if (options.has("from-beginning") && options.has("offset")) {
    return refuse_consumer_words(session, "Options from-beginning and offset cannot be specified together.");
  }
  if (options.has("offset")) {
    settings.offset = (*options.value("offset")).value_or("");
    std::int64_t number = 0;
    auto [end, error] = std::from_chars(settings.offset.data(), settings.offset.data() + settings.offset.size(), number);
    std::string lower = settings.offset;
    std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    bool is_number = error == std::errc() && end == settings.offset.data() + settings.offset.size() && number >= 0;
    if (lower == "earliest" || lower == "latest") {
      settings.offset = lower;
    } else if (!is_number) {
      return refuse_consumer_words(session, fmt::format("The provided offset value '{}' is incorrect. Valid values are 'earliest', "
                                                        "'latest', or a non-negative long.",
                                                        settings.offset));
    }
  } else {
    settings.offset = options.has("from-beginning") ? "earliest" : "latest";
  }
  struct OldName {
    std::string_view old_name;
    std::string_view new_name;
  };
  constexpr OldName kOldNames[] = {
      {"property", "formatter-property"}, {"consumer-property", "command-property"}, {"consumer.config", "command-config"}};
  for (const OldName& name : kOldNames) {
    if (options.has(name.old_name) && options.has(name.new_name)) {
      return refuse_consumer_words(session, fmt::format("Options --{} and --{} cannot be specified together.", name.old_name, name.new_name));
    }
  }
  for (const OldName& name : kOldNames) {
    if (!options.has(name.old_name)) continue;
    session.out.print("Option --{} is deprecated and will be removed in a future version. Use --{} instead.\n", name.old_name, name.new_name);
  }
  if (!options.has("bootstrap-server")) return refuse_consumer_words(session, "Missing required argument \"[bootstrap-server]\"");
  if (options.has("group") && settings.partition) {
    return refuse_consumer_words(session, "Options group and partition cannot be specified together.");
  }

  auto formatting = consumer_properties(options, "formatter-config", "", "formatter-property", "property", session);
  if (auto* code = std::get_if<int>(&formatting)) return *code;
  Properties& format = std::get<Properties>(formatting);
  for (std::string_view which : {"key", "value"}) {
    auto name = options.value(fmt::format("{}-deserializer", which));
    if (name && *name) set_property(format, fmt::format("{}.deserializer", which), **name);
  }
  auto formatter = make_formatter((*options.value("formatter")).value_or(std::string(kDefaultFormatter)), format);
  if (!formatter && formatter.error().code == Errc::not_found) return refuse_consumer_words(session, formatter.error().what);
  if (!formatter) return fail_consumer(session, fmt::format("java.lang.IllegalArgumentException: {}", formatter.error().what));
  settings.formatter = *std::move(formatter);

  auto file = consumer_properties(options, "command-config", "consumer.config", "help", "help", session);
  if (auto* code = std::get_if<int>(&file)) return *code;
  auto line = pairs_of(options.values(options.has("command-property") ? "command-property" : "consumer-property"));
  if (!line) return fail_consumer(session, fmt::format("java.lang.IllegalArgumentException: {}", line.error().what));
  settings.consumer = std::get<Properties>(file);
  for (const auto& [key, value] : *line) set_property(settings.consumer, key, value);
  set_property(settings.consumer, "bootstrap.servers", **options.value("bootstrap-server"));
  if (!has_property(settings.consumer, "client.id")) set_property(settings.consumer, "client.id", "console-consumer");
  auto isolation = *options.value("isolation-level");
  set_property(settings.consumer, "isolation.level", isolation.value_or("read_uncommitted"));
  if (options.has("from-beginning")) {
    if (has_property(settings.consumer, "auto.offset.reset") && property(settings.consumer, "auto.offset.reset") != "earliest") {
      session.err.print("Can't simultaneously specify --from-beginning and 'auto.offset.reset={}', please remove one option\n",
                        property(settings.consumer, "auto.offset.reset"));
      return 1;
    }
    set_property(settings.consumer, "auto.offset.reset", "earliest");
  } else if (!has_property(settings.consumer, "auto.offset.reset")) {
    set_property(settings.consumer, "auto.offset.reset", "latest");
  }
  if (auto code = choose_group(options, settings.consumer, std::get<Properties>(file), *line, session)) return *code;
  return settings;
}

// Polls and prints until it is enough.
class RecordPrinter {
 public:
  RecordPrinter(client::Consumer& consumer, MessageFormatter& formatter, bool skip_mistakes, Session& session)
      : consumer_(consumer), formatter_(formatter), skip_mistakes_(skip_mistakes), session_(session) {}

  // Nothing when there is no limit. Answers the exception that ends the program with exit code 1.
  std::optional<std::string> run(std::optional<std::int64_t> most, std::optional<std::int64_t> timeout_ms) {
    most_ = most;
    constexpr std::int64_t kForever = 100'000'000;
    while (!is_enough() && !session_.interrupted && !session_.out.failed()) {
      const MonotonicNs until = session_.clock.monotonic() + to_ns({std::min(timeout_ms.value_or(kForever), kForever)});
      auto got = consumer_.poll({std::max<std::int64_t>(0, std::min(timeout_ms.value_or(kForever), kForever))},
                                [&](const client::ConsumedRecord& record) { return print(record); });
      // A reader at the other end of a pipe sees each record when it came.
      session_.out.flush();
      if (mistake_) return mistake_;
      if (session_.interrupted || session_.out.failed()) break;
      if (!got) {
        end_with(client::to_java(got.failure()));
        break;
      }
      if (*got == 0 && timeout_ms && session_.clock.monotonic() >= until) {
        end_with("org.apache.kafka.common.errors.TimeoutException");
        break;
      }
    }
    if (session_.out.failed()) session_.err.write("Unable to write to standard out, closing consumer.\n");
    return {};
  }

  std::int64_t count() const { return count_; }

 private:
  bool is_enough() const { return most_ && count_ >= *most_; }

  void end_with(std::string_view exception) {
    log_line(session_, Level::error, "Error processing message, terminating consumer process: ", kLogger);
    session_.err.print("{}\n", exception);
  }

  record::Walk print(const client::ConsumedRecord& record) {
    ++count_;
    if (auto mistake = formatter_.write(record, session_.out)) {
      std::string lines = fmt::format("{}: {}", mistake->java_class, mistake->message);
      if (!skip_mistakes_) {
        mistake_ = std::move(lines);
        return record::Walk::stop;
      }
      log_line(session_, Level::error, "Error processing message, skipping this message: ", kLogger);
      session_.err.print("{}\n", lines);
    }
    return is_enough() || session_.interrupted || session_.out.failed() ? record::Walk::stop : record::Walk::go_on;
  }

  client::Consumer& consumer_;
  MessageFormatter& formatter_;
  bool skip_mistakes_;
  Session& session_;
  std::optional<std::int64_t> most_;
  std::int64_t count_ = 0;
  std::optional<std::string> mistake_;
};

int run_console_consumer(const Command&, const Words& words, Session& session) {
  auto read = read_consumer_words(words, session);
  if (auto* code = std::get_if<int>(&read)) return *code;
  ConsoleConsumerSettings& settings = std::get<ConsoleConsumerSettings>(read);
  const Options& words_of = settings.options;
  auto options = consumer_options(settings.consumer);
  if (!options) return fail_consumer(session, java_config_error(options.error()));
  auto cluster = client_cluster(settings.consumer, session);
  if (!cluster) {
    return fail_consumer(session, fmt::format("org.apache.kafka.common.KafkaException: Failed to construct kafka consumer\nCaused by: {}",
                                              java_config_error(cluster.error())));
  }
  std::optional<JavaRegex> pattern;
  if (settings.include) {
    auto compiled = JavaRegex::compile(*settings.include);
    if (!compiled) return fail_consumer(session, fmt::format("java.util.regex.PatternSyntaxException: {}", *settings.include));
    pattern = *std::move(compiled);
  }
  auto timeout = words_of.long_value("timeout-ms");
  if (!timeout) return fail_consumer(session, mistake_in_java(timeout.mistake(), words_of.values("timeout-ms").front()));
  ConsumerLog log(session, cluster->client_id, options->group.group_id);
  client::Consumer consumer(*std::move(cluster), *std::move(options), session.clock, log);
  if (settings.partition) {
    TopicPartition partition{*settings.topic, {*settings.partition}};
    consumer.assign({partition});
    if (settings.offset == "earliest") {
      consumer.seek_by_reset(partition, client::OffsetReset::earliest);
    } else if (settings.offset == "latest") {
      consumer.seek_by_reset(partition, client::OffsetReset::latest);
    } else {
      std::int64_t offset = 0;
      std::from_chars(settings.offset.data(), settings.offset.data() + settings.offset.size(), offset);
      consumer.seek(partition, {offset});
    }
  } else {
    session.err.write(
        "The consumer rebalance protocol (KIP-848) is production-ready! Set group.protocol=consumer to try it out. See "
        "https://kafka.apache.org/documentation/#consumer_rebalance_protocol\n");
    session.err.flush();
    if (pattern) {
      consumer.subscribe([&pattern](std::string_view name) { return pattern->matches(name); });
    } else {
      consumer.subscribe({*settings.topic});
    }
  }
  RecordPrinter printer(consumer, *settings.formatter, words_of.has("skip-message-on-error"), session);
  auto most = words_of.int_value("max-messages");
  std::optional<std::string> exception;
  if (!most) {
    exception = mistake_in_java(most.mistake(), words_of.values("max-messages").front());
  } else {
    std::optional<std::int64_t> limit;
    if (*most && **most != -1) limit = **most;
    exception = printer.run(limit, *timeout);
  }
  session.out.flush();
  consumer.close({30'000});
  session.err.print("Processed a total of {} messages\n", printer.count());
  if (exception) return fail_consumer(session, *exception);
  if (words_of.has("enable-systest-events")) session.out.write("shutdown_complete\n");
  return session.interrupted ? kInterruptedCode : 0;
}

}  // namespace

extern const Command console_consumer_command;
const Command console_consumer_command{
    .name = "console-consumer",
    .kafka_name = "kafka-console-consumer",
    .summary = "print the records of topics",
    .details = {},
    .grammar = &kConsumerGrammar,
    .run = run_console_consumer,
};

}  // namespace cordwood::cli
