// SPDX-License-Identifier: Apache-2.0
// What a block may name of the sets before it: the last few, and never one of the block before.
#include "encode/recent_sets.h"

#include <gtest/gtest.h>

namespace stratalog {
namespace {

TEST(RecentSets, FindsTheLastFewAndNothingElse) {
  RecentSets<int, 4> sets;
  for (int block = 0; block < 3; ++block) {
    EXPECT_EQ(sets.find(1), nullptr);
    for (int i = 0; i < 11; ++i) {
      sets.add() = block * 100 + i;
      for (int back = 1; back <= 6; ++back) {
        const int* found = sets.find(static_cast<std::uint64_t>(back));
        const bool is_there = back <= 4 && back <= i + 1;
        ASSERT_EQ(found != nullptr, is_there) << i << " " << back;
        if (is_there) EXPECT_EQ(*found, block * 100 + i + 1 - back);
      }
      EXPECT_EQ(sets.find(0), nullptr);
      EXPECT_EQ(sets.find(~std::uint64_t{0}), nullptr);
    }
    sets.clear();
  }
}

}  // namespace
}  // namespace stratalog
