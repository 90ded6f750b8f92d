// cli/line_reader.h — lines of text as records: what kafka-console-producer's reader makes of its input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/admin_client.h"
#include "record/builder.h"

namespace cordwood::cli {

struct LineFormat {
  bool parse_key = false;
  bool parse_headers = false;
  bool ignore_error = false;
  std::string key_separator = "\t";
  std::string headers_delimiter = "\t";
  std::string headers_separator = ",";
  std::string headers_key_separator = ":";
  std::optional<std::string> null_marker;
  bool operator==(const LineFormat&) const = default;
};

// From reader properties ("parse.key=true"); those that it does not know are ignored. Errors: invalid, with Kafka's text, when two
// separators are the same.
Result<LineFormat> line_format(const Properties& properties);

// One line's record. The views point into the line, or into the reader, until the next line.
struct LineRecord {
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;
  std::vector<record::HeaderToWrite> headers;
};

// One thread.
class LineReader {
 public:
  explicit LineReader(LineFormat format) : format_(std::move(format)) {}

  // The lines of what it is given piece by piece: calls take(line) for each that is complete, without its LF, CR or CR LF.
  template <class Take>
  void feed(std::string_view piece, Take&& take) {
    while (!piece.empty()) {
      if (after_cr_) {
        after_cr_ = false;
        if (piece.front() == '\n') {
          piece.remove_prefix(1);
          continue;
        }
      }
      std::size_t end = end_of_line(piece);
      if (end == std::string_view::npos) {
        rest_ += piece;
        return;
      }
      after_cr_ = piece[end] == '\r';
      if (rest_.empty()) {
        take(piece.substr(0, end));
      } else {
        rest_ += piece.substr(0, end);
        std::string line = std::move(rest_);
        rest_.clear();
        take(std::string_view(line));
      }
      piece.remove_prefix(end + 1);
    }
  }
  // The last line, when it does not end with a newline.
  template <class Take>
  void finish(Take&& take) {
    if (rest_.empty()) return;
    std::string line = std::move(rest_);
    rest_.clear();
    take(std::string_view(line));
  }

  // Errors: invalid with Kafka's text ("No key separator found on line number 2: 'nokey'").
  Result<LineRecord> parse(std::string_view line);

 private:
  static std::size_t end_of_line(std::string_view piece);
  Result<std::optional<std::string_view>> cut(bool wanted, std::string_view line, std::size_t from, std::string_view separator,
                                              std::string_view name) const;
  Result<void> split_headers(std::string_view headers, std::vector<record::HeaderToWrite>& into) const;

  LineFormat format_;
  std::string rest_;      // of a line whose end has not come
  std::string repaired_;  // a line that was no UTF-8
  bool after_cr_ = false;
  std::int64_t number_ = 0;
};

}  // namespace cordwood::cli
