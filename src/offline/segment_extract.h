// offline/segment_extract.h — some records of a log as a log of their own: batches with their old offsets in files that a broker
// opens.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "io/file_system.h"
#include "offline/data_directory.h"
#include "record/batch.h"
#include "record/record.h"

namespace cordwood::offline {

// What is wanted of one batch.
class BatchExtract {
 public:
  bool whole = true;  // every record is wanted
  void add(const record::BatchHeader& header, const record::RecordView& record);
  bool empty() const { return records_.empty(); }
  // The batch as it was when all of it is wanted and it belongs to no transaction; else a plain one of the records added: no
  // marker comes along that would end the transaction, nor the neighbours that its sequence numbers count.
  ByteVector finish(const record::BatchHeader& header, BytesView original);

 private:
  struct Kept {
    std::int32_t delta = 0;
    TimestampMs timestamp = kNoTimestamp;
    std::optional<ByteVector> key;
    std::optional<ByteVector> value;
    std::vector<std::pair<std::string, std::optional<ByteVector>>> headers;
  };
  std::vector<Kept> records_;
};

// Directories TOPIC-PARTITION with one or more .log files.
class SegmentExtract {
 public:
  static constexpr ByteCount kLargest{1 * GiB};
  // Batches of a partition come in the order of their offsets. Errors: exists when the directory holds a log already; io.
  Result<void> write(io::FileSystem& fs, const io::Path& to, const PartitionOnDisk& partition, Offset base, BytesView batch);
  Result<void> finish();  // durable

 private:
  struct Target {
    io::Path directory;
    std::shared_ptr<io::File> file;
    Offset base;
    FilePosition end{0};
  };
  std::map<TopicPartition, Target> targets_;
};

}  // namespace cordwood::offline
