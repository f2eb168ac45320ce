// SPDX-License-Identifier: Apache-2.0
#include "policy/file_system_facts.h"

#include <array>
#include <bit>
#include <string_view>

namespace stratalog {
namespace {

struct Magic {
  std::uint64_t type;
  std::string_view name;
  FileSystemKind kind;
};

// statfs(2), linux/magic.h, and the vendors' headers for the last four.
constexpr std::array kMagic = {
    Magic{0xEF53, "ext4", FileSystemKind::kLocal},
    Magic{0x58465342, "xfs", FileSystemKind::kLocal},
    Magic{0x9123683E, "btrfs", FileSystemKind::kLocal},
    Magic{0x2FC12FC1, "zfs", FileSystemKind::kLocal},
    Magic{0xF2F52010, "f2fs", FileSystemKind::kLocal},
    Magic{0x794C7630, "overlay", FileSystemKind::kLocal},
    Magic{0x01021994, "tmpfs", FileSystemKind::kMemory},
    Magic{0x858458F6, "ramfs", FileSystemKind::kMemory},
    Magic{0x6969, "nfs", FileSystemKind::kNetwork},
    Magic{0xFF534D42, "cifs", FileSystemKind::kNetwork},
    Magic{0xFE534D42, "smb2", FileSystemKind::kNetwork},
    Magic{0x01021997, "9p", FileSystemKind::kNetwork},
    Magic{0x65735546, "fuse", FileSystemKind::kNetwork},
    Magic{0x00C36400, "ceph", FileSystemKind::kParallel},
    Magic{0x47504653, "gpfs", FileSystemKind::kParallel},
    Magic{0x19830326, "beegfs", FileSystemKind::kParallel},
    Magic{0x0BD00BD0, "lustre", FileSystemKind::kLustre},
};

}  // namespace

FileSystemFacts facts_of_statfs(std::uint64_t type, std::uint64_t block_bytes,
                                std::uint64_t preferred_bytes) {
  FileSystemFacts facts;
  for (const Magic& magic : kMagic) {
    if (magic.type != (type & 0xFFFFFFFFU)) continue;
    facts.kind = magic.kind;
    facts.name = magic.name;
  }
  if (block_bytes >= 512 && block_bytes <= (1U << 30))
    facts.block_bytes = std::bit_ceil(block_bytes);
  const bool striped =
      facts.kind == FileSystemKind::kLustre || facts.kind == FileSystemKind::kParallel;
  if (striped && preferred_bytes > facts.block_bytes && preferred_bytes <= (1U << 30))
    facts.stripe_bytes = std::bit_ceil(preferred_bytes);
  return facts;
}

bool blocks_are_contended(FileSystemKind kind) {
  return kind != FileSystemKind::kLocal && kind != FileSystemKind::kMemory;
}

}  // namespace stratalog
