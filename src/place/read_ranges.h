// SPDX-License-Identifier: Apache-2.0
// Who reads what when a checkpoint is loaded on another number of ranks: all shards are laid end to
// end and cut into equal byte ranges, one per reader; a block belongs to the reader in whose range
// it begins. So each block has exactly one reader and nobody needs to ask. Pure; O(shards) per
// reader.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stratalog {

// Part of one shard: the blocks that begin at a shard offset in [begin, end).
struct ShardRange {
  std::size_t shard = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  friend bool operator==(const ShardRange&, const ShardRange&) = default;
};

// The ranges of `reader` out of `readers` (>= 1). Requires the sum of shard_bytes < 2^64.
std::vector<ShardRange> plan_read_ranges(std::span<const std::uint64_t> shard_bytes, int readers,
                                         int reader);

}  // namespace stratalog
