// offline/dump/segment_dump.h — a .log or .checkpoint file as lines of text, as org.apache.kafka.tools.DumpLogSegments of
// Kafka 4.4.0 prints it, from front to back. Records are not copied.
#pragma once

#include <string>

#include "base/result.h"
#include "io/file_system.h"
#include "offline/dump/entry_printer.h"
#include "offline/dump/java_text.h"
#include "offline/dump/record_decoders.h"
#include "offline/dump/text_writer.h"

namespace cordwood::offline {

// `path` is what is shown of the file's name. Offsets that do not follow each other are put into `gaps`.
// With options.threads above 1, whole blocks of ordinary entries are printed by as many threads; the text is the same.
// Errors: corrupt; `what` is the exception that Kafka's tool dies of, with its causes, a line each. io and not_found as they are.
Result<void> dump_segment(io::File& file, const std::string& path, const SegmentDumpOptions& options,
                          const RecordDecoder& decoder, OffsetPairs& gaps, TextWriter& out);

}  // namespace cordwood::offline
