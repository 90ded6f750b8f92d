#include "io/overlay_file_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace cordwood::io {
namespace overlay {

constexpr std::int64_t kPage = 4096;

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
// From calloc, so that pages that nobody wrote take no memory.
using ZeroedBytes = std::unique_ptr<std::byte[], FreeMemory>;

// A file: what is left of the one below, and changed pages over it.
class Content : public std::enable_shared_from_this<Content> {
 public:
  Content(std::shared_ptr<File> below, ByteCount size, TimestampMs modified, const Clock& clock)
      : below_(std::move(below)), below_size_(size.value), size_(size.value), modified_(modified.value), clock_(clock) {}

  bool is_changed() const { return changed_.load(); }
  void touch() {
    changed_ = true;
    modified_ = clock_.now().value;
  }
  TimestampMs modified() const { return {modified_}; }
  void set_modified(TimestampMs to) {
    changed_ = true;
    modified_ = to.value;
  }
  ByteCount size() const {
    MutexLock lock(mu_);
    return {size_};
  }

  Result<std::size_t> read(std::int64_t position, MutableBytesView into) const {
    MutexLock lock(mu_);
    return read_locked(position, into);
  }

  Result<void> write(std::int64_t position, BytesView bytes) {
    MutexLock lock(mu_);
    touch();
    size_ = std::max(size_, position + static_cast<std::int64_t>(bytes.size()));
    while (!bytes.empty()) {
      const std::int64_t start = position / kPage * kPage;
      const auto at = static_cast<std::size_t>(position - start);
      const std::size_t count = std::min(bytes.size(), static_cast<std::size_t>(kPage) - at);
      if (position < mapped_size_) {
        const std::size_t inside = std::min(count, static_cast<std::size_t>(mapped_size_ - position));
        std::memcpy(mapped_.get() + position, bytes.data(), inside);
      }
      Page& page = TRY(own_page(start / kPage)).get();
      std::memcpy(page.data() + at, bytes.data(), count);
      position += static_cast<std::int64_t>(count);
      bytes = bytes.subspan(count);
    }
    return {};
  }

  Result<void> truncate(std::int64_t size) {
    MutexLock lock(mu_);
    touch();
    if (size < size_) {
      below_size_ = std::min(below_size_, size);
      pages_.erase(pages_.lower_bound((size + kPage - 1) / kPage), pages_.end());
      if (const auto last = pages_.find(size / kPage); last != pages_.end()) {
        std::fill(last->second->begin() + size % kPage, last->second->end(), std::byte{0});
      }
      if (size < mapped_size_) std::memset(mapped_.get() + size, 0, static_cast<std::size_t>(mapped_size_ - size));
    }
    size_ = size;
    return {};
  }

  Result<MutableBytesView> map(std::int64_t size) {
    MutexLock lock(mu_);
    if (size > size_) return Error{Errc::io, "map beyond the end of a file", EINVAL};
    if (mapped_ == nullptr) {
      mapped_.reset(static_cast<std::byte*>(std::calloc(static_cast<std::size_t>(std::max<std::int64_t>(size, 1)), 1)));
      std::array<std::byte, kPage> page;
      for (std::int64_t at = 0; at < size; at += kPage) {
        const std::size_t count = TRY(read_locked(at, MutableBytesView(page).first(static_cast<std::size_t>(std::min(kPage, size - at)))));
        const bool zero = std::all_of(page.begin(), page.begin() + static_cast<std::ptrdiff_t>(count), [](std::byte b) { return b == std::byte{0}; });
        if (!zero) std::memcpy(mapped_.get() + at, page.data(), count);
      }
      mapped_size_ = size;
    } else if (size > mapped_size_) {
      return Error{Errc::io, "a second, longer mapping of a file", EINVAL};
    }
    ++mappings_;
    return MutableBytesView(mapped_.get(), static_cast<std::size_t>(size));
  }

  // What was changed through the mapping stays as pages. A page below that cannot be read any more counts as zeros.
  void unmap() {
    MutexLock lock(mu_);
    if (--mappings_ > 0) return;
    const ZeroedBytes mapped = std::move(mapped_);
    const std::int64_t end = std::min(mapped_size_, size_);
    mapped_size_ = 0;
    std::array<std::byte, kPage> page;
    for (std::int64_t at = 0; at < end; at += kPage) {
      const auto count = static_cast<std::size_t>(std::min(kPage, end - at));
      page.fill(std::byte{0});
      const auto read = read_locked(at, MutableBytesView(page).first(count));
      if (read && std::memcmp(page.data(), mapped.get() + at, count) == 0) continue;
      touch();
      auto own = own_page(at / kPage);
      if (own) std::memcpy(own->get().data(), mapped.get() + at, count);
    }
  }

