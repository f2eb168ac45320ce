// SPDX-License-Identifier: Apache-2.0
#include "write/memory_store.h"

#include <fmt/format.h>
#include <xxhash.h>
#include <algorithm>

#include <cerrno>
#include <cstring>

#include "write/errno_status.h"

namespace stratalog {

MemoryDisk::MemoryDisk() { add_node(FileKind::kDirectory); }

NodeId MemoryDisk::add_node(FileKind kind) {
  nodes_.push_back(std::make_shared<Node>(Node{.kind = kind, .data = {}, .entries = {}}));
  return static_cast<NodeId>(nodes_.size() - 1);
}

MemoryDisk::Node& MemoryDisk::change(NodeId id) {
  std::shared_ptr<Node>& own = nodes_[id];
  if (own.use_count() != 1) own = std::make_shared<Node>(*own);
  own->data_hash.reset();
  return *own;
}

Result<NodeId> MemoryDisk::find(const std::string& path) const {
  if (!is_store_path(path)) return Status::invalid_argument("not a store path: " + path);
  NodeId at = kRoot;
  if (path == ".") return at;
  for (std::size_t begin = 0; begin != std::string::npos;) {
    const std::size_t slash = path.find('/', begin);
    const std::string part = path.substr(begin, slash - begin);
    const auto entry = nodes_[at]->entries.find(part);
    if (entry == nodes_[at]->entries.end()) return errno_status(ENOENT, "find", path);
    at = entry->second;
    begin = slash == std::string::npos ? slash : slash + 1;
  }
  return at;
}

std::uint64_t MemoryDisk::fingerprint() const {
  std::uint64_t hash = 0;
  std::vector<NodeId> open_directories = {kRoot};
  while (!open_directories.empty()) {
    const NodeId directory = open_directories.back();
    open_directories.pop_back();
    for (const auto& [name, id] : nodes_[directory]->entries) {
      const Node& child = *nodes_[id];
      if (!child.data_hash) child.data_hash = XXH3_64bits(child.data.data(), child.data.size());
      hash = XXH3_64bits_withSeed(name.data(), name.size(), hash + *child.data_hash);
      if (child.kind == FileKind::kDirectory) open_directories.push_back(id);
    }
    hash = hash * 31 + 7;
  }
  return hash;
}

std::shared_ptr<MemoryDisk> MemoryDisk::clone() const {
  auto copy = std::make_shared<MemoryDisk>();
  copy->nodes_ = nodes_;
  copy->capacity_bytes = capacity_bytes;
  copy->random_state = random_state;
  return copy;
}

std::uint64_t MemoryDisk::used_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& node : nodes_) sum += node->data.size();
  return sum;
}

namespace {

class MemoryFile final : public File {
 public:
  MemoryFile(std::shared_ptr<MemoryDisk> disk, NodeId id, std::string path)
      : disk_(std::move(disk)), id_(id), path_(std::move(path)) {}

  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    const std::lock_guard guard(disk_->mutex());
    Bytes& data = disk_->change(id_).data;
    const std::uint64_t end = offset + bytes.size();
    if (end > data.size()) {
      if (disk_->used_bytes() + (end - data.size()) > disk_->capacity_bytes)
        return errno_status(
            ENOSPC, fmt::format("write {} bytes at offset {} to", bytes.size(), offset), path_);
      data.resize(end);
    }
    if (!bytes.empty()) std::memcpy(data.data() + offset, bytes.data(), bytes.size());
    return Status::ok();
  }

  Status read_at(std::uint64_t offset, std::span<std::byte> bytes) override {
    const std::lock_guard guard(disk_->mutex());
    const Bytes& data = disk_->node(id_).data;
    if (offset > data.size() || bytes.size() > data.size() - offset)
      return Status::corruption(fmt::format("{}: ends at offset {}, {} bytes at offset {} expected",
                                            path_, data.size(), bytes.size(), offset));
    if (!bytes.empty()) std::memcpy(bytes.data(), data.data() + offset, bytes.size());
    return Status::ok();
  }

  Result<std::uint64_t> size_bytes() override {
    const std::lock_guard guard(disk_->mutex());
    return static_cast<std::uint64_t>(disk_->node(id_).data.size());
  }
  Status sync() override { return Status::ok(); }
  Status close() override { return Status::ok(); }

 private:
  std::shared_ptr<MemoryDisk> disk_;
  NodeId id_;
  std::string path_;
};

