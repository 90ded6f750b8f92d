#include "io/memory_file_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <tuple>
#include <utility>

#include "io/memory_tree.h"

namespace cordwood::io {

using memory::Assignment;
using memory::Change;
using memory::FileContent;
using memory::Node;

namespace {

// The parts of a path, "." dropped and ".." followed.
std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    std::size_t end = std::min(path.find('/'), path.size());
    std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.emplace_back(part);
    }
  }
  return parts;
}

Error failed(std::string_view call, const Path& path, int failure) {
  return system_error(fmt::format("{} {}", call, path), failure);
}

class MemMapping final : public MappedFile {
 public:
  MemMapping(std::shared_ptr<FileContent> content, MutableBytesView bytes) : content_(std::move(content)), bytes_(bytes) {}
  ~MemMapping() override { content_->unmap(); }
  MutableBytesView bytes() override { return bytes_; }
  Result<void> sync() override {
    content_->sync_bytes(static_cast<std::int64_t>(bytes_.size()));
    return {};
  }

 private:
  std::shared_ptr<FileContent> content_;
  MutableBytesView bytes_;
};

class MemFile final : public File {
 public:
  enum class Access { read, read_write };
  MemFile(std::shared_ptr<FileContent> content, Path path, Access access, const Clock* clock)
      : content_(std::move(content)), path_(std::move(path)), access_(access), clock_(clock) {}

  int native_fd() const override { return -1; }
  Result<std::size_t> read_at(FilePosition position, MutableBytesView into) const override {
    TRY(require("pread", Access::read));
    return content_->read(position.value, into);
  }
  Result<void> write_at(FilePosition position, BytesView bytes) override {
    return write_at(position, std::span<const BytesView>(&bytes, 1));
  }
  Result<void> write_at(FilePosition position, std::span<const BytesView> pieces) override {
    TRY(require("pwritev", Access::read_write));
    touch();
    return named(content_->write(position.value, pieces));
  }
  Result<ByteCount> size() const override {
    TRY(require("fstat", Access::read));
    return ByteCount{content_->size()};
  }
  Result<void> truncate(ByteCount size) override {
    TRY(require("ftruncate", Access::read_write));
    touch();
    return named(content_->truncate(size.value));
  }
  Result<void> reserve(ByteCount) override { return require("fallocate", Access::read_write); }
  Result<void> sync_data() override { return sync(); }
  Result<void> sync() override {
    TRY(require("fsync", Access::read));
    content_->sync();
    return {};
  }
  Result<std::unique_ptr<MappedFile>> map(ByteCount size) override {
    TRY(require("mmap", Access::read_write));
    auto bytes = content_->map(size.value);
    if (!bytes) return Error{bytes.error().code, fmt::format("map {}: {}", path_, bytes.error().what)};
    return std::unique_ptr<MappedFile>(std::make_unique<MemMapping>(content_, *bytes));
  }
  Result<void> close() override {
    closed_ = true;
    return {};
  }
  const Path& path() const override { return path_; }

 private:
  Result<void> require(std::string_view call, Access wanted) const {
    if (closed_ || (wanted == Access::read_write && access_ == Access::read)) return failed(call, path_, EBADF);
    return {};
  }
  Result<void> named(Result<void> result) const {
    if (!result) return Error{result.error().code, fmt::format("{}: {}", path_, result.error().what)};
    return {};
  }
  void touch() {
    if (clock_ != nullptr) content_->set_modified(clock_->now());
  }

  std::shared_ptr<FileContent> content_;
  Path path_;
  Access access_;
  const Clock* clock_;
  std::atomic<bool> closed_{false};
};

class MemFileLock final : public FileLock {
 public:
  explicit MemFileLock(std::shared_ptr<FileContent> content) : content_(std::move(content)) {}
  ~MemFileLock() override { content_->unlock(); }

 private:
  std::shared_ptr<FileContent> content_;
};

}  // namespace

MemFileSystem::MemFileSystem(const Clock* clock) : clock_(clock), root_(std::make_shared<Node>()) {}
MemFileSystem::~MemFileSystem() = default;

// --- looking up ---

Result<MemFileSystem::NodePointer> MemFileSystem::find(std::string_view call, const Path& path) const {
  NodePointer node = root_;
  for (const std::string& part : parts_of(path)) {
    if (!node->is_directory()) return failed(call, path, ENOTDIR);
    auto found = node->entries.find(part);
    if (found == node->entries.end()) return failed(call, path, ENOENT);
    node = found->second;
  }
  return node;
}

Result<MemFileSystem::NodePointer> MemFileSystem::find_directory(std::string_view call, const Path& path) const {
  NodePointer node = TRY(find(call, path));
  if (!node->is_directory()) return failed(call, path, ENOTDIR);
  return node;
}

