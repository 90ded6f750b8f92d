// cli/message_formatter.h — how kafka-console-consumer prints a record: the formatters and deserializers of Kafka, by class name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "cli/admin_client.h"
#include "cli/session.h"
#include "client/consumer.h"

namespace cordwood::cli {

// Why a record could not be printed, as Java tells it.
struct FormatMistake {
  std::string java_class;
  std::string message;
};

class MessageFormatter {
 public:
  virtual ~MessageFormatter() = default;
  // Prints the record. On a mistake what was printed before it stays.
  virtual std::optional<FormatMistake> write(const client::ConsumedRecord& record, Output& out) = 0;
};

// Makes bytes readable: "org.apache.kafka.common.serialization.LongDeserializer" and its like.
class Deserializer {
 public:
  // Nothing when there is no such class here.
  static std::optional<Deserializer> of(std::string_view java_class);
  // Appends the text of `bytes`.
  std::optional<FormatMistake> append(BytesView bytes, std::string& to) const { return append_(bytes, to); }

 private:
  using Append = std::optional<FormatMistake> (*)(BytesView, std::string&);
  explicit Deserializer(Append how) : append_(how) {}
  Append append_;
};

inline constexpr std::string_view kDefaultFormatter = "org.apache.kafka.tools.consumer.DefaultMessageFormatter";

// By class name, with its properties ("print.key=true"). Errors: not_found with the name alone; invalid for a deserializer that is
// not there.
Result<std::unique_ptr<MessageFormatter>> make_formatter(std::string_view java_class, const Properties& properties);

}  // namespace cordwood::cli
