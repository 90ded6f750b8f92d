// storage/damaged_files.h — the sub-directory damaged/ of a partition directory: what a recovery took out of the log and did
// not want to throw away. Apache Kafka looks into no sub-directory of a partition directory, and deletes it with the topic.
//
//   damaged/cut-000001/                            one cut through the log; each later one has the next number
//     00000000000000000000.log.from-0000001234     the bytes of that segment behind the cut
//     00000000000000000042.log                     a whole later segment
//     report.txt                                   what these hold and why; written last
//   damaged/<name>                                 an index, snapshot or small file that was made anew; the first bad one
//
// Nothing in it is ever overwritten or read again. docs/formats/damage.md; docs/decisions/0006.
// One thread per partition directory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "io/file_system.h"

namespace cordwood::storage {

inline constexpr const char* kDamagedDirectory = "damaged";
inline constexpr const char* kDamageReport = "report.txt";

// Moves the file `name` of the partition directory into damaged/, where one of that name is not there yet; else removes it.
// For files that can be made anew, so where there is no room for a directory the file goes as well. Answers the path below
// the partition directory, empty when it was not kept. Errors: io.
Result<std::string> keep_aside(io::FileSystem& fs, const io::Path& directory, std::string_view name);
// The same, and the file stays: for one that is open. Zeros at its end, the room that an index has in reserve, are left out.
Result<std::string> keep_copy(io::FileSystem& fs, const io::Path& directory, std::string_view name);

// One cut. The order of calls is the order of what must not be lost: a crash between any two of them leaves the log with the
// same cut to be found again, and the next recovery goes on in the directory of this one, which has no report yet.
class KeptCut {
 public:
  // Makes the directory, or goes on with the one that a crash left. Durable when it returns.
  // Errors: io, no_space.
  static Result<KeptCut> begin(io::FileSystem& fs, const io::Path& directory);

  const std::string& name() const { return name_; }  // "damaged/cut-000001"
  // Copies [from, end) of a .log. Durable when it returns. When the newest finished cut is this very one, with nothing but the
  // cut of the file left to be done, there is no second copy. Errors: io, no_space: nothing was changed.
  Result<std::string> keep_tail(std::string_view log_name, FilePosition from, FilePosition end);
  // Moves a whole .log. Durable after finish().
  Result<std::string> keep_segment(std::string_view log_name);
  // Writes the report, and all is durable. `why` is a sentence on the cut. Errors: io, no_space.
  Result<void> finish(std::string_view why);

 private:
  KeptCut(io::FileSystem& fs, io::Path directory, std::string name)
      : fs_(fs), directory_(std::move(directory)), name_(std::move(name)) {}
  io::Path path() const { return io::join(directory_, name_); }

  io::FileSystem& fs_;
  io::Path directory_;
  std::string name_;
  bool is_repeated_ = false;
};

// Whether the newest cut has no report: a crash came between. finish_interrupted() then writes one, after the log was loaded.
Result<void> finish_interrupted(io::FileSystem& fs, const io::Path& directory);

}  // namespace cordwood::storage
