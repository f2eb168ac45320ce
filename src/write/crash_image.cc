// SPDX-License-Identifier: Apache-2.0
#include "write/crash_image.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace stratalog {
namespace {

bool is_entry_operation(OperationKind kind) {
  return kind == OperationKind::kCreate || kind == OperationKind::kMakeDirectory ||
         kind == OperationKind::kRename || kind == OperationKind::kRemove;
}

void apply_write(MemoryDisk& disk, const Operation& operation, const Tear* tear) {
  Bytes& data = disk.change(operation.node).data;
  std::uint64_t length = operation.data.size();
  const std::uint64_t kept = tear == nullptr ? length : std::min<std::uint64_t>(tear->keep, length);
  if (tear != nullptr && tear->kind == TearKind::kPrefix) length = kept;
  if (length == 0) return;
  if (data.size() < operation.offset + length) data.resize(operation.offset + length);
  if (kept != 0) std::memcpy(data.data() + operation.offset, operation.data.data(), kept);
  for (std::uint64_t i = kept; i < length; ++i)
    data[operation.offset + i] =
        tear->kind == TearKind::kZeroTail ? std::byte{0} : static_cast<std::byte>(0xA5 + i);
}

void apply(MemoryDisk& disk, const Operation& operation, const Tear* tear) {
  switch (operation.kind) {
    case OperationKind::kCreate:
    case OperationKind::kMakeDirectory:
      disk.change(operation.directory).entries[operation.name] = operation.node;
      break;
    case OperationKind::kWrite:
      apply_write(disk, operation, tear);
      break;
    case OperationKind::kRename:
      disk.change(operation.to_directory).entries[operation.to_name] = operation.node;
      if (tear == nullptr || tear->kind != TearKind::kHalfRename)
        disk.change(operation.directory).entries.erase(operation.name);
      break;
    case OperationKind::kRemove:
      disk.change(operation.directory).entries.erase(operation.name);
      break;
    case OperationKind::kSyncFile:
    case OperationKind::kSyncDirectory:
    case OperationKind::kMeet:
    case OperationKind::kMark:
      break;
  }
}

}  // namespace

std::vector<std::size_t> floating_operations(std::span<const Operation> log) {
  std::vector<std::size_t> floating;
  std::set<std::pair<NodeId, int>> synced_files;  // by whom, from here to the end of the log
  std::set<NodeId> synced_directories;
  for (std::size_t i = log.size(); i-- > 0;) {
    const Operation& operation = log[i];
    if (operation.kind == OperationKind::kSyncFile)
      synced_files.emplace(operation.node, operation.rank);
    if (operation.kind == OperationKind::kSyncDirectory) synced_directories.insert(operation.node);
    if (operation.kind == OperationKind::kWrite &&
        synced_files.count({operation.node, operation.rank}) == 0)
      floating.push_back(i);
    if (is_entry_operation(operation.kind) && synced_directories.count(operation.directory) == 0)
      floating.push_back(i);
  }
  std::reverse(floating.begin(), floating.end());
  return floating;
}

std::shared_ptr<MemoryDisk> crash_image(const MemoryDisk& start, std::span<const Operation> log,
                                        std::span<const std::size_t> dropped, const Tear& tear) {
  auto disk = start.clone();
  NodeId nodes = disk->node_count();
  for (const Operation& operation : log)
    if (operation.kind == OperationKind::kCreate || operation.kind == OperationKind::kMakeDirectory)
      nodes = std::max(nodes, operation.node + 1);
  while (disk->node_count() < nodes) disk->add_node(FileKind::kRegular);
  for (const Operation& operation : log)
    if (operation.kind == OperationKind::kMakeDirectory)
      disk->change(operation.node).kind = FileKind::kDirectory;
  auto next_dropped = dropped.begin();
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (next_dropped != dropped.end() && *next_dropped == i) {
      ++next_dropped;
      continue;
    }
    apply(*disk, log[i], tear.kind != TearKind::kNone && tear.operation == i ? &tear : nullptr);
  }
  return disk;
}

std::vector<Operation> reorder_ranks(std::span<const Operation> log, int ranks,
                                     std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<std::vector<const Operation*>> own(count);
  for (const Operation& operation : log)
    own[static_cast<std::size_t>(operation.rank)].push_back(&operation);
  std::vector<std::size_t> at(count, 0);
  std::vector<std::uint64_t> meetings(count, 0);  // how many each rank has come to
  // Whether rank r, standing before meeting number m of this kind, may leave it.
  const auto may_pass = [&](std::size_t r, const Operation& meet) {
    if (meet.name == "from root") return r == 0 || meetings[0] > meet.offset;
    if (meet.name == "to root" && r != 0) return true;
    return std::all_of(meetings.begin(), meetings.end(),
                       [&](std::uint64_t come) { return come > meet.offset; });
  };
  // A node exists only after its creation; a file opened by another rank needs it first.
  std::set<NodeId> waiting;
  for (const Operation& operation : log)
    if (operation.kind == OperationKind::kCreate || operation.kind == OperationKind::kMakeDirectory)
      waiting.insert(operation.node);
  std::vector<Operation> merged;
  merged.reserve(log.size());
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  while (merged.size() < log.size()) {
    std::vector<std::size_t> ready;
    for (std::size_t r = 0; r < count; ++r) {
      if (at[r] == own[r].size()) continue;
      const Operation& next = *own[r][at[r]];
      if (next.kind == OperationKind::kMeet) {
        meetings[r] = std::max(meetings[r], next.offset + 1);
        continue;
      }
      if (next.kind == OperationKind::kWrite && waiting.count(next.node) != 0) continue;
      ready.push_back(r);
    }
    for (std::size_t r = 0; r < count; ++r)
      if (at[r] < own[r].size() && own[r][at[r]]->kind == OperationKind::kMeet &&
          may_pass(r, *own[r][at[r]]))
        ready.push_back(r);
    if (ready.empty()) return {};  // not a log of ranks that met
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::size_t r = ready[(state >> 33) % ready.size()];
    const Operation& chosen = *own[r][at[r]++];
    if (chosen.kind == OperationKind::kCreate || chosen.kind == OperationKind::kMakeDirectory)
      waiting.erase(chosen.node);
    merged.push_back(chosen);
  }
  return merged;
}

}  // namespace stratalog
