// SPDX-License-Identifier: Apache-2.0
// In what order blocks of shards that take turns in a file are read. A block that begins near the
// end of one of its shard's extents goes on in the next one, behind the extents of other shards.
// Read in one go it would be a leap there and another one back, after each of which the kernel
// begins anew to find out that it should read ahead. So the file is read front to back, the
// beginnings of such blocks are held until their rest comes, and a block is complete with its last
// piece. What lies between two pieces and is short (the rest of a block that another reader begins,
// a footer) is read and dropped, as it would be a leap, too. Pure; O(pieces log pieces).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "place/read_ranges.h"

namespace stratalog {

// A block's pieces in its file, in the order of the block; at least one, none of them empty.
using BlockPieces = std::vector<ShardPlace::Piece>;

// As long as this, it takes less time to read than the kernel loses by a leap.
inline constexpr std::uint64_t kMostReadOver = std::uint64_t{512} << 10;

struct TurnOrder {
  struct Read {
    std::size_t block = 0;
    std::uint64_t within = 0;  // where in the block the piece begins
    ShardPlace::Piece piece;
    std::uint64_t read_over = 0;  // so many bytes before the piece are read and dropped
  };
  std::vector<Read> reads;
  std::vector<std::size_t> blocks;  // as they get complete
  std::vector<std::size_t> reads_until;  // for each of `blocks`, how many reads complete it
};

// All pieces of `blocks`, those of one block in its order, and in ascending order but for blocks
// that are read in one go, leaps and all: where more than `most_held` bytes would otherwise wait
// for their rest, and where the pieces of a block do not lie in its order.
TurnOrder plan_turns(std::span<const BlockPieces> blocks, std::uint64_t most_held);

}  // namespace stratalog
