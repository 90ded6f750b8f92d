#include "broker/metadata/log_walk.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace cordwood::broker::metadata {
namespace {

constexpr std::size_t kWindow = 1 * MiB;
constexpr std::size_t kSegmentNameDigits = 20;

// A file read front to back through one buffer that grows to the largest batch.
class FileWindow {
 public:
  static Result<FileWindow> open(io::FileSystem& fs, const io::Path& path) {
    FileWindow window;
    window.file_ = TRY(fs.open(path, io::OpenMode::read));
    window.size_ = TRY(window.file_->size());
    return window;
  }

  std::int64_t size() const { return size_.value; }

  // `count` bytes from `position` on; the caller knows that the file has them. Valid until the next call.
  Result<BytesView> bytes(std::int64_t position, std::size_t count) {
    if (position < start_ || position + static_cast<std::int64_t>(count) > start_ + static_cast<std::int64_t>(filled_)) {
      std::size_t wanted = static_cast<std::size_t>(
          std::min<std::int64_t>(static_cast<std::int64_t>(std::max(count, kWindow)), size_.value - position));
      if (buffer_.size() < wanted) buffer_.resize(wanted);
      filled_ = TRY(file_->read_at({position}, MutableBytesView(buffer_).first(wanted)));
      start_ = position;
      if (filled_ < count) {
        return Error{Errc::io, fmt::format("{} became shorter while it was read", file_->path())};
      }
    }
    return BytesView(buffer_).subspan(static_cast<std::size_t>(position - start_), count);
  }

 private:
  std::shared_ptr<io::File> file_;
  ByteCount size_;
  ByteVector buffer_;
  std::int64_t start_ = 0;
  std::size_t filled_ = 0;
};

// What lies at a position of a file.
struct Seen {
  bool whole = false;
  record::BatchView batch{};
  std::string fault{};  // when not whole
};

Result<Seen> look(FileWindow& file, std::int64_t position) {
  std::int64_t left = file.size() - position;
  if (left < static_cast<std::int64_t>(record::kHeaderSize)) {
    return Seen{.fault = fmt::format("only {} bytes, less than a batch header", left)};
  }
  BytesView head = TRY(file.bytes(position, record::kHeaderSize));
  record::BatchHeader header = TRY(record::read_header(head));
  if (header.magic != 2) return Seen{.fault = fmt::format("magic {}", header.magic)};
  if (header.batch_length < static_cast<std::int32_t>(record::kHeaderSize - record::kLogOverhead)) {
    return Seen{.fault = fmt::format("batch length {}", header.batch_length)};
  }
  if (header.total_size().value > left) {
    return Seen{.fault = fmt::format("a batch of {} bytes where {} are left", header.total_size(), left)};
  }
  record::BatchView batch(TRY(file.bytes(position, static_cast<std::size_t>(header.total_size().value))));
  if (!batch.crc_is_valid()) {
    return Seen{.fault = fmt::format("CRC {:08x} stored, {:08x} computed", batch.stored_crc(), batch.computed_crc())};
  }
  return Seen{.whole = true, .batch = batch, .fault = {}};
}

// Whether any whole batch that continues the log starts at `from` or behind it. Looks at every byte position; a CRC is
// computed only where magic, length and offset are plausible.
Result<std::optional<std::int64_t>> find_whole_batch(FileWindow& file, std::int64_t from, Offset at_least) {
  constexpr std::int64_t kPlausibleOffsets = std::int64_t{1} << 40;
  for (std::int64_t at = from; at + static_cast<std::int64_t>(record::kHeaderSize) <= file.size(); ++at) {
    BytesView head = TRY(file.bytes(at, record::kHeaderSize));
    if (load_be<std::int8_t>(head, record::kMagic) != 2) continue;
    std::int64_t base_offset = load_be<std::int64_t>(head, record::kBaseOffset);
    if (base_offset < at_least.value || base_offset - at_least.value > kPlausibleOffsets) continue;
    if (TRY(look(file, at)).whole) return std::optional<std::int64_t>{at};
  }
  return std::optional<std::int64_t>{};
}

struct LogFile {
  Offset base;
  io::Path path;
};

Result<std::vector<LogFile>> log_files(io::FileSystem& fs, const io::Path& directory) {
  std::vector<LogFile> files;
  for (const auto& entry : TRY(fs.list(directory))) {
    std::string_view name = entry.name;
    if (entry.kind != io::DirectoryEntry::Kind::file || !name.ends_with(".log")) continue;
    std::string_view digits = name.substr(0, name.size() - 4);
    std::int64_t base = 0;
    auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), base);
    if (digits.size() != kSegmentNameDigits || fault != std::errc{} || end != digits.data() + digits.size()) continue;
    files.push_back({{base}, io::join(directory, name)});
  }
  std::ranges::sort(files, {}, &LogFile::base);
  return files;
}

