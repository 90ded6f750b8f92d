#include "cli/kafka_tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace cordwood::cli {

int usage_and_exit_code(const Command& self, Session& session, std::string_view line) {
  session.err.print("{}\n{}", line, option_table(*self.grammar, session.err.columns()));
  return 1;
}

std::optional<int> help_or_version(const Command& self, const Options& options, Session& session, std::string_view help_line) {
  if (options.has("help")) {
    usage_and_exit_code(self, session, help_line);
    if (!self.details.empty()) session.err.print("\n{}\n", self.details);
    return 1;
  }
  if (!options.has("version")) return {};
  session.out.print("{}\n", kKafkaVersion);
  return 0;
}

std::optional<int> check_required(const Command& self, const Options& options, Session& session,
                                  std::initializer_list<std::string_view> required) {
  for (std::string_view name : required) {
    if (!options.has(name)) return usage_and_exit_code(self, session, fmt::format("Missing required argument \"[{}]\"", name));
  }
  return {};
}

std::optional<int> check_invalid(const Command& self, const Options& options, Session& session, std::string_view used,
                                 std::span<const std::string_view> invalid) {
  if (!options.has(used)) return {};
  for (std::string_view name : invalid) {
    if (options.has(name)) {
      return usage_and_exit_code(self, session, fmt::format("Option \"[{}]\" can't be used with option \"[{}]\"", used, name));
    }
  }
  return {};
}

JavaError terse_exception(std::string message) { return {"org.apache.kafka.tools.TerseException", std::move(message)}; }
JavaError admin_command_failed(std::string message) {
  return {"org.apache.kafka.tools.AdminCommandFailedException", std::move(message)};
}
JavaError admin_operation(std::string message) { return {"org.apache.kafka.tools.AdminOperationException", std::move(message)}; }

Tried<std::unique_ptr<AdminClient>> make_admin_client(Session& session, const Options& servers, const std::string& config_file) {
  if (const auto brokers = NEED(tried(servers.value("bootstrap-server")))) return make_admin_client(session, *brokers, config_file);
  const auto controllers = NEED(tried(servers.value("bootstrap-controller")));
  client::ClusterOptions defaults;
  defaults.endpoints = client::Endpoints::controllers;
  return make_admin_client(session, controllers.value_or(""), config_file, std::move(defaults));
}

Tried<std::unique_ptr<AdminClient>> make_admin_client(Session& session, std::string_view bootstrap_servers,
                                                      const std::string& config_file, client::ClusterOptions defaults) {
  Properties properties;
  if (!config_file.empty()) {
    auto read = read_properties_file(session, config_file);
    if (!read && read.error().code == Errc::not_found) {
      return std::unexpected(JavaError{"java.nio.file.NoSuchFileException", config_file});
    }
    if (!read) return std::unexpected(JavaError{"java.io.IOException", read.error().message()});
    properties = *std::move(read);
  }
  auto failed = [](const Error& error) {
    JavaError cause{"org.apache.kafka.common.config.ConfigException", error.what};
    return std::unexpected(with_cause({"org.apache.kafka.common.KafkaException", "Failed to create new KafkaAdminClient"}, cause));
  };
  auto options = cluster_options(properties, std::move(defaults));
  if (!options) return failed(options.error());
  auto servers = client::parse_bootstrap_servers(bootstrap_servers);
  if (!servers) return failed(servers.error());
  options->bootstrap = *std::move(servers);
  auto client = std::make_unique<AdminClient>(session, *std::move(options));
  if (!client->cluster.resolvable()) {
    return failed(Error{Errc::invalid, "No resolvable bootstrap urls given in bootstrap.servers"});
  }
  return client;
}

int print_with_trace(Session& session, const JavaError& error) {
  session.err.print("{}\n{}\n", error.message, error.stack_trace());
  return 1;
}

void suggest_option(const Command& self, Session& session, const ParseMistake& mistake) {
  if (mistake.kind != ParseMistake::Kind::unrecognized || !session.err.is_terminal()) return;
  std::vector<std::string_view> names;
  for (const OptionSpec& option : self.grammar->options) names.push_back(option.name);
  std::vector<std::string> near = nearest_names(mistake.option, names);
  if (!near.empty()) session.err.print("did you mean --{}?\n", fmt::join(near, " or --"));
}

int print_parse_error(const Command& self, Session& session, const ParseMistake& mistake) {
  int code = print_with_trace(session, java_error(mistake));
  suggest_option(self, session, mistake);
  return code;
}

std::string joined(std::span<const std::int32_t> numbers, std::string_view separator) {
  return fmt::format("{}", fmt::join(numbers, separator));
}

std::vector<std::string> split_as_java(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  std::size_t from = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at == text.size() || text[at] == separator) {
      pieces.emplace_back(text.substr(from, at - from));
      from = at + 1;
    }
  }
  while (pieces.size() > 1 && pieces.back().empty()) pieces.pop_back();
  if (!text.empty() && pieces.size() == 1 && pieces.front().empty()) pieces.clear();  // only separators
  return pieces;
}

std::string_view java_trimmed(std::string_view text) {
  constexpr auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

namespace {

template <class Number>
std::optional<Number> parse_decimal(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  Number value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

std::optional<std::int32_t> parse_java_int(std::string_view text) { return parse_decimal<std::int32_t>(text); }
std::optional<std::int64_t> parse_java_long(std::string_view text) { return parse_decimal<std::int64_t>(text); }

std::string double_text(double value) {
  constexpr double kPlainFrom = 1e-3;
  constexpr double kPlainBelow = 1e7;
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  double size = std::fabs(value);
  if (size == 0 || (size >= kPlainFrom && size < kPlainBelow)) {
    std::string text = fmt::format("{}", value);
    return text.find('.') == std::string::npos ? text + ".0" : text;
  }
  std::string text = fmt::format("{:e}", value);
  auto exponent = text.find('e');
  // The shortest digits that mean the value.
  for (int digits = 0; digits <= 17; ++digits) {
    text = fmt::format("{:.{}e}", value, digits);
    if (std::stod(text) == value) break;
  }
  exponent = text.find('e');
  std::string mantissa = text.substr(0, exponent);
  if (mantissa.find('.') == std::string::npos) mantissa += ".0";
  return fmt::format("{}E{}", mantissa, std::stoi(text.substr(exponent + 1)));
}

}  // namespace cordwood::cli