Result<MemFileSystem::Place> MemFileSystem::place_of(std::string_view call, const Path& path) const {
  std::vector<std::string> parts = parts_of(path);
  if (parts.empty()) return failed(call, path, EISDIR);
  Place place;
  place.name = parts.back();
  place.directory = root_;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!place.directory->is_directory()) return failed(call, path, ENOTDIR);
    auto found = place.directory->entries.find(parts[i]);
    bool is_last = i + 1 == parts.size();
    if (is_last) {
      if (found != place.directory->entries.end()) place.node = found->second;
    } else {
      if (found == place.directory->entries.end()) return failed(call, path, ENOENT);
      place.directory = found->second;
    }
  }
  return place;
}

Result<FileStatus> MemFileSystem::status(const Path& path) {
  MutexLock lock(mu_);
  NodePointer node = TRY(find("stat", path));
  if (node->is_directory()) return FileStatus{.is_directory = true, .size = {}, .modified = node->modified};
  return FileStatus{.is_directory = false, .size = {node->content->size()}, .modified = node->content->modified()};
}

Result<bool> MemFileSystem::exists(const Path& path) {
  MutexLock lock(mu_);
  return find("stat", path).has_value();
}

Result<std::vector<DirectoryEntry>> MemFileSystem::list(const Path& directory) {
  MutexLock lock(mu_);
  NodePointer node = TRY(find_directory("opendir", directory));
  std::vector<DirectoryEntry> entries;
  for (const auto& [name, child] : node->entries) {
    entries.push_back({name, child->is_directory() ? DirectoryEntry::Kind::directory : DirectoryEntry::Kind::file});
  }
  return entries;
}

Result<Path> MemFileSystem::canonical(const Path& path) {
  MutexLock lock(mu_);
  TRY(find("realpath", path));
  Path result;
  for (const std::string& part : parts_of(path)) result += "/" + part;
  return result.empty() ? Path("/") : result;
}

Result<DiskSpace> MemFileSystem::space(const Path& directory) {
  MutexLock lock(mu_);
  TRY(find("statvfs", directory));
  return space_;
}

void MemFileSystem::set_space(DiskSpace space) {
  MutexLock lock(mu_);
  space_ = space;
}

// --- changing names ---

void MemFileSystem::assign(std::vector<std::pair<NodePointer, std::string>> names, std::vector<NodePointer> nodes) {
  Change change;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto& [directory, name] = names[i];
    if (nodes[i]) {
      directory->entries[name] = nodes[i];
    } else {
      directory->entries.erase(name);
    }
    directory->modified = now();
    change.assignments.push_back({directory, name, nodes[i]});
  }
  pending_.push_back(std::move(change));
}

Result<std::shared_ptr<File>> MemFileSystem::open(const Path& path, OpenMode mode) {
  MutexLock lock(mu_);
  Place place = TRY(place_of("open", path));
  if (place.node && place.node->is_directory()) return failed("open", path, EISDIR);
  bool may_create = mode != OpenMode::read && mode != OpenMode::read_write;
  if (!place.node) {
    if (!may_create) return failed("open", path, ENOENT);
    place.node = std::make_shared<Node>();
    place.node->content = std::make_shared<FileContent>();
    place.node->content->set_modified(now());
    assign({{place.directory, place.name}}, {place.node});
  } else if (mode == OpenMode::create_new) {
    return failed("open", path, EEXIST);
  } else if (mode == OpenMode::truncate) {
    TRY(place.node->content->truncate(0));
    place.node->content->set_modified(now());
  }
  auto access = mode == OpenMode::read ? MemFile::Access::read : MemFile::Access::read_write;
  return std::shared_ptr<File>(std::make_shared<MemFile>(place.node->content, path, access, clock_));
}

Result<void> MemFileSystem::create_directories(const Path& directory) {
  MutexLock lock(mu_);
  NodePointer node = root_;
  for (const std::string& part : parts_of(directory)) {
    if (!node->is_directory()) return failed("mkdir", directory, ENOTDIR);
    auto found = node->entries.find(part);
    if (found != node->entries.end()) {
      node = found->second;
      continue;
    }
    auto made = std::make_shared<Node>();
    made->modified = now();
    assign({{node, part}}, {made});
    node = made;
  }
  if (!node->is_directory()) return failed("mkdir", directory, EEXIST);
  return {};
}

Result<void> MemFileSystem::rename(const Path& from, const Path& to) {
  MutexLock lock(mu_);
  Path both = fmt::format("{} to {}", from, to);
  Place source = TRY(place_of("rename", from));
  Place target = TRY(place_of("rename", to));
  if (!source.node) return failed("rename", both, ENOENT);
  if (source.node == target.node) return {};
  if (source.node->is_directory()) {
    std::vector<std::string> outer = parts_of(from), inner = parts_of(to);
    if (inner.size() > outer.size() && std::equal(outer.begin(), outer.end(), inner.begin())) {
      return failed("rename", both, EINVAL);
    }
  }
  if (target.node) {
    if (target.node->is_directory() && !source.node->is_directory()) return failed("rename", both, EISDIR);
    if (!target.node->is_directory() && source.node->is_directory()) return failed("rename", both, ENOTDIR);
    if (!target.node->entries.empty()) return failed("rename", both, ENOTEMPTY);
  }
  assign({{source.directory, source.name}, {target.directory, target.name}}, {nullptr, source.node});
  return {};
}