 private:
  using Page = std::array<std::byte, kPage>;

  Result<std::size_t> read_locked(std::int64_t position, MutableBytesView into) const REQUIRES(mu_) {
    if (position >= size_) return std::size_t{0};
    const std::size_t wanted = std::min(into.size(), static_cast<std::size_t>(size_ - position));
    MutableBytesView out = into.first(wanted);
    if (pages_.empty() && mapped_ == nullptr && position + static_cast<std::int64_t>(wanted) <= below_size_) {
      const std::size_t count = TRY(below_->read_at(FilePosition{position}, out));
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(count), out.end(), std::byte{0});
      return wanted;
    }
    std::size_t done = 0;
    while (done < wanted) {
      const std::int64_t at = position + static_cast<std::int64_t>(done);
      const std::int64_t number = at / kPage;
      const auto inside = static_cast<std::size_t>(at % kPage);
      const MutableBytesView part = out.subspan(done, std::min(wanted - done, static_cast<std::size_t>(kPage) - inside));
      if (at + static_cast<std::int64_t>(part.size()) <= mapped_size_) {
        std::memcpy(part.data(), mapped_.get() + at, part.size());
      } else if (const auto page = pages_.find(number); page != pages_.end()) {
        std::memcpy(part.data(), page->second->data() + inside, part.size());
      } else {
        TRY(read_below(at, part));
      }
      done += part.size();
    }
    return wanted;
  }

  Result<void> read_below(std::int64_t at, MutableBytesView into) const REQUIRES(mu_) {
    std::ranges::fill(into, std::byte{0});
    if (below_ == nullptr || at >= below_size_) return {};
    const std::size_t count = std::min(into.size(), static_cast<std::size_t>(below_size_ - at));
    TRY(below_->read_at(FilePosition{at}, into.first(count)));
    return {};
  }

  Result<std::reference_wrapper<Page>> own_page(std::int64_t number) REQUIRES(mu_) {
    auto& page = pages_[number];
    if (page == nullptr) {
      page = std::make_unique<Page>();
      TRY(read_below(number * kPage, *page));
    }
    return std::ref(*page);
  }

  const std::shared_ptr<File> below_;  // null: a new file
  mutable Mutex mu_;
  std::int64_t below_size_ GUARDED_BY(mu_);  // as much of it as is still seen
  std::int64_t size_ GUARDED_BY(mu_);
  std::map<std::int64_t, std::unique_ptr<Page>> pages_ GUARDED_BY(mu_);
  ZeroedBytes mapped_ GUARDED_BY(mu_);
  std::int64_t mapped_size_ GUARDED_BY(mu_) = 0;
  int mappings_ GUARDED_BY(mu_) = 0;
  std::atomic<bool> changed_{false};
  std::atomic<std::int64_t> modified_;
  const Clock& clock_;
};

namespace {

class Mapping final : public MappedFile {
 public:
  Mapping(OverlayFileSystem& fs, Path path, std::shared_ptr<Content> content, MutableBytesView bytes)
      : fs_(fs), path_(std::move(path)), content_(std::move(content)), bytes_(bytes) {}
  ~Mapping() override {
    content_->unmap();
    fs_.release(path_, content_);
  }
  MutableBytesView bytes() override { return bytes_; }
  Result<void> sync() override { return {}; }

 private:
  OverlayFileSystem& fs_;
  const Path path_;
  const std::shared_ptr<Content> content_;
  const MutableBytesView bytes_;
};

class OverlayFile final : public File {
 public:
  OverlayFile(OverlayFileSystem& fs, std::shared_ptr<Content> content, Path path)
      : fs_(fs), content_(std::move(content)), path_(std::move(path)) {}
  ~OverlayFile() override { fs_.release(path_, content_); }

  int native_fd() const override { return -1; }
  Result<std::size_t> read_at(FilePosition position, MutableBytesView into) const override {
    return content_->read(position.value, into);
  }
  Result<void> write_at(FilePosition position, BytesView bytes) override { return content_->write(position.value, bytes); }
  Result<void> write_at(FilePosition position, std::span<const BytesView> pieces) override {
    for (const BytesView piece : pieces) {
      TRY(content_->write(position.value, piece));
      position += ByteCount{static_cast<std::int64_t>(piece.size())};
    }
    return {};
  }
  Result<ByteCount> size() const override { return content_->size(); }
  Result<void> truncate(ByteCount size) override { return content_->truncate(size.value); }
  Result<void> reserve(ByteCount) override { return {}; }
  Result<void> sync_data() override { return {}; }
  Result<void> sync() override { return {}; }
  Result<std::unique_ptr<MappedFile>> map(ByteCount size) override {
    const MutableBytesView bytes = TRY(content_->map(size.value));
    return std::unique_ptr<MappedFile>(std::make_unique<Mapping>(fs_, path_, content_, bytes));
  }
  Result<void> close() override { return {}; }
  const Path& path() const override { return path_; }

