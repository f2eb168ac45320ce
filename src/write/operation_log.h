// SPDX-License-Identifier: Apache-2.0
// OperationLog and RecordingStore: everything that changes a file system, as all ranks did it, in
// one order. Files and directories are numbered, so that a log can be replayed in part, after
// renames, and in other orders (see write/crash_image.h). Only operations that succeeded are
// logged. For tests. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "write/memory_store.h"
#include "write/store.h"

namespace stratalog {

enum class OperationKind : std::uint8_t {
  kCreate,  // entry `name` in `directory` for new file `node`
  kMakeDirectory,  // entry `name` in `directory` for new directory `node`
  kWrite,  // `data` at `offset` of `node`
  kSyncFile,  // fsync of `node` by `rank`
  kRename,  // entry `name` in `directory` becomes `to_name` in `to_directory`, for `node`
  kRemove,  // entry `name` in `directory` goes
  kSyncDirectory,  // fsync of directory `node`
  kMeet,  // rank reaches a collective; `offset` is its number, `name` its kind
  kMark,  // the test's own note in `name`
};

struct Operation {
  OperationKind kind = OperationKind::kMark;
  int rank = 0;
  NodeId node = 0;
  NodeId directory = 0;
  NodeId to_directory = 0;
  std::uint64_t offset = 0;
  std::string name;
  std::string to_name;
  Bytes data;
};

class OperationLog {
 public:
  // Starts from what `disk` holds; numbers are those of its nodes.
  explicit OperationLog(const MemoryDisk& disk);

  void mark(int rank, const std::string& text);
  void meet(int rank, std::uint64_t number, const std::string& collective);
  const std::vector<Operation>& operations() const { return operations_; }
  std::vector<Operation> take() { return std::move(operations_); }

 private:
  friend class RecordingStore;
  friend class RecordingFile;
  std::recursive_mutex mutex_;
  std::vector<Operation> operations_;
  std::map<std::string, NodeId> nodes_;  // by path
  NodeId next_node_ = 1;
};

// Passes calls on to `inner` and logs them as `rank`. `inner` and `log` outlive the result.
std::unique_ptr<Store> open_recording_store(Store& inner, OperationLog& log, int rank);

// A Comm that logs every collective, which is what orders the operations of different ranks.
// `inner` and `log` outlive the result.
std::unique_ptr<Comm> make_recording_comm(Comm& inner, OperationLog& log);

}  // namespace stratalog
