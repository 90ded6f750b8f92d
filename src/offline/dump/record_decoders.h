// offline/dump/record_decoders.h — what is shown of a record's key and value.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"

namespace cordwood::offline {

struct RecordToShow {
  Offset offset;
  std::optional<BytesView> key;
  std::optional<BytesView> value;
};

// Absent parts are not shown. Kept from record to record for its capacity.
struct ShownRecord {
  std::optional<std::string> key;
  std::optional<std::string> value;
};

class RecordDecoder {
 public:
  virtual ~RecordDecoder() = default;
  // Errors: corrupt; `what` is the exception that Kafka's tool dies of.
  virtual Result<void> decode(const RecordToShow& record, ShownRecord& shown) const = 0;
  // Whether key and value are shown as they are, as UTF-8: the caller then need not ask.
  virtual bool is_plain_text() const { return false; }
};

// The classes of org.apache.kafka.tools.api: StringDecoder, IntegerDecoder, LongDecoder, DefaultDecoder.
// Errors: corrupt for any other; `what` is the exception with its cause.
Result<std::unique_ptr<RecordDecoder>> class_decoder(std::string_view key_class, std::string_view value_class);
std::unique_ptr<RecordDecoder> offsets_decoder();
std::unique_ptr<RecordDecoder> transaction_log_decoder();
std::unique_ptr<RecordDecoder> share_group_state_decoder();
std::unique_ptr<RecordDecoder> cluster_metadata_decoder();
std::unique_ptr<RecordDecoder> remote_log_metadata_decoder();

// What is shown of a control record, with a space in front. Errors: corrupt, as above.
Result<std::string> control_record_text(const RecordToShow& record);

}  // namespace cordwood::offline
