// offline/dump/segment_dump.h — a .log or .checkpoint file as lines of text, as org.apache.kafka.tools.DumpLogSegments of
// Kafka 4.4.0 prints it, from front to back through a small window. Records are not copied.
#pragma once

#include <string>

#include "offline/dump/java_text.h"
#include "offline/dump/record_decoders.h"
#include "offline/dump/text_writer.h"
#include "io/file_system.h"

namespace cordwood::offline {

struct SegmentDumpOptions {
  bool records = false;   // a line for each
  bool contents = false;  // with key and value
  bool record_metadata = true;
  std::int32_t max_bytes = INT32_MAX;
};

// `path` is what is shown of the file's name. Offsets that do not follow each other are put into `gaps`.
// Errors: corrupt; `what` is the exception that Kafka's tool dies of, with its causes, a line each. io and not_found as they are.
Result<void> dump_segment(io::File& file, const std::string& path, const SegmentDumpOptions& options,
                          const RecordDecoder& decoder, OffsetPairs& gaps, TextWriter& out);

}  // namespace cordwood::offline
