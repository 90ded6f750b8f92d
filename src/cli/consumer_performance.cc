// kafka-consumer-perf-test: reads so many records and tells how fast that went.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <regex>

#include "cli/client_config.h"
#include "cli/client_log.h"
#include "cli/command.h"
#include "client/consumer.h"

namespace cordwood::cli {
namespace {

// Java's consumer hands out so many records at a time, and its tool counts them together.
constexpr std::int64_t kRecordsOfOnePoll = 500;

constexpr OptionSpec kPerfConsumerOptions[] = {
    {"bootstrap-server", "HOST:PORT,…", "where the cluster is reached", 0, {}, false, true},
    {"command-config", "FILE", "properties of the consumer, from a file"},
    {"command-property", "KEY=VALUE", "a property of the consumer, before those of the file", 0, {}, true},
    {"consumer.config", "FILE", "the old name of --command-config"},
    {"date-format", "PATTERN", "how times are printed", 0, "yyyy-MM-dd HH:mm:ss:SSS"},
    {"fetch-size", "BYTES", "how much one fetch brings of a partition", 0, "1048576"},
    {"from-latest", {}, "begin with what comes from now on, not with the first record"},
    {"group", "GROUP", "the group to take part in", 0, "perf-consumer- and a number"},
    {"help", {}, "print this"},
    {"hide-header", {}, "leave the line with the names of the columns out"},
    {"include", "PATTERN", "a regular expression: all topics whose whole name it matches"},
    {"messages", "COUNT", "the old name of --num-records"},
    {"num-records", "COUNT", "end after so many records", 0, {}, false, true},
    {"print-metrics", {}, "accepted; this client keeps no metrics"},
    {"reporting-interval", "MS", "how often --show-detailed-stats prints", 0, "5000"},
    {"show-detailed-stats", {}, "print a line in every interval, and no summary"},
    {"socket-buffer-size", "BYTES", "the size of the socket's buffer", 0, "2097152"},
    {"timeout", "MS", "end when no record comes for so long", 0, "10000"},
    {"topic", "TOPIC", "the topic to read"},
    {"version", {}, "print the version"},
};
constexpr Grammar kPerfConsumerGrammar{.habit = Habit::joptsimple, .options = kPerfConsumerOptions};

int refuse_perf_consumer_words(Session& session, std::string_view text) {
  session.err.print("{}\n", text);
  session.err.write(option_table(kPerfConsumerGrammar, session.err.columns()));
  return 1;
}

// The letters of SimpleDateFormat that stand for numbers; quoted text and other characters are printed as they are.
std::string format_time(TimestampMs time, std::string_view pattern) {
  std::time_t seconds = time.value / 1000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::string text;
  bool quoted = false;
  for (std::size_t at = 0; at < pattern.size();) {
    const char letter = pattern[at];
    std::size_t end = std::min(pattern.find_first_not_of(letter, at), pattern.size());
    auto width = static_cast<int>(end - at);
    if (letter == '\'') {
      quoted = !quoted;
      ++at;
      continue;
    }
    std::int64_t number = -1;
    switch (quoted ? ' ' : letter) {
      case 'y': number = width == 2 ? (local.tm_year + 1900) % 100 : local.tm_year + 1900; break;
      case 'M': number = local.tm_mon + 1; break;
      case 'd': number = local.tm_mday; break;
      case 'H': number = local.tm_hour; break;
      case 'm': number = local.tm_min; break;
      case 's': number = local.tm_sec; break;
      case 'S': number = time.value % 1000; break;
      default: break;
    }
    text += number < 0 ? std::string(pattern.substr(at, end - at)) : fmt::format("{:0{}}", number, width);
    at = end;
  }
  return text;
}

struct Totals {
  std::int64_t bytes = 0;
  std::int64_t records = 0;
  DurationMs joining{0};
  TimestampMs at;
};

// The columns behind the times, for what came between two moments.
std::string columns(const Totals& from, const Totals& to) {
  auto ms = static_cast<double>((to.at - from.at).value);
  double seconds = ms / 1000;
  double megabytes = static_cast<double>(to.bytes - from.bytes) / static_cast<double>(MiB);
  auto records = static_cast<double>(to.records - from.records);
  double joining = static_cast<double>((to.joining - from.joining).value);
  double fetching = ms - joining;
  auto rate = [](double amount, double time) { return time <= 0 ? 0.0 : amount / time; };
  return fmt::format("{:.4f}, {:.4f}, {}, {:.4f}, {}, {}, {:.4f}, {:.4f}", static_cast<double>(to.bytes) / static_cast<double>(MiB),
                     rate(megabytes, seconds), to.records, rate(records, seconds), static_cast<std::int64_t>(joining),
                     static_cast<std::int64_t>(fetching), rate(megabytes, fetching / 1000), rate(records, fetching / 1000));
}

int run_consumer_perf_test(const Command&, const Words& words, Session& session) {
  auto parsed = parse_options(kPerfConsumerGrammar, words);
  if (!parsed) return refuse_perf_consumer_words(session, parsed.mistake().message);
  const Options& options = *parsed;
  if (words.empty() || options.has("help")) {
    return refuse_perf_consumer_words(session, "This tool is used to verify the consumer performance.");
  }
  if (options.has("version")) {
    session.out.print("{}\n", kKafkaVersion);
    return 0;
  }
  if (options.has("topic") == options.has("include")) {
    return refuse_perf_consumer_words(session, "Exactly one of the following arguments is required: [topic], [include]");
  }
  if (options.has("messages") == options.has("num-records")) {
    return refuse_perf_consumer_words(session, "Exactly one of the following arguments is required: [messages], [num-records]");
  }
  if (options.has("messages")) session.out.write("Warning: --messages is deprecated. Use --num-records instead.\n");
  if (options.has("consumer.config")) {
    session.out.write("Warning: --consumer.config is deprecated. Use --command-config instead.\n");
  }
  if (!options.has("bootstrap-server")) {
    return refuse_perf_consumer_words(session, "Missing required argument \"[bootstrap-server]\"");
  }
  auto fail = [&](std::string_view message, std::string_view exception, std::string_view causes = "") {
    session.err.print("{}\n{}: {}\n{}\n", message, exception, message, causes);
    return 1;
  };

  const bool detailed = options.has("show-detailed-stats");
  if (!options.has("hide-header")) {
    session.out.print("{}, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, "
                      "fetch.MB.sec, fetch.nMsg.sec\n",
                      detailed ? "time, threadId" : "start.time, end.time");
    session.out.flush();
  }
  std::int64_t numbers[] = {0, 10'000, 5'000, 1'048'576};
  const std::string_view names[] = {options.has("messages") ? "messages" : "num-records", "timeout", "reporting-interval", "fetch-size"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    auto value = options.long_value(names[i]);
    if (!value) {
      std::string cause = fmt::format("java.lang.NumberFormatException: For input string: \"{}\"", options.values(names[i]).front());
      return fail(value.mistake().message, value.mistake().java_class(),
                  fmt::format("Caused by: joptsimple.internal.ReflectionException: {}\nCaused by: {}\n", cause, cause));
    }
    if (*value) numbers[i] = **value;
  }
  const auto [wanted, timeout_ms, interval_ms, fetch_size] = numbers;
  if (interval_ms <= 0) return fail("Reporting interval must be greater than 0.", "java.lang.IllegalArgumentException");

  Properties properties;
  for (std::string_view name : {"consumer.config", "command-config"}) {
    for (const std::string& path : options.values(name)) {
      auto file = read_properties_file(session, path);
      if (!file) return fail(file.error().what, "java.nio.file.NoSuchFileException");
      properties = *std::move(file);
    }
  }
  auto pairs = pairs_of(options.values("command-property"));
  if (!pairs) return fail(pairs.error().what, "java.lang.IllegalArgumentException");
  for (const auto& [key, value] : *pairs) set_property(properties, key, value);
  constexpr std::uint64_t kRandomGroups = 100'000;
  set_property(properties, "bootstrap.servers", options.values("bootstrap-server").back());
  set_property(properties, "group.id",
               options.has("group") ? options.values("group").back() : fmt::format("perf-consumer-{}", session.random.below(kRandomGroups)));
  set_property(properties, "max.partition.fetch.bytes", std::to_string(fetch_size));
  set_property(properties, "auto.offset.reset", options.has("from-latest") ? "latest" : "earliest");
  set_property(properties, "check.crcs", "false");
  if (!has_property(properties, "client.id")) set_property(properties, "client.id", "perf-consumer-client");
  auto settings = consumer_options(properties);
  if (!settings) return fail(settings.error().what, "org.apache.kafka.common.config.ConfigException");
  auto cluster = client_cluster(properties, session);
  if (!cluster) return fail(cluster.error().what, "org.apache.kafka.common.config.ConfigException");

  ConsumerLog log(session, cluster->client_id, settings->group.group_id);
  client::Consumer consumer(*std::move(cluster), *std::move(settings), session.clock, log);
  std::optional<std::regex> pattern;
  if (options.has("include")) {
    try {
      pattern.emplace(options.values("include").back(), std::regex::ECMAScript);
    } catch (const std::regex_error&) {
      return fail(options.values("include").back(), "java.util.regex.PatternSyntaxException");
    }
    consumer.subscribe([&pattern](std::string_view name) { return std::regex_match(name.begin(), name.end(), *pattern); });
  } else {
    consumer.subscribe({options.values("topic").back()});
  }

  const std::string date_format =
      options.has("date-format") ? options.values("date-format").back() : std::string("yyyy-MM-dd HH:mm:ss:SSS");
  constexpr DurationMs kPatience{100};
  const Totals start{0, 0, {0}, session.clock.now()};
  Totals now = start;
  Totals reported = start;
  TimestampMs last_record = start.at;
  while (now.records < wanted && (session.clock.now() - last_record).value <= timeout_ms && !session.interrupted) {
    auto got = consumer.poll(kPatience, [&](const client::ConsumedRecord& consumed) {
      ++now.records;
      if (consumed.record.key) now.bytes += static_cast<std::int64_t>(consumed.record.key->size());
      if (consumed.record.value) now.bytes += static_cast<std::int64_t>(consumed.record.value->size());
      bool poll_is_full = now.records % kRecordsOfOnePoll == 0;
      if (poll_is_full) last_record = session.clock.now();
      return now.records >= wanted && poll_is_full ? record::Walk::stop : record::Walk::go_on;
    });
    now.at = session.clock.now();
    now.joining = consumer.joining_time();
    if (!got) return fail(got.failure().message, client::java_class_of(got.failure().code));
    if (*got > 0) last_record = now.at;
    if (detailed && *got > 0 && (now.at - reported.at).value >= interval_ms) {
      session.out.print("{}, 0, {}\n", format_time(now.at, date_format), columns(reported, now));
      session.out.flush();
      reported = now;
    }
  }
  if (now.records < wanted) {
    session.out.print("WARNING: Exiting before consuming the expected number of records: timeout ({} ms) exceeded. You can use the "
                      "--timeout option to increase the timeout.\n",
                      timeout_ms);
  }
  now.at = session.clock.now();
  consumer.close({30'000});
  if (!detailed) {
    session.out.print("{}, {}, {}\n", format_time(start.at, date_format), format_time(now.at, date_format), columns(start, now));
  }
  return 0;
}

}  // namespace

extern const Command consumer_perf_test_command;
const Command consumer_perf_test_command{
    .name = "consumer-perf-test",
    .kafka_name = "kafka-consumer-perf-test",
    .summary = "read records and tell how fast that went",
    .details = {},
    .grammar = &kPerfConsumerGrammar,
    .run = run_consumer_perf_test,
};

}  // namespace cordwood::cli
