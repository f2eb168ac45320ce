// SPDX-License-Identifier: Apache-2.0
// A file system in memory, for tests and simulation: MemoryDisk holds the files, open_memory_store
// gives a Store on it. Many stores (virtual ranks) may share a disk; calls are serialised. It keeps
// only the current content; what survives a crash is the business of write/crash_image.h, which
// builds disks from a log of operations. Local.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "write/store.h"

namespace stratalog {

using NodeId = std::uint32_t;

class MemoryDisk {
 public:
  static constexpr NodeId kRoot = 0;

  MemoryDisk();

  // Entry-level access, used by the stores and by the builder of crash images. Not locked: see
  // mutex().
  struct Node {
    FileKind kind = FileKind::kRegular;
    Bytes data;
    std::map<std::string, NodeId> entries;
    mutable std::optional<std::uint64_t> data_hash = std::nullopt;  // once somebody asked
  };
  std::mutex& mutex() { return mutex_; }
  NodeId add_node(FileKind kind);
  const Node& node(NodeId id) const { return *nodes_[id]; }
  // To change it; copies of the disk do not see that. Good until the next clone() or fingerprint().
  Node& change(NodeId id);
  NodeId node_count() const { return static_cast<NodeId>(nodes_.size()); }
  // The node at a path ("." is the root), or NotFound.
  Result<NodeId> find(const std::string& path) const;
  // A hash of all names and contents that can be reached, for counting distinct states.
  std::uint64_t fingerprint() const;
  // A copy of everything, which shares what neither of the two changes.
  std::shared_ptr<MemoryDisk> clone() const;

  // Bytes that files may hold together; a write beyond fails with NoSpace.
  std::uint64_t capacity_bytes = ~std::uint64_t{0};
  // What stores on this disk claim to lie on.
  FileSystemFacts file_system = {
      .kind = FileSystemKind::kMemory, .name = "memory", .block_bytes = 4096};
  std::uint64_t used_bytes() const;
  // Feeds random_bytes() of all stores on the disk.
  std::uint64_t random_state = 1;

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Node>> nodes_;
};

std::unique_ptr<Store> open_memory_store(std::shared_ptr<MemoryDisk> disk);

}  // namespace stratalog
