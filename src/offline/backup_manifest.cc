#include "offline/backup_manifest.h"

#include <boost/json.hpp>

#include "offline/rendering.h"

namespace cordwood::offline {
namespace {

constexpr std::int64_t kManifestVersion = 1;

// A file of the backup and nothing else: "0/a/b", no part of it "..", none empty.
bool stays_inside(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.back() == '/') return false;
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

std::optional<std::int64_t> whole_number(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  if (value == nullptr) return {};
  if (const std::int64_t* number = value->if_int64()) return *number;
  return {};
}

std::optional<std::string> text_of(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  if (value == nullptr || value->if_string() == nullptr) return {};
  return std::string(*value->if_string());
}

}  // namespace

std::string to_text(const BackupManifest& manifest) {
  std::string out;
  JsonLine head(out);
  head.number("cordwood_backup", kManifestVersion).text("cluster_id", manifest.cluster_id);
  head.number("created_ms", manifest.created.value).number("log_dirs", manifest.log_dirs).boolean("clean", manifest.clean);
  head.number("files", static_cast<std::int64_t>(manifest.files.size()));
  head.end();
  for (const BackupFile& file : manifest.files) {
    JsonLine line(out);
    line.text("file", file.name).number("size", file.size.value).number("crc32c", file.crc);
    line.end();
  }
  return out;
}

Result<BackupManifest> parse_manifest(std::string_view text) {
  BackupManifest manifest;
  std::int64_t wanted = -1;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto wrong = [&] { return Error{Errc::corrupt, fmt::format("{}, line {}, makes no sense", kManifest, number)}; };
    boost::json::error_code error;
    const boost::json::value value = boost::json::parse(text.substr(0, end), error);
    if (error || value.if_object() == nullptr) return wrong();
    const boost::json::object& line = value.get_object();
    text.remove_prefix(std::min(end + 1, text.size()));
    if (number == 1) {
      const auto version = whole_number(line, "cordwood_backup");
      if (!version) return wrong();
      if (*version != kManifestVersion) return Error{Errc::unsupported, fmt::format("a backup of version {}", *version)};
      const auto log_dirs = whole_number(line, "log_dirs");
      const auto count = whole_number(line, "files");
      const boost::json::value* clean = line.if_contains("clean");
      if (!log_dirs || *log_dirs < 1 || *log_dirs > 10'000 || !count || clean == nullptr || clean->if_bool() == nullptr) return wrong();
      manifest.log_dirs = static_cast<int>(*log_dirs);
      manifest.cluster_id = text_of(line, "cluster_id").value_or("");
      manifest.created = {whole_number(line, "created_ms").value_or(0)};
      manifest.clean = clean->get_bool();
      wanted = *count;
      continue;
    }
    const auto name = text_of(line, "file");
    const auto size = whole_number(line, "size");
    const auto crc = whole_number(line, "crc32c");
    if (!name || !size || *size < 0 || !crc || *crc < 0 || *crc > UINT32_MAX || !stays_inside(*name)) return wrong();
    manifest.files.push_back({*name, {*size}, static_cast<std::uint32_t>(*crc)});
  }
  if (wanted != static_cast<std::int64_t>(manifest.files.size())) {
    return Error{Errc::corrupt, fmt::format("{} names {} files and tells of {}", kManifest, manifest.files.size(), wanted)};
  }
  return manifest;
}

Result<BackupManifest> read_manifest(io::FileSystem& fs, const io::Path& backup) {
  const ByteVector bytes = TRY(io::read_file(fs, io::join(backup, kManifest), ByteCount{2 * GiB}));
  return parse_manifest(as_text(bytes));
}

}  // namespace cordwood::offline
