// SPDX-License-Identifier: Apache-2.0
// Who reads what when a checkpoint is loaded on another number of ranks: all shards are laid end to
// end and cut into equal byte ranges, one per reader; a block belongs to the reader in whose range
// it begins. So each block has exactly one reader and nobody needs to ask. Where the shards of a
// file take turns, the file itself is cut, so that each reader goes through one part of it from
// front to back, as the kernel reads ahead. Pure; O(shards), in file order O(extents), per reader.
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

// Where a shard lies: in one file, its bytes in these pieces, in the order of the shard.
struct ShardPlace {
  struct Piece {
    std::uint64_t offset = 0;  // in the file
    std::uint64_t bytes = 0;
  };
  std::size_t file = 0;
  std::vector<Piece> pieces;

  std::uint64_t bytes() const;
};

// Files whose pieces are smaller on average are read shard by shard: a reader needs the footer of
// each shard of which it has a piece.
inline constexpr std::uint64_t kTurnBytes = std::uint64_t{1} << 20;
// From here on one reader alone loses nothing by leaps: it goes shard by shard.
inline constexpr std::uint64_t kLongTurnBytes = std::uint64_t{16} << 20;

// As above, but cut along the files (in the order of their first shards) instead of along the
// shards, and ordered by place: one shard may come several times. Without a file in which shards
// take turns, the same as plan_read_ranges.
std::vector<ShardRange> plan_reads_in_place(std::span<const ShardPlace> shards, int readers,
                                            int reader);

}  // namespace stratalog
