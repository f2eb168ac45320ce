// SPDX-License-Identifier: Apache-2.0
// Pivot blocks: how the pivot values (lanes) of a decomposable recursion are cut into blocks of bit
// rows and dealt to ranks. Blocks never interact, so a rank needs at least one, and wide blocks
// amortise the walk over the graph. Pure.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace stratalog {

struct PivotBlockOptions {
  // The widest bit row of a block, in 64-bit words; a power of two. 8 words are one cache line.
  std::uint32_t max_words_per_row = 8;
  // Narrow the rows until each rank has so many blocks to balance with.
  std::uint32_t blocks_per_rank = 4;
};

struct PivotBlocks {
  std::uint32_t words_per_row = 1;  // 64-bit words of one bit row
  std::uint32_t lanes_per_block = 64;  // <= 64 * words_per_row
  std::uint64_t lanes = 0;
  std::uint64_t blocks = 0;  // ceil(lanes / lanes_per_block)
  int ranks = 1;

  int owner(std::uint64_t block) const {
    return static_cast<int>(block % static_cast<std::uint64_t>(ranks));
  }
  std::uint64_t first_lane(std::uint64_t block) const { return block * lanes_per_block; }
  // Lanes of one block; the last block may be smaller.
  std::uint64_t lanes_in(std::uint64_t block) const {
    const std::uint64_t left = lanes - first_lane(block);
    return left < lanes_per_block ? left : lanes_per_block;
  }
  std::uint64_t block_of(std::uint64_t lane) const { return lane / lanes_per_block; }
  // How many blocks a rank owns: rank, rank + ranks, rank + 2 ranks, ...
  std::uint64_t blocks_of(int rank) const {
    const auto r = static_cast<std::uint64_t>(rank);
    return blocks <= r ? 0 : ((blocks - r - 1) / static_cast<std::uint64_t>(ranks)) + 1;
  }
};

// The widest rows that still give every rank blocks_per_rank blocks; else one-word rows if that
// gives every rank a block; else blocks of lanes / ranks lanes, so that every rank has one as long
// as there are as many lanes as ranks. O(log max_words). InvalidArgument: no ranks, or a width that
// is no power of two.
Result<PivotBlocks> plan_pivot_blocks(std::uint64_t lanes, int ranks,
                                      const PivotBlockOptions& options = {});

}  // namespace stratalog
