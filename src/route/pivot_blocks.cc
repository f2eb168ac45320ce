// SPDX-License-Identifier: Apache-2.0
// The choice of the width of pivot blocks.
#include "route/pivot_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace stratalog {
namespace {

std::uint64_t blocks_for(std::uint64_t lanes, std::uint64_t lanes_per_block) {
  return lanes == 0 ? 0 : ((lanes - 1) / lanes_per_block) + 1;
}

}  // namespace

Result<PivotBlocks> plan_pivot_blocks(std::uint64_t lanes, int ranks,
                                      const PivotBlockOptions& options) {
  constexpr std::uint32_t kWidest = 1U << 16U;
  if (ranks < 1 || !std::has_single_bit(options.max_words_per_row) ||
      options.max_words_per_row > kWidest)
    return Status::invalid_argument(
        fmt::format("plan_pivot_blocks needs ranks and a width that is a power of two up to {}, "
                    "not {} and {}",
                    kWidest, ranks, options.max_words_per_row));
  const auto ranks_64 = static_cast<std::uint64_t>(ranks);
  const std::uint64_t wanted = ranks_64 * std::max(1U, options.blocks_per_rank);
  PivotBlocks plan{.lanes = lanes, .ranks = ranks};
  plan.words_per_row = options.max_words_per_row;
  while (plan.words_per_row > 1 && blocks_for(lanes, 64ULL * plan.words_per_row) < wanted)
    plan.words_per_row /= 2;
  plan.lanes_per_block = 64 * plan.words_per_row;
  if (blocks_for(lanes, plan.lanes_per_block) < ranks_64)
    plan.lanes_per_block =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(lanes / ranks_64, 1, 64));
  plan.blocks = blocks_for(lanes, plan.lanes_per_block);
  return plan;
}

}  // namespace stratalog
