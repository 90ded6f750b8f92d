#include "storage/checkpoint_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "storage/text_number.h"

namespace cordwood::storage {

namespace {

constexpr std::string_view kCheckpointVersion = "0";

Error corrupt(const io::Path& path, std::size_t line, std::string_view what) {
  return Error{Errc::corrupt, fmt::format("{}, line {}: {}", path, line, what)};
}

// Hands out the lines of a text, which end with "\n", "\r\n" or "\r"; the last one may lack its end.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  std::optional<std::string_view> next() {
    if (rest_.empty()) return std::nullopt;
    ++number_;
    std::size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
    std::string_view line = rest_.substr(0, end);
    std::size_t length_of_end = rest_.substr(end).starts_with("\r\n") ? 2 : 1;
    rest_.remove_prefix(std::min(end + length_of_end, rest_.size()));
    return line;
  }
  std::size_t number() const { return number_; }  // of the line given last, from 1

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

// Splits at runs of white space into exactly `Count` fields; white space before the first one is an error.
template <std::size_t Count>
std::optional<std::array<std::string_view, Count>> split(std::string_view line) {
  constexpr std::string_view kSpaces = " \t\v\f";
  std::array<std::string_view, Count> fields;
  std::size_t found = 0;
  while (!line.empty()) {
    std::size_t end = std::min(line.find_first_of(kSpaces), line.size());
    if (end == 0 || found == Count) return std::nullopt;
    fields[found++] = line.substr(0, end);
    line.remove_prefix(end);
    line.remove_prefix(std::min(line.find_first_not_of(kSpaces), line.size()));
  }
  if (found != Count) return std::nullopt;
  return fields;
}

// The frame that all of these files share. `take_entry` gets the text of each entry and says whether it was one.
template <class TakeEntry>
Result<void> read_frame(io::FileSystem& fs, const io::Path& path, TakeEntry take_entry) {
  Result<ByteVector> bytes = io::read_file(fs, path);
  if (!bytes) {
    if (bytes.error().code == Errc::not_found) return {};
    return bytes.error();
  }
  Lines lines(as_text(*bytes));
  std::optional<std::string_view> version = lines.next();
  if (!version) return {};
  if (parse_number<std::int32_t>(*version) != 0) {
    return corrupt(path, lines.number(), fmt::format("version '{}', which should be 0", *version));
  }
  std::optional<std::string_view> count_text = lines.next();
  if (!count_text) return {};
  std::optional<std::int32_t> count = parse_number<std::int32_t>(*count_text);
  if (!count || *count < 0) return corrupt(path, lines.number(), fmt::format("'{}' is no count", *count_text));
  std::int64_t found = 0;
  while (std::optional<std::string_view> line = lines.next()) {
    if (!take_entry(*line)) return corrupt(path, lines.number(), fmt::format("malformed entry '{}'", *line));
    ++found;
  }
  if (found != *count) return corrupt(path, 2, fmt::format("{} entries announced, {} found", *count, found));
  return {};
}

}  // namespace

Result<OffsetsByPartition> read_offset_checkpoint(io::FileSystem& fs, const io::Path& path) {
  OffsetsByPartition offsets;
  TRY(read_frame(fs, path, [&](std::string_view line) {
    auto fields = split<3>(line);
    if (!fields) return false;
    std::optional<std::int32_t> partition = parse_number<std::int32_t>((*fields)[1]);
    std::optional<std::int64_t> offset = parse_number<std::int64_t>((*fields)[2]);
    if (!partition || !offset) return false;
    offsets[{std::string((*fields)[0]), {*partition}}] = {*offset};
    return true;
  }));
  return offsets;
}

Result<void> write_offset_checkpoint(io::FileSystem& fs, const io::Path& path, const OffsetsByPartition& offsets) {
  std::string text = fmt::format("{}\n{}\n", kCheckpointVersion, offsets.size());
  for (const auto& [partition, offset] : offsets) {
    fmt::format_to(std::back_inserter(text), "{} {} {}\n", partition.topic, partition.partition, offset);
  }
  return io::write_file_atomically(fs, path, as_bytes(text));
}

Result<std::vector<EpochEntry>> read_epoch_checkpoint(io::FileSystem& fs, const io::Path& path) {
  std::vector<EpochEntry> entries;
  TRY(read_frame(fs, path, [&](std::string_view line) {
    auto fields = split<2>(line);
    if (!fields) return false;
    std::optional<std::int32_t> epoch = parse_number<std::int32_t>((*fields)[0]);
    std::optional<std::int64_t> start = parse_number<std::int64_t>((*fields)[1]);
    if (!epoch || *epoch < 0 || !start || *start < 0) return false;
    entries.push_back({{*epoch}, {*start}});
    return true;
  }));
  return entries;
}

Result<void> write_epoch_checkpoint(io::FileSystem& fs, const io::Path& path, const std::vector<EpochEntry>& entries,
                                    io::Fsync fsync) {
  std::string text = fmt::format("{}\n{}\n", kCheckpointVersion, entries.size());
  for (const EpochEntry& entry : entries) {
    fmt::format_to(std::back_inserter(text), "{} {}\n", entry.epoch, entry.start_offset);
  }
  return io::write_file_atomically(fs, path, as_bytes(text), fsync);
}

}  // namespace cordwood::storage
