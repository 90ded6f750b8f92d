#include "offline/rendering.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <chrono>
#include <cmath>

namespace cordwood::offline {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The length of the UTF-8 sequence at the front of `text`, 0 when there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  std::uint32_t point = 0;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
    point = lead & 0x1fU;
  } else if ((lead & 0xf0) == 0xe0) {
    length = 3;
    point = lead & 0x0fU;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    point = lead & 0x07U;
  }
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    point = (point << 6) | (byte(i) & 0x3fU);
  }
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && (point < 0x10000 || point > 0x10ffff));
  return surrogate || overlong ? 0 : length;
}

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

std::optional<TimestampMs> parse_date(std::string_view text) {
  const auto part = [&](std::size_t at, std::size_t count) -> std::optional<int> {
    if (text.size() < at + count) return {};
    return parse_whole<int>(text.substr(at, count));
  };
  const auto year = part(0, 4);
  const auto month = part(5, 2);
  const auto day = part(8, 2);
  if (!year || !month || !day || text[4] != '-' || text[7] != '-') return {};
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return {};
  std::int64_t ms = std::chrono::sys_days(date).time_since_epoch().count() * std::int64_t{86'400'000};
  if (text.size() == 10) return TimestampMs{ms};
  const auto hour = part(11, 2);
  const auto minute = part(14, 2);
  if (!hour || !minute || (text[10] != 'T' && text[10] != ' ') || text[13] != ':') return {};
  ms += *hour * std::int64_t{3'600'000} + *minute * std::int64_t{60'000};
  std::size_t at = 16;
  if (at < text.size() && text[at] == ':') {
    const auto second = part(at + 1, 2);
    if (!second) return {};
    ms += *second * std::int64_t{1000};
    at += 3;
    if (at < text.size() && text[at] == '.') {
      const auto fraction = part(at + 1, 3);
      if (!fraction) return {};
      ms += *fraction;
      at += 4;
    }
  }
  if (text.substr(at) != "" && text.substr(at) != "Z") return {};
  return TimestampMs{ms};
}

}  // namespace

Result<ByteForm> parse_byte_form(std::string_view name) {
  if (name == "text") return ByteForm::text;
  if (name == "hex") return ByteForm::hex;
  if (name == "base64") return ByteForm::base64;
  if (name == "json") return ByteForm::json;
  return Error{Errc::invalid, fmt::format("'{}' is none of text, hex, base64, json", name)};
}

void append_hex(std::string& out, BytesView bytes) {
  for (const std::byte byte : bytes) {
    out += kHexDigits[static_cast<std::size_t>(byte) >> 4];
    out += kHexDigits[static_cast<std::size_t>(byte) & 15];
  }
}

void append_base64(std::string& out, BytesView bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = (group << 8) | (k < count ? static_cast<std::uint32_t>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kBase64Digits[(group >> (18 - 6 * k)) & 63] : '=';
  }
}

void append_escaped(std::string& out, BytesView bytes) {
  std::string_view text = as_text(bytes);
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const char first = text.front();
    const auto byte = static_cast<unsigned char>(first);
    if (first == '\\') {
      out += "\\\\";
    } else if (first == '\n') {
      out += "\\n";
    } else if (first == '\r') {
      out += "\\r";
    } else if (first == '\t') {
      out += "\\t";
    } else if (length == 0 || byte < 0x20 || byte == 0x7f || (length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0)) {
      for (std::size_t i = 0; i < std::max<std::size_t>(length, 1); ++i) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text[i]));
      }
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const char first = text.front();
    std::size_t length = 1;
    if (first == '"' || first == '\\') {
      out += '\\';
      out += first;
    } else if (first == '\n') {
      out += "\\n";
    } else if (first == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(first) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(first));
    } else if (static_cast<unsigned char>(first) < 0x80) {
      out += first;
    } else if (length = sequence_length(text); length > 0) {
      out += text.substr(0, length);
    } else {
      length = 1;
      out += "\xef\xbf\xbd";
    }
    text.remove_prefix(length);
  }
  out += '"';
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool is_json(BytesView bytes) {
  boost::json::error_code error;
  boost::json::stream_parser parser;
  parser.write(reinterpret_cast<const char*>(bytes.data()), bytes.size(), error);
  if (!error) parser.finish(error);
  return !error;
}

