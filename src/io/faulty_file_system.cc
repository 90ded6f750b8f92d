#include "io/faulty_file_system.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/mutex.h"

namespace cordwood::io {

const char* to_string(FileCall call) {
  switch (call) {
    case FileCall::open: return "open";
    case FileCall::read: return "read";
    case FileCall::look: return "look";
    case FileCall::write: return "write";
    case FileCall::truncate: return "truncate";
    case FileCall::reserve: return "reserve";
    case FileCall::sync: return "sync";
    case FileCall::map: return "map";
    case FileCall::close: return "close";
    case FileCall::create: return "create";
    case FileCall::rename: return "rename";
    case FileCall::remove: return "remove";
    case FileCall::sync_directory: return "sync_directory";
    case FileCall::set_modified: return "set_modified";
    case FileCall::changing: return "changing";
    case FileCall::all: return "all";
  }
  return "unknown";
}

class FaultyFileSystem::Plan {
 public:
  using Hook = std::function<void(FileCall, const std::string&)>;
  struct Failure {
    Error error;
    Fault::Shape shape;
  };

  // Counts the call and says how it goes wrong, if it does.
  std::optional<Failure> next(FileCall call, std::string subject) {
    std::shared_ptr<const Hook> hook;
    {
      MutexLock lock(mu_);
      hook = hook_;
    }
    if (hook != nullptr) (*hook)(call, subject);
    MutexLock lock(mu_);
    if (contains(FileCall::changing, call)) trace_.push_back(fmt::format("{} {}", to_string(call), subject));
    if (!contains(fault_.counted, call)) return std::nullopt;
    ++calls_;
    if (fault_.fail_at == 0 || calls_ < fault_.fail_at) return std::nullopt;
    bool first = calls_ == fault_.fail_at;
    if (!first && fault_.repeat == Fault::Repeat::once) return std::nullopt;
    has_failed_ = true;
    return Failure{system_error(fmt::format("{} {} (call {}, on purpose)", to_string(call), subject, calls_),
                                fault_.sys_errno),
                   first ? fault_.shape : Fault::Shape::refuse};
  }

  // A call that is done whole or not at all. `work` gives a Result.
  template <class Work>
  auto run(FileCall call, std::string subject, Work work) -> decltype(work()) {
    std::optional<Failure> failure = next(call, std::move(subject));
    if (!failure) return work();
    if (failure->shape == Fault::Shape::tear) {
      if (auto done = work(); !done) return done;
    }
    return std::move(failure->error);
  }

  void set_hook(Hook hook) {
    MutexLock lock(mu_);
    hook_ = hook ? std::make_shared<const Hook>(std::move(hook)) : nullptr;
  }

  void arm(Fault fault) {
    MutexLock lock(mu_);
    fault_ = fault;
    calls_ = 0;
    has_failed_ = false;
  }
  std::int64_t calls() const {
    MutexLock lock(mu_);
    return calls_;
  }
  bool has_failed() const {
    MutexLock lock(mu_);
    return has_failed_;
  }
  std::vector<std::string> trace() const {
    MutexLock lock(mu_);
    return trace_;
  }
  void clear_trace() {
    MutexLock lock(mu_);
    trace_.clear();
  }

 private:
  mutable Mutex mu_;
  std::shared_ptr<const Hook> hook_ GUARDED_BY(mu_);
  Fault fault_ GUARDED_BY(mu_);
  std::int64_t calls_ GUARDED_BY(mu_) = 0;
  bool has_failed_ GUARDED_BY(mu_) = false;
  std::vector<std::string> trace_ GUARDED_BY(mu_);
};

namespace {

using Plan = FaultyFileSystem::Plan;

class FaultyMapping final : public MappedFile {
 public:
  FaultyMapping(std::unique_ptr<MappedFile> inner, std::shared_ptr<Plan> plan, Path path)
      : inner_(std::move(inner)), plan_(std::move(plan)), path_(std::move(path)) {}
  MutableBytesView bytes() override { return inner_->bytes(); }
  Result<void> sync() override {
    return plan_->run(FileCall::sync, path_, [&] { return inner_->sync(); });
  }

 private:
  std::unique_ptr<MappedFile> inner_;
  std::shared_ptr<Plan> plan_;
  Path path_;
};

class FaultyFile final : public File {
 public:
  FaultyFile(std::shared_ptr<File> inner, std::shared_ptr<Plan> plan) : inner_(std::move(inner)), plan_(std::move(plan)) {}

  // Reads must come through read_at to be counted.
  int native_fd() const override { return -1; }

  Result<std::size_t> read_at(FilePosition position, MutableBytesView into) const override {
    auto failure = plan_->next(FileCall::read, fmt::format("{} {}+{}", path(), position, into.size()));
    if (!failure) return inner_->read_at(position, into);
    if (failure->shape == Fault::Shape::shorten) TRY(inner_->read_at(position, into.first(into.size() / 2)));
    return std::move(failure->error);
  }

  Result<void> write_at(FilePosition position, BytesView bytes) override {
    return write_at(position, std::span<const BytesView>(&bytes, 1));
  }
  Result<void> write_at(FilePosition position, std::span<const BytesView> pieces) override {
    std::size_t size = 0;
    for (BytesView piece : pieces) size += piece.size();
    auto failure = plan_->next(FileCall::write, fmt::format("{} {}+{}", path(), position, size));
    if (!failure) return inner_->write_at(position, pieces);
    if (failure->shape != Fault::Shape::refuse) {
      ByteVector whole;
      for (BytesView piece : pieces) whole.insert(whole.end(), piece.begin(), piece.end());
      BytesView half = failure->shape == Fault::Shape::shorten ? BytesView(whole).first(size / 2)
                                                               : BytesView(whole).subspan(size / 2);
      std::int64_t skipped = failure->shape == Fault::Shape::shorten ? 0 : static_cast<std::int64_t>(size / 2);
      TRY(inner_->write_at(position + ByteCount{skipped}, half));
    }
    return std::move(failure->error);
  }

