// SPDX-License-Identifier: Apache-2.0
// Pivot spaces and the dealing of blocks.
#include "datalog/pivot/pivot_space.h"

#include <gtest/gtest.h>

namespace stratalog {
namespace {

TEST(PivotSpace, DenseLanesAreShiftedCells) {
  const Result<PivotSpace> space = PivotSpace::dense(100, 7);
  ASSERT_TRUE(space.is_ok());
  EXPECT_EQ(space.value().lanes(), 7U);
  EXPECT_EQ(space.value().cell_of(3), 103U);
  EXPECT_EQ(space.value().lane_of(100), 0U);
  EXPECT_EQ(space.value().lane_of(106), 6U);
  EXPECT_EQ(space.value().lane_of(107), 7U);
  EXPECT_EQ(space.value().lane_of(99), 7U);
  EXPECT_FALSE(PivotSpace::dense(0xFFFFFFFFU, 2).is_ok());
  EXPECT_TRUE(PivotSpace::dense(0xFFFFFFFFU, 1).is_ok());
}

TEST(PivotSpace, SparseLanesAreRanksInTheDictionary) {
  const Result<PivotSpace> space = PivotSpace::sparse({5, 9, 4000000000U});
  ASSERT_TRUE(space.is_ok());
  EXPECT_EQ(space.value().cell_of(2), 4000000000U);
  EXPECT_EQ(space.value().lane_of(9), 1U);
  EXPECT_EQ(space.value().lane_of(6), 3U);
  EXPECT_EQ(space.value().lane_of(0xFFFFFFFFU), 3U);
  EXPECT_EQ(PivotSpace::sparse({5, 5}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(PivotSpace::sparse({6, 5}).status().code(), StatusCode::kInvalidArgument);
}

TEST(BlockOwnership, DealsEachBlockOnce) {
  for (std::uint32_t ranks = 1; ranks < 9; ++ranks)
    for (std::uint32_t blocks = 0; blocks < 20; ++blocks) {
      std::uint32_t owned = 0;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const BlockOwnership ownership{.rank = rank, .ranks = ranks};
        std::uint32_t counted = 0;
        for (std::uint32_t block = 0; block < blocks; ++block) counted += ownership.owns(block);
        EXPECT_EQ(ownership.owned_of(blocks), counted);
        owned += counted;
      }
      EXPECT_EQ(owned, blocks);
    }
}

}  // namespace
}  // namespace stratalog
