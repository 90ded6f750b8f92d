#include "storage/directory_files.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "storage/java_properties.h"
#include "storage/text_number.h"

namespace cordwood::storage {

namespace {

// All of these files are a few hundred bytes; something much longer is not one of them.
constexpr ByteCount kLongestFile{64 * KiB};
constexpr std::size_t kLongestFileName = 255;

Result<std::optional<std::string>> read_text(io::FileSystem& fs, const io::Path& path) {
  Result<ByteVector> bytes = io::read_file(fs, path, kLongestFile);
  if (bytes) return std::optional(std::string(as_text(*bytes)));
  if (bytes.error().code == Errc::not_found) return std::optional<std::string>{};
  if (bytes.error().code == Errc::limit) return Error{Errc::corrupt, bytes.error().what};
  return bytes.error();
}

}  // namespace

// --- meta.properties ---

Result<std::optional<MetaProperties>> read_meta_properties(io::FileSystem& fs, const io::Path& directory) {
  io::Path path = io::join(directory, kMetaProperties);
  std::optional<std::string> text = TRY(read_text(fs, path));
  if (!text) return std::optional<MetaProperties>{};
  return std::optional(TRY(parse_meta_properties(*text, path)));
}

Result<MetaProperties> parse_meta_properties(std::string_view text, std::string_view path) {
  auto parsed = parse_java_properties(text);
  if (!parsed) return Error{Errc::corrupt, fmt::format("{}: {}", path, parsed.error().what)};
  auto get = [&](const char* key) -> std::optional<std::string> {
    auto found = parsed->find(key);
    if (found == parsed->end()) return std::nullopt;
    return found->second;
  };
  auto wrong = [&](const char* key, std::string_view value) {
    return Error{Errc::corrupt, fmt::format("{}: {} is '{}'", path, key, value)};
  };
  auto missing = [&](const char* key) { return Error{Errc::corrupt, fmt::format("{}: {} is missing", path, key)}; };

  std::string version = get("version").value_or("0");
  std::size_t version_end = version.find_last_not_of(" \t") + 1;  // here, and only here, Kafka forgives blanks
  auto version_number = parse_number<std::int32_t>(std::string_view(version).substr(0, version_end));
  if (!version_number) return wrong("version", version);
  if (*version_number != 1) {
    return Error{Errc::unsupported, fmt::format("{}: version {}, of which only 1 is served", path, version)};
  }
  MetaProperties properties;
  std::optional<std::string> cluster_id = get("cluster.id");
  if (!cluster_id) return missing("cluster.id");
  if (cluster_id->empty()) return wrong("cluster.id", *cluster_id);
  properties.cluster_id = *cluster_id;
  std::optional<std::string> node_id = get("node.id");
  if (!node_id) return missing("node.id");
  std::optional<std::int32_t> node_number = parse_number<std::int32_t>(*node_id);
  if (!node_number || *node_number < 0) return wrong("node.id", *node_id);
  properties.node_id = {*node_number};
  if (std::optional<std::string> directory_id = get("directory.id")) {
    properties.directory_id = Uuid::parse(*directory_id);
    if (!properties.directory_id || properties.directory_id->is_reserved()) return wrong("directory.id", *directory_id);
  }
  return properties;
}

Result<void> write_meta_properties(io::FileSystem& fs, const io::Path& directory, const MetaProperties& properties,
                                   TimestampMs now) {
  auto seconds = static_cast<std::time_t>(now.value / 1000);
  std::string text = fmt::format("#\n#{:%a %b %d %H:%M:%S} UTC {:%Y}\n", fmt::gmtime(seconds), fmt::gmtime(seconds));
  text += fmt::format("node.id={}\n", properties.node_id);
  if (properties.directory_id) text += fmt::format("directory.id={}\n", properties.directory_id->to_string());
  text += fmt::format("version=1\ncluster.id={}\n", escape_java_property_value(properties.cluster_id));
  return io::write_file_atomically(fs, io::join(directory, kMetaProperties), as_bytes(text));
}

// --- .kafka_cleanshutdown ---

Result<std::optional<CleanShutdown>> read_clean_shutdown(io::FileSystem& fs, const io::Path& directory) {
  std::optional<std::string> text = TRY(read_text(fs, io::join(directory, kCleanShutdown)));
  if (!text) return std::optional<CleanShutdown>{};
  return std::optional(parse_clean_shutdown(*text));
}

CleanShutdown parse_clean_shutdown(std::string_view text) {
  constexpr std::string_view kKey = "\"brokerEpoch\"";
  constexpr std::string_view kSpaces = " \t\r\n";
  auto skip_spaces = [&] { text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size())); };
  skip_spaces();
  std::size_t key = text.find(kKey);
  if (!text.starts_with('{') || key == std::string_view::npos) return {};
  text.remove_prefix(key + kKey.size());
  skip_spaces();
  if (!text.starts_with(':')) return {};
  text.remove_prefix(1);
  skip_spaces();
  std::int64_t epoch = -1;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), epoch);
  if (failure != std::errc{}) return {};
  return {.broker_epoch = epoch};
}

