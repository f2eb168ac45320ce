// SPDX-License-Identifier: Apache-2.0
// FileSystemFacts: what the policy may know about the file system under a checkpoint: its kind and
// the sizes that writers should respect. Gathered by Store::file_system(); values only, so that
// plans for other machines can be made anywhere. Pure; local.
#pragma once

#include <cstdint>
#include <string>

namespace stratalog {

enum class FileSystemKind : std::uint8_t {
  kUnknown,
  kLocal,  // ext4, xfs, btrfs, ...: one kernel and one page cache for all ranks
  kMemory,  // tmpfs
  kNetwork,  // nfs, cifs, fuse: clients cache pages on their own
  kParallel,  // gpfs, beegfs, ceph: several servers, locks on ranges
  kLustre,  // striped over servers, locks on stripes, settable striping
};

struct FileSystemFacts {
  FileSystemKind kind = FileSystemKind::kUnknown;
  std::string name = "unknown";  // "ext4"
  std::uint64_t block_bytes =
      4096;  // unit in which files grow and pages are cached; a power of two
  std::uint64_t stripe_bytes = 0;  // consecutive bytes on one server; 0: unknown or none
  std::uint32_t stripe_count = 0;  // servers of a new file; 0: unknown or none
};

// From statfs(2): f_type and f_bsize. `preferred_bytes` (st_blksize) is the stripe on file systems
// that have stripes.
FileSystemFacts facts_of_statfs(std::uint64_t type, std::uint64_t block_bytes,
                                std::uint64_t preferred_bytes);

// Whether two ranks that write the same block fight over it (a lock between machines, or a page
// that each caches for itself) instead of merely sharing a page of one kernel.
bool blocks_are_contended(FileSystemKind kind);

}  // namespace stratalog
