// SPDX-License-Identifier: Apache-2.0
#include "write/operation_log.h"

namespace stratalog {
namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string file_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

OperationLog::OperationLog(const MemoryDisk& disk) {
  std::vector<std::string> open = {"."};
  nodes_["."] = MemoryDisk::kRoot;
  while (!open.empty()) {
    const std::string directory = open.back();
    open.pop_back();
    for (const auto& [name, id] : disk.node(nodes_[directory]).entries) {
      std::string path = name;
      if (directory != ".") path.insert(0, directory + "/");
      nodes_[path] = id;
      if (disk.node(id).kind == FileKind::kDirectory) open.push_back(path);
    }
  }
  next_node_ = disk.node_count();
}

void OperationLog::mark(int rank, const std::string& text) {
  const std::lock_guard guard(mutex_);
  Operation operation;
  operation.rank = rank;
  operation.name = text;
  operations_.push_back(std::move(operation));
}

void OperationLog::meet(int rank, std::uint64_t number, const std::string& collective) {
  const std::lock_guard guard(mutex_);
  Operation operation;
  operation.kind = OperationKind::kMeet;
  operation.rank = rank;
  operation.offset = number;
  operation.name = collective;
  operations_.push_back(std::move(operation));
}

class RecordingFile final : public File {
 public:
  RecordingFile(std::unique_ptr<File> inner, OperationLog& log, int rank, NodeId node)
      : inner_(std::move(inner)), log_(log), rank_(rank), node_(node) {}

  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    const std::lock_guard guard(log_.mutex_);
    STRATALOG_RETURN_IF_ERROR(inner_->write_at(offset, bytes));
    Operation operation;
    operation.kind = OperationKind::kWrite;
    operation.rank = rank_;
    operation.node = node_;
    operation.offset = offset;
    operation.data.assign(bytes.begin(), bytes.end());
    log_.operations_.push_back(std::move(operation));
    return Status::ok();
  }
  Status read_at(std::uint64_t offset, std::span<std::byte> bytes) override {
    return inner_->read_at(offset, bytes);
  }
  Result<std::uint64_t> size_bytes() override { return inner_->size_bytes(); }
  Status sync() override {
    const std::lock_guard guard(log_.mutex_);
    STRATALOG_RETURN_IF_ERROR(inner_->sync());
    Operation operation;
    operation.kind = OperationKind::kSyncFile;
    operation.rank = rank_;
    operation.node = node_;
    log_.operations_.push_back(std::move(operation));
    return Status::ok();
  }
  Status close() override { return inner_->close(); }

 private:
  std::unique_ptr<File> inner_;
  OperationLog& log_;
  int rank_;
  NodeId node_;
};

