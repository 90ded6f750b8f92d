// Fuzz entry point: properties of the console tools (--command-config, --reader-property, --formatter-property), and the lines that a
// reader with such properties takes apart.
//
// Input: lines of properties; an empty line ends them, and what follows are lines of records.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "cli/client_config.h"
#include "cli/line_reader.h"
#include "cli/message_formatter.h"
#include "cli/session_testing.h"

using namespace cordwood;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(std::as_bytes(std::span(data, size)));
  const std::size_t gap = std::min(text.find("\n\n"), text.size());
  const std::string_view records = text.substr(std::min(gap + 2, text.size()));
  cli::TestSession test;
  auto file = test.files.open("/p", io::OpenMode::truncate).value();
  file->write_at(FilePosition{0}, as_bytes(text.substr(0, gap))).value();
  const auto properties = cli::read_properties_file(test.session, "/p");
  if (!properties) return 0;
  (void)cli::cluster_options(*properties);
  (void)cli::producer_options(*properties);
  (void)cli::consumer_options(*properties);
  (void)cli::make_formatter(cli::kDefaultFormatter, *properties);
  const auto format = cli::line_format(*properties);
  if (!format) return 0;
  cli::LineReader reader(*format);
  std::size_t taken = 0;
  const auto take = [&](std::string_view line) {
    taken += line.size();
    (void)reader.parse(line);
  };
  // In two pieces, cut anywhere.
  const std::size_t cut = records.empty() ? 0 : size % records.size();
  reader.feed(records.substr(0, cut), take);
  reader.feed(records.substr(cut), take);
  reader.finish(take);
  CHECK(taken <= records.size(), "{} bytes of {}", taken, records.size());
  return 0;
}
