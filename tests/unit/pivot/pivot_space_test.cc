// SPDX-License-Identifier: Apache-2.0
// Pivot spaces and the dealing of blocks.
#include "datalog/pivot/pivot_space.h"

#include <gtest/gtest.h>

#include <vector>

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

// Close together: lanes are found in a table; far apart: by search.
TEST(PivotSpace, OrderedLanesAscendWithinTheirBlock) {
  for (const Cell stride : {1U, 1000U}) {
    std::vector<Cell> cells;
    for (const Cell i : {9U, 7U, 8U, 1U, 0U, 2U, 6U, 5U}) cells.push_back(10 + (i * stride));
    const Result<PivotSpace> made = PivotSpace::ordered(cells, 3);
    ASSERT_TRUE(made.is_ok());
    const PivotSpace& space = made.value();
    EXPECT_FALSE(space.ascends());
    EXPECT_FALSE(space.is_dense());
    ASSERT_EQ(space.lanes(), 8U);
    std::vector<Cell> lanes;
    for (LaneId lane = 0; lane < 8; ++lane) {
      lanes.push_back((space.cell_of(lane) - 10) / stride);
      EXPECT_EQ(space.lane_of(space.cell_of(lane)), lane);
    }
    EXPECT_EQ(lanes, (std::vector<Cell>{7, 8, 9, 0, 1, 2, 5, 6}));
    for (const Cell none : {0U, 9U, 10 + (3 * stride), 10 + (10 * stride), 0xFFFFFFFFU})
      EXPECT_EQ(space.lane_of(none), 8U) << none;
  }
  EXPECT_TRUE(PivotSpace::ordered({5, 6, 1, 2}, 4).value().ascends()) << "one block";
  EXPECT_EQ(PivotSpace::ordered({}, 4).value().lanes(), 0U);
}

TEST(PivotSpace, NoCellHasTwoLanes) {
  for (const Cell far : {8U, 4000000000U}) {
    EXPECT_EQ(PivotSpace::ordered({7, far, 5, 7}, 2).status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(PivotSpace::ordered({far, 7, 7, 5}, 4).status().code(), StatusCode::kInvalidArgument);
  }
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
