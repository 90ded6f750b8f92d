// offline/dump/index_dump.h — the small files beside a .log as lines of text, and the checks of its indexes, as
// org.apache.kafka.tools.DumpLogSegments of Kafka 4.4.0 makes them. Nothing is created or changed.
//
// Errors of all: corrupt; `what` is the exception that Kafka's tool dies of.
#pragma once

#include <string>
#include <vector>

#include "io/file_system.h"
#include "offline/dump/java_text.h"
#include "offline/dump/text_writer.h"

namespace cordwood::offline {

enum class IndexDumpMode { print, verify, sanity };

struct FileToDump {
  io::Path opened;    // the path as given, in Java's form: what is shown of it
  io::Path absolute;  // the same in absolute form
};

// Index entries that do not fit the log are put into `mismatches`: index offset, log offset.
Result<void> dump_offset_index(io::FileSystem& fs, const FileToDump& file, IndexDumpMode mode, std::int32_t max_message_size,
                               OffsetPairs& mismatches, TextWriter& out);

using LongPairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
struct TimeIndexFaults {
  LongPairs wrong_timestamps;  // index, log
  LongPairs out_of_order;      // index, the one before
  LongPairs wrong_offsets;     // index, log; -1 when there is no batch
};
Result<void> dump_time_index(io::FileSystem& fs, const FileToDump& file, IndexDumpMode mode, TimeIndexFaults& faults, TextWriter& out);

Result<void> dump_txn_index(io::FileSystem& fs, const FileToDump& file, TextWriter& out);

// A snapshot that is corrupt is no error: what is wrong goes to `complaints`, a line.
Result<void> dump_producer_snapshot(io::FileSystem& fs, const FileToDump& file, TextWriter& out, TextWriter& complaints);

// The base offset that a file's name starts with. Errors: corrupt, NumberFormatException.
Result<std::int64_t> offset_in_name(std::string_view name);

// NoSuchFileException and its kind for an error of opening `path`.
Error java_open_error(const Error& error, const io::Path& path);

}  // namespace cordwood::offline