 private:
  OverlayFileSystem& fs_;
  const std::shared_ptr<Content> content_;
  const Path path_;
};

Error absent(std::string_view call, const Path& path) { return system_error(fmt::format("{} {}", call, path), ENOENT); }

}  // namespace
}  // namespace overlay

const OverlayFileSystem::Node* OverlayFileSystem::find(const Path& path) const {
  const auto at = nodes_.find(path);
  return at == nodes_.end() ? nullptr : &at->second;
}

// Whether what lies below under this path is no longer there: a directory above it was removed or moved.
bool OverlayFileSystem::is_hidden(const Path& path) const {
  for (Path above(parent_of(path)); above.size() > 1 && above != "."; above = Path(parent_of(above))) {
    const Node* node = find(above);
    if (node != nullptr) return true;
  }
  return false;
}

Result<std::optional<FileStatus>> OverlayFileSystem::look(const Path& path) {
  if (const Node* node = find(path)) {
    if (node->kind == Node::Kind::gone) return std::optional<FileStatus>();
    if (node->kind == Node::Kind::directory) return std::optional(FileStatus{.is_directory = true, .size = {}, .modified = clock_.now()});
    return std::optional(FileStatus{.size = node->content->size(), .modified = node->content->modified()});
  }
  if (const auto open = open_.find(path); open != open_.end()) {
    if (const auto content = open->second.lock(); content != nullptr && content->is_changed()) {
      return std::optional(FileStatus{.size = content->size(), .modified = content->modified()});
    }
  }
  if (is_hidden(path)) return std::optional<FileStatus>();
  auto status = below_.status(path);
  if (status) return std::optional(*status);
  if (status.error().code == Errc::not_found) return std::optional<FileStatus>();
  return status.error();
}

Result<std::shared_ptr<overlay::Content>> OverlayFileSystem::content_of(const Path& path) {
  if (const Node* node = find(path)) {
    if (node->kind != Node::Kind::file) return overlay::absent("open", path);
    return node->content;
  }
  if (const auto known = open_.find(path); known != open_.end()) {
    if (auto content = known->second.lock()) return content;
  }
  if (is_hidden(path)) return overlay::absent("open", path);
  auto file = TRY(below_.open(path, OpenMode::read));
  const FileStatus status = TRY(below_.status(path));
  auto content = std::make_shared<overlay::Content>(std::move(file), status.size, status.modified, clock_);
  open_[path] = content;
  return content;
}

Result<std::shared_ptr<File>> OverlayFileSystem::open(const Path& path, OpenMode mode) {
  MutexLock lock(mu_);
  const auto there = TRY(look(path));
  if (there && there->is_directory) return system_error(fmt::format("open {}", path), EISDIR);
  if (mode == OpenMode::create_new && there) return system_error(fmt::format("open {}", path), EEXIST);
  const bool makes = mode == OpenMode::create || mode == OpenMode::create_new || mode == OpenMode::truncate;
  if (!there && !makes) return overlay::absent("open", path);
  std::shared_ptr<overlay::Content> content;
  if (!there) {
    const auto directory = TRY(look(Path(parent_of(path))));
    if (!directory || !directory->is_directory) return overlay::absent("open", path);
    content = std::make_shared<overlay::Content>(nullptr, ByteCount{0}, clock_.now(), clock_);
    content->touch();
    nodes_[path] = {Node::Kind::file, content};
  } else {
    content = TRY(content_of(path));
    if (mode == OpenMode::truncate) TRY(content->truncate(0));
  }
  return std::shared_ptr<File>(std::make_shared<overlay::OverlayFile>(*this, std::move(content), path));
}

void OverlayFileSystem::release(const Path& path, const std::shared_ptr<overlay::Content>& content) {
  if (!content->is_changed()) return;
  MutexLock lock(mu_);
  const auto open = open_.find(path);
  // Under another name by now, or gone.
  if (open == open_.end() || open->second.lock() != content) return;
  nodes_[path] = {Node::Kind::file, content};
  open_.erase(open);
}

Result<FileStatus> OverlayFileSystem::status(const Path& path) {
  MutexLock lock(mu_);
  const auto found = TRY(look(path));
  if (!found) return overlay::absent("stat", path);
  return *found;
}

Result<bool> OverlayFileSystem::exists(const Path& path) {
  MutexLock lock(mu_);
  return TRY(look(path)).has_value();
}