Result<void> write_clean_shutdown(io::FileSystem& fs, const io::Path& directory, CleanShutdown mark) {
  std::string text = fmt::format("{{\"version\":0,\"brokerEpoch\":{}}}", mark.broker_epoch);
  return io::write_file_atomically(fs, io::join(directory, kCleanShutdown), as_bytes(text));
}

Result<void> remove_clean_shutdown(io::FileSystem& fs, const io::Path& directory) {
  Result<void> removed = fs.remove_file(io::join(directory, kCleanShutdown));
  if (!removed) {
    if (removed.error().code == Errc::not_found) return {};
    return removed;
  }
  // Without this a power cut could bring the mark back, and what is written from now on would not be checked.
  return fs.sync_directory(directory);
}

// --- partition.metadata ---

Result<std::optional<Uuid>> read_partition_metadata(io::FileSystem& fs, const io::Path& partition_directory) {
  io::Path path = io::join(partition_directory, kPartitionMetadata);
  std::optional<std::string> text = TRY(read_text(fs, path));
  if (!text) return std::optional<Uuid>{};
  return std::optional(TRY(parse_partition_metadata(*text, path)));
}

Result<Uuid> parse_partition_metadata(std::string_view text, std::string_view path) {
  // What follows the first colon with white space behind it. Kafka does not look at the names either.
  auto take_field = [&]() -> std::optional<std::string_view> {
    constexpr std::string_view kSpaces = " \t\v\f";
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (std::size_t colon = line.find(':'); colon != std::string_view::npos; colon = line.find(':', colon + 1)) {
      std::size_t value = line.find_first_not_of(kSpaces, colon + 1);
      if (value == std::string_view::npos) return std::nullopt;
      if (value > colon + 1) return line.substr(value);
    }
    return std::nullopt;
  };
  std::optional<std::string_view> version = take_field();
  if (!version) return Error{Errc::corrupt, fmt::format("{}: the first line is not 'version: ...'", path)};
  std::optional<std::int32_t> number = parse_number<std::int32_t>(*version);
  if (!number || *number < 0) return Error{Errc::corrupt, fmt::format("{}: version '{}'", path, *version)};
  std::optional<std::string_view> id_text = take_field();
  if (!id_text) return Error{Errc::corrupt, fmt::format("{}: the second line is not 'topic_id: ...'", path)};
  std::optional<Uuid> id = Uuid::parse(*id_text);
  if (!id || id->is_zero()) return Error{Errc::corrupt, fmt::format("{}: topic id '{}'", path, *id_text)};
  return *id;
}

Result<void> write_partition_metadata(io::FileSystem& fs, const io::Path& partition_directory, Uuid topic_id,
                                      io::Fsync fsync) {
  std::string text = fmt::format("version: 0\ntopic_id: {}", topic_id.to_string());
  return io::write_file_atomically(fs, io::join(partition_directory, kPartitionMetadata), as_bytes(text), fsync);
}

// --- names ---

std::optional<PartitionDirectoryName> parse_partition_directory(std::string_view name) {
  PartitionDirectoryName parsed;
  struct Suffix {
    std::string_view text;
    PartitionDirectoryName::Kind kind;
  };
  for (Suffix suffix : {Suffix{"-delete", PartitionDirectoryName::Kind::deleted},
                        Suffix{"-future", PartitionDirectoryName::Kind::future},
                        Suffix{"-stray", PartitionDirectoryName::Kind::stray}}) {
    if (!name.ends_with(suffix.text)) continue;
    // The dot that separates the id is the last one: topics may have dots of their own.
    std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot + 1 + suffix.text.size() >= name.size()) return std::nullopt;
    name = name.substr(0, dot);
    parsed.kind = suffix.kind;
    break;
  }
  std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  std::optional<std::int32_t> partition = parse_number<std::int32_t>(name.substr(dash + 1));
  if (!partition || *partition < 0) return std::nullopt;
  parsed.partition = {std::string(name.substr(0, dash)), {*partition}};
  return parsed;
}

namespace {
std::string capped_directory_name(const TopicPartition& partition, Uuid unique, std::string_view kind) {
  std::string suffix = fmt::format("-{}.{}-{}", partition.partition, unique.to_hex(), kind);
  return partition.topic.substr(0, kLongestFileName - suffix.size()) + suffix;
}
}  // namespace

std::string deleted_directory_name(const TopicPartition& partition, Uuid unique) {
  return capped_directory_name(partition, unique, "delete");
}

std::string stray_directory_name(const TopicPartition& partition, Uuid unique) {
  return capped_directory_name(partition, unique, "stray");
}

std::string segment_file_name(Offset base_offset, std::string_view suffix) {
  return fmt::format("{:020}{}", base_offset.value, suffix);
}

}  // namespace cordwood::storage