  Result<ByteCount> size() const override {
    return plan_->run(FileCall::look, path(), [&] { return inner_->size(); });
  }
  Result<void> truncate(ByteCount size) override {
    return plan_->run(FileCall::truncate, fmt::format("{} {}", path(), size), [&] { return inner_->truncate(size); });
  }
  Result<void> reserve(ByteCount size) override {
    return plan_->run(FileCall::reserve, fmt::format("{} {}", path(), size), [&] { return inner_->reserve(size); });
  }
  Result<void> sync_data() override {
    return plan_->run(FileCall::sync, path(), [&] { return inner_->sync_data(); });
  }
  Result<void> sync() override {
    return plan_->run(FileCall::sync, path(), [&] { return inner_->sync(); });
  }
  Result<std::unique_ptr<MappedFile>> map(ByteCount size) override {
    return plan_->run(FileCall::map, fmt::format("{} {}", path(), size), [&]() -> Result<std::unique_ptr<MappedFile>> {
      std::unique_ptr<MappedFile> map = TRY(inner_->map(size));
      return std::unique_ptr<MappedFile>(std::make_unique<FaultyMapping>(std::move(map), plan_, path()));
    });
  }
  Result<void> close() override {
    return plan_->run(FileCall::close, path(), [&] { return inner_->close(); });
  }
  const Path& path() const override { return inner_->path(); }

 private:
  std::shared_ptr<File> inner_;
  std::shared_ptr<Plan> plan_;
};

const char* to_string(OpenMode mode) {
  switch (mode) {
    case OpenMode::read: return "read";
    case OpenMode::read_write: return "read_write";
    case OpenMode::create: return "create";
    case OpenMode::create_new: return "create_new";
    case OpenMode::truncate: return "truncate";
  }
  return "unknown";
}

}  // namespace

FaultyFileSystem::FaultyFileSystem(FileSystem& inner) : inner_(inner), plan_(std::make_shared<Plan>()) {}
FaultyFileSystem::~FaultyFileSystem() = default;

void FaultyFileSystem::arm(Fault fault) { plan_->arm(fault); }
void FaultyFileSystem::before_each_call(std::function<void(FileCall call, const std::string& subject)> hook) {
  plan_->set_hook(std::move(hook));
}
std::int64_t FaultyFileSystem::calls() const { return plan_->calls(); }
bool FaultyFileSystem::has_failed() const { return plan_->has_failed(); }
std::vector<std::string> FaultyFileSystem::trace() const { return plan_->trace(); }
void FaultyFileSystem::clear_trace() { plan_->clear_trace(); }

Result<std::shared_ptr<File>> FaultyFileSystem::open(const Path& path, OpenMode mode) {
  return plan_->run(FileCall::open, fmt::format("{} {}", path, to_string(mode)), [&]() -> Result<std::shared_ptr<File>> {
    std::shared_ptr<File> file = TRY(inner_.open(path, mode));
    return std::shared_ptr<File>(std::make_shared<FaultyFile>(std::move(file), plan_));
  });
}

Result<FileStatus> FaultyFileSystem::status(const Path& path) {
  return plan_->run(FileCall::look, path, [&] { return inner_.status(path); });
}

Result<bool> FaultyFileSystem::exists(const Path& path) {
  return plan_->run(FileCall::look, path, [&] { return inner_.exists(path); });
}

Result<std::vector<DirectoryEntry>> FaultyFileSystem::list(const Path& directory) {
  return plan_->run(FileCall::look, directory, [&] { return inner_.list(directory); });
}

Result<void> FaultyFileSystem::create_directories(const Path& directory) {
  return plan_->run(FileCall::create, directory, [&] { return inner_.create_directories(directory); });
}

Result<void> FaultyFileSystem::rename(const Path& from, const Path& to) {
  return plan_->run(FileCall::rename, fmt::format("{} to {}", from, to), [&] { return inner_.rename(from, to); });
}

Result<void> FaultyFileSystem::remove_file(const Path& path) {
  return plan_->run(FileCall::remove, path, [&] { return inner_.remove_file(path); });
}

Result<void> FaultyFileSystem::remove_directory_tree(const Path& directory) {
  return plan_->run(FileCall::remove, directory, [&] { return inner_.remove_directory_tree(directory); });
}

Result<void> FaultyFileSystem::sync_directory(const Path& directory) {
  return plan_->run(FileCall::sync_directory, directory, [&] { return inner_.sync_directory(directory); });
}

Result<void> FaultyFileSystem::set_modified(const Path& file, TimestampMs modified) {
  return plan_->run(FileCall::set_modified, file, [&] { return inner_.set_modified(file, modified); });
}

Result<Path> FaultyFileSystem::canonical(const Path& path) {
  return plan_->run(FileCall::look, path, [&] { return inner_.canonical(path); });
}

Result<DiskSpace> FaultyFileSystem::space(const Path& directory) {
  return plan_->run(FileCall::look, directory, [&] { return inner_.space(directory); });
}

Result<std::unique_ptr<FileLock>> FaultyFileSystem::lock(const Path& path) {
  return plan_->run(FileCall::open, fmt::format("{} lock", path), [&] { return inner_.lock(path); });
}

Result<bool> FaultyFileSystem::is_locked(const Path& path) {
  return plan_->run(FileCall::open, fmt::format("{} look at its lock", path), [&] { return inner_.is_locked(path); });
}

}  // namespace cordwood::io
