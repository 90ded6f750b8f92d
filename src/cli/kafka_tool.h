// cli/kafka_tool.h — what Kafka's tools with joptsimple share: help, version, options that are missing or do not go together, and
// the client that they make from --bootstrap-server and --command-config.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/admin_client.h"
#include "cli/command.h"
#include "cli/java_error.h"

namespace cordwood::cli {

// A line, then our table of options, on stderr. Answers the exit code, 1.
int usage_and_exit_code(const Command& self, Session& session, std::string_view line);

// The exit code of --help and --version where they were asked for; nothing else.
std::optional<int> help_or_version(const Command& self, const Options& options, Session& session, std::string_view help_line);

// The exit code when one of `required` was not given.
std::optional<int> check_required(const Command& self, const Options& options, Session& session,
                                  std::initializer_list<std::string_view> required);

// The exit code when one of `invalid` was given beside `used`.
std::optional<int> check_invalid(const Command& self, const Options& options, Session& session, std::string_view used,
                                 std::span<const std::string_view> invalid);

// The class of exception that a tool's own checks throw.
JavaError terse_exception(std::string message);
JavaError admin_command_failed(std::string message);
JavaError admin_operation(std::string message);

// The client of `bootstrap_servers` with the properties of `config_file` (empty: none); `defaults` fills what those leave open.
// Errors: NoSuchFileException, KafkaException with its cause.
// The client of --bootstrap-server, or of --bootstrap-controller when only that is given.
Tried<std::unique_ptr<AdminClient>> make_admin_client(Session& session, const Options& servers, const std::string& config_file);
Tried<std::unique_ptr<AdminClient>> make_admin_client(Session& session, std::string_view bootstrap_servers,
                                                      const std::string& config_file, client::ClusterOptions defaults = {});

// "message\nclass: message\nCaused by: …\n\n" on stderr: how most tools say why they end. Answers 1.
int print_with_trace(Session& session, const JavaError& error);

// The same for words that cannot be matched; on a terminal also which option may have been meant.
int print_parse_error(const Command& self, Session& session, const ParseMistake& mistake);
// "did you mean --topic?" on a terminal.
void suggest_option(const Command& self, Session& session, const ParseMistake& mistake);

// "1,2,3" as joined by Java; `separator` between them.
std::string joined(std::span<const std::int32_t> numbers, std::string_view separator = ",");

// Java's String.split(separator) for one character: empty pieces at the end fall away; an empty text is one empty piece.
std::vector<std::string> split_as_java(std::string_view text, char separator);
std::string_view java_trimmed(std::string_view text);
// As Integer.parseInt and Long.parseLong.
std::optional<std::int32_t> parse_java_int(std::string_view text);
std::optional<std::int64_t> parse_java_long(std::string_view text);
// As Double.toString: "1024.0", "50.5", "1.0E7".
std::string double_text(double value);

}  // namespace cordwood::cli
