// SPDX-License-Identifier: Apache-2.0
#include "write/faulty_store.h"

#include "write/errno_status.h"

namespace stratalog {

Status FaultCounter::next(const std::string& action, const std::string& path) {
  const std::uint64_t call = calls_++;
  if (plan_.meanwhile) {
    if (call == plan_.fail_at) plan_.meanwhile();
    return Status::ok();
  }
  const bool fails = plan_.span == FaultSpan::kOnce ? call == plan_.fail_at : call >= plan_.fail_at;
  return fails ? errno_status(plan_.error_number, action + " (injected fault)", path)
               : Status::ok();
}

namespace {

class FaultyFile final : public File {
 public:
  FaultyFile(std::unique_ptr<File> inner, std::string path, std::shared_ptr<FaultCounter> counter)
      : inner_(std::move(inner)), path_(std::move(path)), counter_(std::move(counter)) {}

  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    Status fault = counter_->next("write", path_);
    if (fault.is_ok()) return inner_->write_at(offset, bytes);
    if (counter_->plan().short_write)
      STRATALOG_RETURN_IF_ERROR(inner_->write_at(offset, bytes.first(bytes.size() / 2)));
    return fault;
  }
  Status read_at(std::uint64_t offset, std::span<std::byte> bytes) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("read", path_));
    return inner_->read_at(offset, bytes);
  }
  Result<std::uint64_t> size_bytes() override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("examine", path_));
    return inner_->size_bytes();
  }
  Status sync() override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("fsync", path_));
    return inner_->sync();
  }
  Status close() override {
    const Status fault = counter_->next("close", path_);
    const Status closed = inner_->close();
    return fault.is_ok() ? closed : fault;
  }

 private:
  std::unique_ptr<File> inner_;
  std::string path_;
  std::shared_ptr<FaultCounter> counter_;
};

class FaultyStore final : public Store {
 public:
  FaultyStore(Store& inner, std::shared_ptr<FaultCounter> counter)
      : inner_(inner), counter_(std::move(counter)) {}

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("open", path));
    STRATALOG_ASSIGN_OR_RETURN(std::unique_ptr<File> file, inner_.open(path, mode));
    return std::unique_ptr<File>(std::make_unique<FaultyFile>(std::move(file), path, counter_));
  }
  Status make_directory(const std::string& path) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("make directory", path));
    return inner_.make_directory(path);
  }
  Status remove_file(const std::string& path) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("remove", path));
    return inner_.remove_file(path);
  }
  Status remove_directory(const std::string& path) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("remove directory", path));
    return inner_.remove_directory(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("rename to", to));
    return inner_.rename(from, to);
  }
  Status sync_directory(const std::string& path) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("fsync directory", path));
    return inner_.sync_directory(path);
  }
  Result<std::vector<std::string>> list(const std::string& path) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("list", path));
    return inner_.list(path);
  }
  Result<FileInfo> info(const std::string& path) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("examine", path));
    return inner_.info(path);
  }
  Status take_mode(const std::string& from, const std::string& to, FileModeUse use) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("set the mode of", to));
    return inner_.take_mode(from, to, use);
  }
  Result<FileSystemFacts> file_system() override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("examine the file system of", "."));
    return inner_.file_system();
  }
  Status confirm_root() override { return inner_.confirm_root(); }
  Status stripe_new_files(const std::string& path, const StripingPlan& striping) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("set the stripes of", path));
    return inner_.stripe_new_files(path, striping);
  }
  Result<std::uint64_t> free_bytes() override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("examine", "the file system"));
    return inner_.free_bytes();
  }
  Result<std::unique_ptr<StoreLock>> lock(const std::string& path) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("lock", path));
    return inner_.lock(path);
  }
  Result<std::unique_ptr<StoreLock>> lock_bytes(const std::string& path,
                                                const LockedBytes& bytes) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("lock", path));
    return inner_.lock_bytes(path, bytes);
  }
  Status random_bytes(std::span<std::byte> bytes) override {
    STRATALOG_RETURN_IF_ERROR(counter_->next("read random bytes from", "the system"));
    return inner_.random_bytes(bytes);
  }
  std::string root() const override { return inner_.root(); }
  std::string name_of(const std::string& path) override { return inner_.name_of(path); }

 private:
  Store& inner_;
  std::shared_ptr<FaultCounter> counter_;
};

}  // namespace

std::unique_ptr<Store> open_faulty_store(Store& inner, std::shared_ptr<FaultCounter> counter) {
  return std::make_unique<FaultyStore>(inner, std::move(counter));
}

}  // namespace stratalog
