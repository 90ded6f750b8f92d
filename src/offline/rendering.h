// offline/rendering.h — bytes, times and sizes as text, JSON lines, and how far a long walk is.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "cli/session.h"

namespace cordwood::offline {

enum class ByteForm { text, hex, base64, json };
// Errors: invalid naming the forms there are.
Result<ByteForm> parse_byte_form(std::string_view name);

void append_hex(std::string& out, BytesView bytes);
void append_base64(std::string& out, BytesView bytes);
// As text on one line: what no terminal should get (control characters, backslashes, bytes that are no UTF-8) as \n, \t,
// \\ or \xNN.
void append_escaped(std::string& out, BytesView bytes);
// With quotes. Bytes that are no UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);
bool is_utf8(std::string_view text);
// Whether it is one whole JSON value.
bool is_json(BytesView bytes);

// Errors: invalid for odd or other digits.
Result<ByteVector> parse_hex(std::string_view text);
Result<ByteVector> parse_base64(std::string_view text);

// "2026-01-31", "2026-01-31T23:59:59.123Z" (UTC), milliseconds since 1970, or "-2h" (also s, m, d) before `now`. Errors: invalid.
Result<TimestampMs> parse_time(std::string_view text, TimestampMs now);
// "512", "64k", "10m", "1g". Errors: invalid.
Result<ByteCount> parse_size(std::string_view text);
std::string human_size(ByteCount size);  // "1.5 GiB"

// One object on one line.
class JsonLine {
 public:
  explicit JsonLine(std::string& out) : out_(out) { out_ += '{'; }
  JsonLine& text(std::string_view key, std::string_view value);
  JsonLine& number(std::string_view key, std::int64_t value);
  JsonLine& real(std::string_view key, double value);
  JsonLine& boolean(std::string_view key, bool value);
  JsonLine& null(std::string_view key);
  JsonLine& raw(std::string_view key, std::string_view json);  // a value that is JSON already
  JsonLine& optional(std::string_view key, std::optional<std::int64_t> value) {
    return value ? number(key, *value) : null(key);
  }
  void end() { out_ += "}\n"; }
  void end_inner() { out_ += '}'; }

 private:
  void name(std::string_view key);
  std::string& out_;
  bool first_ = true;
};

// A line on a terminal's stderr that says how far the work is and how long it still takes; nothing elsewhere.
// One thread at a time.
class Progress {
 public:
  Progress(cli::Session& session, std::string_view what, ByteCount total);
  ~Progress();
  void advance(ByteCount by);
  // Takes the line away, so that something else can be printed.
  void clear();

 private:
  cli::Session& session_;
  const std::string what_;
  const ByteCount total_;
  const bool shown_;
  const MonotonicNs started_;
  MonotonicNs last_;
  ByteCount done_{0};
  bool visible_ = false;
};

}  // namespace cordwood::offline