std::string place(const io::Path& file, std::int64_t position) { return fmt::format("{} at position {}", file, position); }

Error damage(const io::Path& file, std::int64_t position, std::string_view fault, const io::Path& later_file,
             std::int64_t later_position) {
  return Error{Errc::corrupt,
               fmt::format("the metadata log is damaged: {} holds {}, and whole batches follow ({}). This is no torn tail of "
                           "a crash; nothing was changed",
                           place(file, position), fault, place(later_file, later_position))};
}

}  // namespace

Result<WalkReport> walk_metadata_log(io::FileSystem& fs, const io::Path& directory, const VisitBatch& visit,
                                     Offset covered) {
  WalkReport report;
  std::vector<LogFile> files = TRY(log_files(fs, directory));
  if (files.empty()) return report;
  report.has_files = true;
  report.start = report.end = files.front().base;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const LogFile& file = files[i];
    FileWindow window = TRY(FileWindow::open(fs, file.path));
    if (report.torn_tail) {
      // The segments behind a bad tail may hold nothing.
      if (auto later = TRY(find_whole_batch(window, 0, report.end))) {
        return damage(report.torn_tail->file, report.torn_tail->position.value, report.torn_tail->reason, file.path, *later);
      }
      continue;
    }
    if (file.base > report.end && file.base <= covered) report.start = report.end = file.base;
    std::int64_t position = 0;
    while (position < window.size()) {
      Seen seen = TRY(look(window, position));
      std::string where = place(file.path, position);
      if (!seen.whole) {
        if (auto later = TRY(find_whole_batch(window, position + 1, report.end))) {
          return damage(file.path, position, seen.fault, file.path, *later);
        }
        report.torn_tail = TornTail{file.path, {position}, {window.size() - position}, seen.fault};
        break;
      }
      record::BatchHeader header = seen.batch.header();
      if (header.base_offset != report.end || header.last_offset_delta < 0) {
        return Error{Errc::corrupt, fmt::format("the metadata log is damaged: {} holds offsets {} to {} where {} is expected",
                                                where, header.base_offset, header.last_offset(), report.end)};
      }
      if (header.partition_leader_epoch < report.last_epoch) {
        return Error{Errc::corrupt, fmt::format("the metadata log is damaged: at {} the epoch falls from {} to {}", where,
                                                report.last_epoch, header.partition_leader_epoch)};
      }
      TRY(visit(seen.batch, where));
      report.end = header.next_offset();
      report.last_epoch = header.partition_leader_epoch;
      position += header.total_size().value;
    }
  }
  return report;
}

Result<void> walk_batch_file(io::FileSystem& fs, const io::Path& path, const VisitBatch& visit) {
  FileWindow window = TRY(FileWindow::open(fs, path));
  std::int64_t position = 0;
  while (position < window.size()) {
    Seen seen = TRY(look(window, position));
    if (!seen.whole) return Error{Errc::corrupt, fmt::format("{} holds {}", place(path, position), seen.fault)};
    std::int64_t size = seen.batch.header().total_size().value;
    TRY(visit(seen.batch, place(path, position)));
    position += size;
  }
  return {};
}

}  // namespace cordwood::broker::metadata
