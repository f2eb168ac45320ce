// SPDX-License-Identifier: Apache-2.0
// plan_pivot_blocks: every lane once, every rank busy where there are enough lanes, wide rows where
// that costs nothing.
#include "route/pivot_blocks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

namespace stratalog {
namespace {

TEST(PivotBlocks, WideRowsForFewRanksNarrowForMany) {
  const auto words = [](std::uint64_t lanes, int ranks) {
    return plan_pivot_blocks(lanes, ranks).value().words_per_row;
  };
  EXPECT_EQ(words(143437, 1), 8U);
  EXPECT_EQ(words(143437, 64), 8U);
  EXPECT_EQ(words(143437, 128), 4U);
  EXPECT_EQ(words(143437, 512), 1U);
  EXPECT_EQ(words(0, 3), 1U);
  const PivotBlocks crowd = plan_pivot_blocks(143437, 16384).value();
  EXPECT_EQ(crowd.lanes_per_block, 8U);
  EXPECT_EQ(crowd.words_per_row, 1U);
}

TEST(PivotBlocks, EveryLaneOnceAndEveryRankBusy) {
  for (const int ranks : {1, 2, 3, 7, 64, 1000, 4096, 16384}) {
    for (const std::uint64_t lanes :
         {0ULL, 1ULL, 63ULL, 64ULL, 65ULL, 10000ULL, 143437ULL, 5000000ULL}) {
      SCOPED_TRACE(fmt::format("{} lanes on {} ranks", lanes, ranks));
      const PivotBlocks plan = plan_pivot_blocks(lanes, ranks).value();
      EXPECT_LE(plan.lanes_per_block, 64 * plan.words_per_row);
      std::uint64_t next = 0;
      std::vector<std::uint64_t> owned(static_cast<std::size_t>(ranks), 0);
      for (std::uint64_t block = 0; block < plan.blocks; ++block) {
        ASSERT_EQ(plan.first_lane(block), next);
        ASSERT_GT(plan.lanes_in(block), 0U);
        ASSERT_EQ(plan.block_of(next), block);
        next += plan.lanes_in(block);
        ASSERT_EQ(plan.block_of(next - 1), block);
        ++owned[static_cast<std::size_t>(plan.owner(block))];
      }
      EXPECT_EQ(next, lanes);
      for (int r = 0; r < ranks; ++r) {
        ASSERT_EQ(owned[static_cast<std::size_t>(r)], plan.blocks_of(r));
        ASSERT_TRUE(lanes < static_cast<std::uint64_t>(ranks) || plan.blocks_of(r) >= 1);
      }
    }
  }
}

TEST(PivotBlocks, RefusesWidthsThatAreNoPowerOfTwo) {
  EXPECT_EQ(plan_pivot_blocks(10, 0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(plan_pivot_blocks(10, 1, {.max_words_per_row = 3}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(plan_pivot_blocks(10, 1, {.max_words_per_row = 0}).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace stratalog