// A parent directory and a name in it.
struct NodeEntry {
  NodeId parent;
  std::string name;
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::shared_ptr<MemoryDisk> disk) : disk_(std::move(disk)) {}

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    const std::lock_guard guard(disk_->mutex());
    STRATALOG_ASSIGN_OR_RETURN(const NodeEntry entry, enter(path));
    const auto& entries = disk_->node(entry.parent).entries;
    const auto found = entries.find(entry.name);
    NodeId id = 0;
    if (mode == OpenMode::kCreateExclusive) {
      if (found != entries.end()) return errno_status(EEXIST, "create", path);
      id = disk_->add_node(FileKind::kRegular);
      disk_->change(entry.parent).entries[entry.name] = id;
    } else {
      if (found == entries.end()) return errno_status(ENOENT, "open", path);
      id = found->second;
      if (disk_->node(id).kind != FileKind::kRegular)
        return Status::io_error(path + " is not a regular file; it is not touched");
    }
    return std::unique_ptr<File>(std::make_unique<MemoryFile>(disk_, id, path));
  }

  Status make_directory(const std::string& path) override {
    const std::lock_guard guard(disk_->mutex());
    STRATALOG_ASSIGN_OR_RETURN(const NodeEntry entry, enter(path));
    if (disk_->node(entry.parent).entries.count(entry.name) != 0)
      return errno_status(EEXIST, "make directory", path);
    const NodeId id = disk_->add_node(FileKind::kDirectory);
    disk_->change(entry.parent).entries[entry.name] = id;
    return Status::ok();
  }

  Status remove_file(const std::string& path) override { return remove(path, FileKind::kRegular); }
  Status remove_directory(const std::string& path) override {
    return remove(path, FileKind::kDirectory);
  }

  Status rename(const std::string& from, const std::string& to) override {
    const std::lock_guard guard(disk_->mutex());
    STRATALOG_ASSIGN_OR_RETURN(const NodeEntry source, enter(from));
    STRATALOG_ASSIGN_OR_RETURN(const NodeEntry target, enter(to));
    auto& entries = disk_->change(source.parent).entries;
    const auto found = entries.find(source.name);
    if (found == entries.end()) return errno_status(ENOENT, "rename", from);
    const NodeId id = found->second;
    entries.erase(found);
    disk_->change(target.parent).entries[target.name] = id;
    return Status::ok();
  }

  Status sync_directory(const std::string& path) override {
    const std::lock_guard guard(disk_->mutex());
    return disk_->find(path).status();
  }

  Result<std::vector<std::string>> list(const std::string& path) override {
    const std::lock_guard guard(disk_->mutex());
    STRATALOG_ASSIGN_OR_RETURN(const NodeId id, disk_->find(path));
    const MemoryDisk::Node& node = disk_->node(id);
    if (node.kind != FileKind::kDirectory) return errno_status(ENOTDIR, "list", path);
    std::vector<std::string> names;
    names.reserve(node.entries.size());
    for (const auto& [name, child] : node.entries) names.push_back(name);
    return names;
  }

  Result<FileInfo> info(const std::string& path) override {
    const std::lock_guard guard(disk_->mutex());
    STRATALOG_ASSIGN_OR_RETURN(const NodeId id, disk_->find(path));
    const MemoryDisk::Node& node = disk_->node(id);
    return FileInfo{.kind = node.kind, .size_bytes = node.data.size()};
  }

  Result<FileSystemFacts> file_system() override {
    const std::lock_guard guard(disk_->mutex());
    return disk_->file_system;
  }
  Result<std::uint64_t> free_bytes() override {
    const std::lock_guard guard(disk_->mutex());
    return disk_->capacity_bytes - disk_->used_bytes();
  }

  Status random_bytes(std::span<std::byte> bytes) override {
    const std::lock_guard guard(disk_->mutex());
    for (std::byte& byte : bytes) {
      disk_->random_state = disk_->random_state * 6364136223846793005ULL + 1442695040888963407ULL;
      byte = static_cast<std::byte>(disk_->random_state >> 56);
    }
    return Status::ok();
  }

  std::string root() const override { return "memory:"; }

 private:
  Result<NodeEntry> enter(const std::string& path) const {
    if (!is_store_path(path) || path == ".")
      return Status::invalid_argument("not a path inside the store: " + path);
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return NodeEntry{.parent = MemoryDisk::kRoot, .name = path};
    STRATALOG_ASSIGN_OR_RETURN(const NodeId parent, disk_->find(path.substr(0, slash)));
    return NodeEntry{.parent = parent, .name = path.substr(slash + 1)};
  }

  Status remove(const std::string& path, FileKind kind) {
    const std::lock_guard guard(disk_->mutex());
    STRATALOG_ASSIGN_OR_RETURN(const NodeEntry entry, enter(path));
    auto& entries = disk_->change(entry.parent).entries;
    const auto found = entries.find(entry.name);
    if (found == entries.end()) return errno_status(ENOENT, "remove", path);
    const MemoryDisk::Node& node = disk_->node(found->second);
    if (node.kind != kind) return errno_status(EISDIR, "remove", path);
    if (!node.entries.empty()) return errno_status(ENOTEMPTY, "remove", path);
    const NodeId id = found->second;
    entries.erase(found);
    // A renaming that power failure left half done gave the file two names in one directory.
    const bool has_other_name = std::any_of(entries.begin(), entries.end(),
                                            [id](const auto& other) { return other.second == id; });
    if (kind == FileKind::kRegular && !has_other_name) Bytes().swap(disk_->change(id).data);
    return Status::ok();
  }

  std::shared_ptr<MemoryDisk> disk_;
};

}  // namespace

std::unique_ptr<Store> open_memory_store(std::shared_ptr<MemoryDisk> disk) {
  return std::make_unique<MemoryStore>(std::move(disk));
}

}  // namespace stratalog
