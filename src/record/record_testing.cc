#include "record/record_testing.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/source_path_testing.h"
#include "record/compression.h"

namespace cordwood::record {
namespace {

std::string text_of(std::string_view name) {
  std::string path = source_path("tests/golden/record/" + std::string(name));
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::optional<std::string> owned(const std::optional<BytesView>& bytes) {
  if (!bytes) return std::nullopt;
  return std::string(as_text(*bytes));
}

}  // namespace

ByteVector from_hex(std::string_view digits) {
  ByteVector bytes;
  std::string clean;
  for (char c : digits)
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0) clean.push_back(c);
  EXPECT_EQ(clean.size() % 2, 0u) << digits;
  for (std::size_t i = 0; i + 1 < clean.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(clean.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string to_hex(BytesView bytes) {
  std::string text;
  for (std::byte b : bytes) text += fmt::format("{:02x}", std::to_integer<int>(b));
  return text;
}

ByteVector golden_file(std::string_view name) {
  return to_vector(as_bytes(text_of(name)));
}

ByteVector golden(std::string_view name) {
  ByteVector bytes;
  std::istringstream lines(text_of(std::string(name) + ".hex"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream fields(line);
    std::string range;
    std::string digits;
    fields >> range >> digits;
    std::size_t first = std::stoul(range);
    std::size_t dots = range.find("..");
    std::size_t last = dots == std::string::npos ? first : std::stoul(range.substr(dots + 2));
    EXPECT_EQ(first, bytes.size()) << name << ": " << line;
    ByteVector more = from_hex(digits);
    bytes.insert(bytes.end(), more.begin(), more.end());
    EXPECT_EQ(last + 1, bytes.size()) << name << ": " << line;
  }
  EXPECT_FALSE(bytes.empty()) << name;
  return bytes;
}

std::vector<OwnedRecord> read_records(BytesView batch) {
  std::vector<OwnedRecord> records;
  Result<BatchView> view = BatchView::parse(batch);
  if (!view) {
    ADD_FAILURE() << view.error().message();
    return records;
  }
  Result<void> walked = for_each_record(*view, [&](const RecordView& record) {
    OwnedRecord copy{record.offset, record.timestamp, owned(record.key), owned(record.value), {}};
    for (const HeaderView& header : record.headers) copy.headers.emplace_back(header.key, owned(header.value));
    records.push_back(std::move(copy));
    return Walk::go_on;
  });
  EXPECT_TRUE(walked.has_value()) << walked.error().message();
  return records;
}

ByteVector batch_of(std::int32_t count, std::string_view records_in_hex, Codec codec) {
  ByteVector batch(kHeaderSize);
  compress({codec, std::nullopt}, from_hex(records_in_hex), batch);
  BatchHeader header;
  header.attributes = static_cast<std::int16_t>(codec);
  header.base_timestamp = header.max_timestamp = kSomeTime;
  header.record_count = count;
  header.last_offset_delta = count - 1;
  write_header(batch, header);
  return batch;
}

}  // namespace cordwood::record