class RecordingStore final : public Store {
 public:
  RecordingStore(Store& inner, OperationLog& log, int rank)
      : inner_(inner), log_(log), rank_(rank) {}

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    const std::lock_guard guard(log_.mutex_);
    STRATALOG_ASSIGN_OR_RETURN(std::unique_ptr<File> file, inner_.open(path, mode));
    if (mode == OpenMode::kCreateExclusive) add_entry(OperationKind::kCreate, path);
    return std::unique_ptr<File>(
        std::make_unique<RecordingFile>(std::move(file), log_, rank_, log_.nodes_[path]));
  }
  Status make_directory(const std::string& path) override {
    const std::lock_guard guard(log_.mutex_);
    STRATALOG_RETURN_IF_ERROR(inner_.make_directory(path));
    add_entry(OperationKind::kMakeDirectory, path);
    return Status::ok();
  }
  Status remove_file(const std::string& path) override {
    const std::lock_guard guard(log_.mutex_);
    STRATALOG_RETURN_IF_ERROR(inner_.remove_file(path));
    remove_entry(path);
    return Status::ok();
  }
  Status remove_directory(const std::string& path) override {
    const std::lock_guard guard(log_.mutex_);
    STRATALOG_RETURN_IF_ERROR(inner_.remove_directory(path));
    remove_entry(path);
    return Status::ok();
  }
  Status rename(const std::string& from, const std::string& to) override {
    const std::lock_guard guard(log_.mutex_);
    STRATALOG_RETURN_IF_ERROR(inner_.rename(from, to));
    Operation operation = entry_operation(OperationKind::kRename, from);
    operation.node = log_.nodes_[from];
    operation.to_directory = log_.nodes_[parent_of(to)];
    operation.to_name = file_name_of(to);
    log_.operations_.push_back(std::move(operation));
    log_.nodes_[to] = log_.nodes_[from];
    log_.nodes_.erase(from);
    return Status::ok();
  }
  Status sync_directory(const std::string& path) override {
    const std::lock_guard guard(log_.mutex_);
    STRATALOG_RETURN_IF_ERROR(inner_.sync_directory(path));
    Operation operation;
    operation.kind = OperationKind::kSyncDirectory;
    operation.rank = rank_;
    operation.node = log_.nodes_[path];
    log_.operations_.push_back(std::move(operation));
    return Status::ok();
  }
  Result<std::vector<std::string>> list(const std::string& path) override {
    return inner_.list(path);
  }
  Result<FileInfo> info(const std::string& path) override { return inner_.info(path); }
  Result<std::uint64_t> free_bytes() override { return inner_.free_bytes(); }
  Result<FileSystemFacts> file_system() override { return inner_.file_system(); }
  Status stripe_new_files(const std::string& path, const StripingPlan& striping) override {
    return inner_.stripe_new_files(path, striping);
  }
  Result<std::unique_ptr<StoreLock>> lock(const std::string& path) override {
    return inner_.lock(path);
  }
  Status random_bytes(std::span<std::byte> bytes) override { return inner_.random_bytes(bytes); }
  std::string root() const override { return inner_.root(); }
  std::string name_of(const std::string& path) override { return inner_.name_of(path); }

 private:
  Operation entry_operation(OperationKind kind, const std::string& path) {
    Operation operation;
    operation.kind = kind;
    operation.rank = rank_;
    operation.directory = log_.nodes_[parent_of(path)];
    operation.name = file_name_of(path);
    return operation;
  }
  void add_entry(OperationKind kind, const std::string& path) {
    Operation operation = entry_operation(kind, path);
    operation.node = log_.next_node_++;
    log_.nodes_[path] = operation.node;
    log_.operations_.push_back(std::move(operation));
  }
  void remove_entry(const std::string& path) {
    Operation operation = entry_operation(OperationKind::kRemove, path);
    operation.node = log_.nodes_[path];
    log_.operations_.push_back(std::move(operation));
    log_.nodes_.erase(path);
  }

  Store& inner_;
  OperationLog& log_;
  int rank_;
};

std::unique_ptr<Store> open_recording_store(Store& inner, OperationLog& log, int rank) {
  return std::make_unique<RecordingStore>(inner, log, rank);
}

namespace {

class RecordingComm final : public Comm {
 public:
  RecordingComm(Comm& inner, OperationLog& log) : inner_(inner), log_(log) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Status barrier() override {
    note("all");
    return inner_.barrier();
  }
  Status allreduce(std::span<std::uint64_t> values, ReduceOp op) override {
    note("all");
    return inner_.allreduce(values, op);
  }
  Status broadcast(Bytes& data, int root) override {
    note(root == 0 ? "from root" : "all");
    return inner_.broadcast(data, root);
  }
  Result<Received> allgather(std::span<const std::byte> mine) override {
    note("all");
    return inner_.allgather(mine);
  }
  Result<Received> gather(std::span<const std::byte> mine, int root) override {
    note(root == 0 ? "to root" : "all");
    return inner_.gather(mine, root);
  }
  Result<Received> exchange(std::span<const std::byte> data,
                            std::span<const std::uint64_t> counts) override {
    note("all");
    return inner_.exchange(data, counts);
  }
  Result<ReceivedParcels> exchange_parcels(std::span<const std::byte> data,
                                           std::span<const Parcel> parcels) override {
    note("all");
    return inner_.exchange_parcels(data, parcels);
  }
  Result<Topology> topology() override { return inner_.topology(); }

 private:
  // "all": nobody leaves before all have come. "from root": nobody leaves before rank 0 has come.
  // "to root": rank 0 leaves when all have come, the others at once.
  void note(const char* kind) { log_.meet(inner_.rank(), meetings_++, kind); }

  Comm& inner_;
  OperationLog& log_;
  std::uint64_t meetings_ = 0;
};

}  // namespace

std::unique_ptr<Comm> make_recording_comm(Comm& inner, OperationLog& log) {
  return std::make_unique<RecordingComm>(inner, log);
}

}  // namespace stratalog
