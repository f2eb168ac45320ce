// SPDX-License-Identifier: Apache-2.0
// Crash images: what a disk may hold after power fails at some point of an operation log. The model
// is the weakest that POSIX allows: until the file is fsynced by the rank that wrote it, each write
// may be there, missing or torn; until the directory is fsynced, each creation, renaming and
// removal may have happened or not, in any combination and independently of the files' data. For
// tests. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "write/memory_store.h"
#include "write/operation_log.h"

namespace stratalog {

// The operations of `log` that can float at the end of it: those that no fsync has pinned. Indices,
// ascending.
std::vector<std::size_t> floating_operations(std::span<const Operation> log);

enum class TearKind : std::uint8_t {
  kNone,
  kPrefix,  // only the first `keep` bytes were written
  kZeroTail,  // and the rest of the write reads as zeros
  kGarbageTail,  // and the rest of the write reads as garbage
  kHalfRename,  // a renaming that left the old name in place as well
};

struct Tear {
  std::size_t operation = 0;
  TearKind kind = TearKind::kNone;
  std::uint64_t keep = 0;
};

// The disk after `log` on top of `start`, without the operations in `dropped` (ascending, floating
// ones), and with `tear` applied to one of those that are left.
std::shared_ptr<MemoryDisk> crash_image(const MemoryDisk& start, std::span<const Operation> log,
                                        std::span<const std::size_t> dropped, const Tear& tear);

// Another order in which the ranks could have done what they did: a random merge of the ranks' own
// sequences that keeps what collectives order. The same seed gives the same order.
std::vector<Operation> reorder_ranks(std::span<const Operation> log, int ranks, std::uint64_t seed);

}  // namespace stratalog