Result<ByteVector> parse_hex(std::string_view text) {
  ByteVector bytes;
  for (std::size_t i = 0; i + 1 < text.size() + 1; i += 2) {
    const int high = i < text.size() ? hex_value(text[i]) : -1;
    const int low = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
    if (high < 0 || low < 0) return Error{Errc::invalid, fmt::format("'{}' is not hexadecimal", text)};
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return bytes;
}

Result<ByteVector> parse_base64(std::string_view text) {
  ByteVector bytes;
  std::uint32_t bits = 0;
  int count = 0;
  std::string_view digits = text;
  while (digits.ends_with('=')) digits.remove_suffix(1);
  for (char c : digits) {
    if (c == '-') c = '+';
    if (c == '_') c = '/';
    const std::size_t value = kBase64Digits.find(c);
    if (value == std::string_view::npos) return Error{Errc::invalid, fmt::format("'{}' is not base64", text)};
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<std::byte>((bits >> count) & 0xff));
    }
  }
  return bytes;
}

Result<TimestampMs> parse_time(std::string_view text, TimestampMs now) {
  const auto wrong = [&] {
    return Error{Errc::invalid, fmt::format("'{}' is no time: 2026-01-31T23:59:59Z, milliseconds, or -2h", text)};
  };
  if (const auto date = parse_date(text)) return *date;
  if (text.size() > 2 && text.front() == '-' && (text.back() < '0' || text.back() > '9')) {
    const auto count = parse_whole<std::int64_t>(text.substr(1, text.size() - 2));
    std::int64_t unit = 0;
    if (text.back() == 's') unit = 1000;
    if (text.back() == 'm') unit = 60'000;
    if (text.back() == 'h') unit = 3'600'000;
    if (text.back() == 'd') unit = 86'400'000;
    if (!count || unit == 0 || *count > 1'000'000'000) return wrong();
    return now - DurationMs{*count * unit};
  }
  const auto ms = parse_whole<std::int64_t>(text);
  if (!ms) return wrong();
  return TimestampMs{*ms};
}

Result<ByteCount> parse_size(std::string_view text) {
  std::int64_t unit = 1;
  std::string_view digits = text;
  if (!digits.empty()) {
    const char last = static_cast<char>(std::tolower(static_cast<unsigned char>(digits.back())));
    if (last == 'k') unit = KiB;
    if (last == 'm') unit = MiB;
    if (last == 'g') unit = GiB;
    if (unit != 1) digits.remove_suffix(1);
  }
  const auto count = parse_whole<std::int64_t>(digits);
  if (!count || *count < 0 || *count > INT64_MAX / unit) return Error{Errc::invalid, fmt::format("'{}' is no size: 512, 64k, 10m, 1g", text)};
  return ByteCount{*count * unit};
}

std::string human_size(ByteCount size) {
  const auto bytes = static_cast<double>(size.value);
  if (size.value < KiB) return fmt::format("{} B", size);
  if (size.value < MiB) return fmt::format("{:.1f} KiB", bytes / KiB);
  if (size.value < GiB) return fmt::format("{:.1f} MiB", bytes / MiB);
  return fmt::format("{:.1f} GiB", bytes / GiB);
}

void JsonLine::name(std::string_view key) {
  if (!first_) out_ += ',';
  first_ = false;
  append_json_string(out_, key);
  out_ += ':';
}

JsonLine& JsonLine::text(std::string_view key, std::string_view value) {
  name(key);
  append_json_string(out_, value);
  return *this;
}

JsonLine& JsonLine::number(std::string_view key, std::int64_t value) {
  name(key);
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

JsonLine& JsonLine::real(std::string_view key, double value) {
  name(key);
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out_), "{:.6g}", value);
  } else {
    out_ += "null";
  }
  return *this;
}

JsonLine& JsonLine::boolean(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
JsonLine& JsonLine::null(std::string_view key) { return raw(key, "null"); }

JsonLine& JsonLine::raw(std::string_view key, std::string_view json) {
  name(key);
  out_ += json;
  return *this;
}

Progress::Progress(cli::Session& session, std::string_view what, ByteCount total)
    : session_(session),
      what_(what),
      total_(total),
      shown_(session.err.is_terminal()),
      started_(session.clock.monotonic()),
      last_(started_) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (!visible_) return;
  session_.err.write("\r\x1b[K");
  session_.err.flush();
  visible_ = false;
}

void Progress::advance(ByteCount by) {
  done_ += by;
  if (!shown_) return;
  constexpr DurationNs kInterval{250'000'000};
  const MonotonicNs now = session_.clock.monotonic();
  if (now - last_ < kInterval) return;
  last_ = now;
  const double seconds = static_cast<double>((now - started_).value) / 1e9;
  const double rate = static_cast<double>(done_.value) / seconds;
  const double left = rate > 0 ? static_cast<double>((total_ - done_).value) / rate : 0;
  session_.err.print("\r\x1b[K{}: {} of {}, {}/s, {:.0f} s left", what_, human_size(done_), human_size(total_),
                     human_size({static_cast<std::int64_t>(rate)}), std::max(0.0, left));
  session_.err.flush();
  visible_ = true;
}

}  // namespace cordwood::offline