Result<std::vector<DirectoryEntry>> OverlayFileSystem::list_locked(const Path& directory) {
  const auto there = TRY(look(directory));
  if (!there || !there->is_directory) return overlay::absent("list", directory);
  std::map<std::string, DirectoryEntry> entries;
  if (find(directory) == nullptr && !is_hidden(directory)) {
    for (DirectoryEntry& entry : TRY(below_.list(directory))) {
      std::string name = entry.name;
      entries.emplace(std::move(name), std::move(entry));
    }
  }
  const Path prefix = directory + "/";
  for (auto at = nodes_.lower_bound(prefix); at != nodes_.end() && at->first.starts_with(prefix); ++at) {
    const std::string name = at->first.substr(prefix.size());
    if (name.find('/') != std::string::npos) continue;
    if (at->second.kind == Node::Kind::gone) {
      entries.erase(name);
    } else {
      const bool is_directory = at->second.kind == Node::Kind::directory;
      entries[name] = {name, is_directory ? DirectoryEntry::Kind::directory : DirectoryEntry::Kind::file};
    }
  }
  std::vector<DirectoryEntry> sorted;
  for (auto& [name, entry] : entries) sorted.push_back(std::move(entry));
  return sorted;
}

Result<std::vector<DirectoryEntry>> OverlayFileSystem::list(const Path& directory) {
  MutexLock lock(mu_);
  return list_locked(directory);
}

Result<void> OverlayFileSystem::create_directories(const Path& directory) {
  MutexLock lock(mu_);
  std::vector<Path> missing;
  for (Path at = directory; at.size() > 1 && at != "."; at = Path(parent_of(at))) {
    const auto there = TRY(look(at));
    if (there) {
      if (!there->is_directory) return system_error(fmt::format("mkdir {}", at), EEXIST);
      break;
    }
    missing.push_back(at);
  }
  for (const Path& path : missing) nodes_[path] = {Node::Kind::directory, nullptr};
  return {};
}

Result<void> OverlayFileSystem::move(const Path& from, const Path& to) {
  const auto there = TRY(look(from));
  if (!there) return overlay::absent("rename", from);
  if (!there->is_directory) {
    auto content = TRY(content_of(from));
    open_.erase(from);
    open_.erase(to);
    nodes_[from] = {};
    nodes_[to] = {Node::Kind::file, std::move(content)};
    return {};
  }
  const auto inside = TRY(list_locked(from));
  nodes_[to] = {Node::Kind::directory, nullptr};
  for (const DirectoryEntry& entry : inside) TRY(move(join(from, entry.name), join(to, entry.name)));
  nodes_[from] = {};
  return {};
}

Result<void> OverlayFileSystem::rename(const Path& from, const Path& to) {
  MutexLock lock(mu_);
  return move(from, to);
}

Result<void> OverlayFileSystem::remove_file(const Path& path) {
  MutexLock lock(mu_);
  const auto there = TRY(look(path));
  if (!there) return overlay::absent("unlink", path);
  if (there->is_directory) return system_error(fmt::format("unlink {}", path), EISDIR);
  open_.erase(path);
  nodes_[path] = {};
  return {};
}

Result<void> OverlayFileSystem::remove_directory_tree(const Path& directory) {
  MutexLock lock(mu_);
  if (!TRY(look(directory))) return {};
  const Path prefix = directory + "/";
  for (auto at = nodes_.lower_bound(prefix); at != nodes_.end() && at->first.starts_with(prefix);) at = nodes_.erase(at);
  for (auto at = open_.lower_bound(prefix); at != open_.end() && at->first.starts_with(prefix);) at = open_.erase(at);
  nodes_[directory] = {};
  return {};
}

Result<void> OverlayFileSystem::set_modified(const Path& file, TimestampMs modified) {
  MutexLock lock(mu_);
  auto content = TRY(content_of(file));
  content->set_modified(modified);
  nodes_[file] = {Node::Kind::file, std::move(content)};
  return {};
}

Result<Path> OverlayFileSystem::canonical(const Path& path) {
  auto canonical = below_.canonical(path);
  if (!canonical && canonical.error().code == Errc::not_found && TRY(exists(path))) return path;
  return canonical;
}

Result<DiskSpace> OverlayFileSystem::space(const Path& directory) {
  auto space = below_.space(directory);
  if (space || space.error().code != Errc::not_found) return space;
  return below_.space(Path(parent_of(directory)));
}

Result<std::unique_ptr<FileLock>> OverlayFileSystem::lock(const Path&) { return std::make_unique<FileLock>(); }

Result<bool> OverlayFileSystem::is_locked(const Path&) { return false; }

}  // namespace cordwood::io