Result<void> MemFileSystem::remove_file(const Path& path) {
  MutexLock lock(mu_);
  Place place = TRY(place_of("unlink", path));
  if (!place.node) return failed("unlink", path, ENOENT);
  if (place.node->is_directory()) return failed("unlink", path, EISDIR);
  assign({{place.directory, place.name}}, {nullptr});
  return {};
}

void MemFileSystem::remove_tree(const NodePointer& directory) {
  while (!directory->entries.empty()) {
    auto [name, child] = *directory->entries.begin();
    if (child->is_directory()) remove_tree(child);
    assign({{directory, name}}, {nullptr});
  }
}

Result<void> MemFileSystem::remove_directory_tree(const Path& directory) {
  MutexLock lock(mu_);
  Result<Place> place = place_of("rmdir", directory);
  if (!place && place.error().code == Errc::not_found) return {};
  if (!place) return place.error();
  if (!place->node) return {};
  if (!place->node->is_directory()) return failed("rmdir", directory, ENOTDIR);
  remove_tree(place->node);
  assign({{place->directory, place->name}}, {nullptr});
  return {};
}

Result<std::unique_ptr<FileLock>> MemFileSystem::lock(const Path& path) {
  TRY(open(path, OpenMode::create));
  MutexLock lock(mu_);
  NodePointer node = TRY(find("open", path));
  if (!node->content->try_lock()) return Error{Errc::locked, fmt::format("{} is locked", path)};
  return std::unique_ptr<FileLock>(std::make_unique<MemFileLock>(node->content));
}

Result<bool> MemFileSystem::is_locked(const Path& path) {
  MutexLock lock(mu_);
  NodePointer node = TRY(find("open", path));
  if (node->is_directory() || !node->content->try_lock()) return !node->is_directory();
  node->content->unlock();
  return false;
}

// --- what is durable ---

Result<void> MemFileSystem::set_modified(const Path& file, TimestampMs modified) {
  MutexLock lock(mu_);
  NodePointer node = TRY(find("utimensat", file));
  if (node->is_directory()) {
    node->modified = modified;
  } else {
    node->content->set_modified(modified);
  }
  return {};
}

Result<void> MemFileSystem::sync_directory(const Path& directory) {
  MutexLock lock(mu_);
  NodePointer node = TRY(find_directory("open", directory));
  std::vector<bool> chosen(pending_.size());
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    for (const Assignment& a : pending_[i].assignments) {
      if (a.directory == node) chosen[i] = true;
    }
  }
  memory::choose_what_comes_before(pending_, chosen);
  std::vector<Change> left;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (!chosen[i]) {
      left.push_back(std::move(pending_[i]));
      continue;
    }
    for (const Assignment& a : pending_[i].assignments) {
      if (a.node) {
        a.directory->durable_entries[a.name] = a.node;
      } else {
        a.directory->durable_entries.erase(a.name);
      }
    }
  }
  pending_ = std::move(left);
  return {};
}

namespace {
void make_durable(Node& node) {
  if (!node.is_directory()) return node.content->sync();
  node.durable_entries = node.entries;
  for (auto& [name, child] : node.entries) make_durable(*child);
}
}  // namespace

void MemFileSystem::sync_everything() {
  MutexLock lock(mu_);
  make_durable(*root_);
  pending_.clear();
}

std::unique_ptr<MemFileSystem> MemFileSystem::crash_clone(std::uint64_t seed) const {
  auto clone = std::make_unique<MemFileSystem>(clock_);
  SeededRandom random(seed);
  MutexLock lock(mu_);
  MutexLock clone_lock(clone->mu_);
  // As with the sectors of a file: none, all, the first few, or any of them.
  std::size_t count = pending_.size();
  std::vector<bool> chosen(count);
  std::uint64_t mode = random.below(4);
  std::size_t in_order = mode == 1 ? count : mode == 2 ? random.below(count + 1) : 0;
  std::uint64_t each_in_100 = mode == 3 ? 1 + random.below(99) : 0;
  for (std::size_t i = 0; i < count; ++i) chosen[i] = i < in_order || random.below(100) < each_in_100;
  memory::choose_what_comes_before(pending_, chosen);
  clone->root_ = memory::tree_after_power_cut(root_, pending_, chosen, random);
  clone->space_ = space_;
  return clone;
}

std::unique_ptr<MemFileSystem> MemFileSystem::process_crash_clone() const {
  auto clone = std::make_unique<MemFileSystem>(clock_);
  MutexLock lock(mu_);
  MutexLock clone_lock(clone->mu_);
  std::tie(clone->root_, clone->pending_) = memory::copy_tree(root_, pending_);
  clone->space_ = space_;
  return clone;
}

}  // namespace cordwood::io
