// SPDX-License-Identifier: Apache-2.0
// Sets that are added once however often they come: passed over only while they are accumulated.
#include "relation/set_accumulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <vector>

namespace stratalog {
namespace {

std::vector<Cell> taken(SetAccumulator& scratch) {
  static const IntSet kNothing{};
  std::vector<Cell> cells;
  scratch.take_new(kNothing, cells);
  return cells;
}

// More sets than are known at a time, of all sizes and forms, any of them again and again.
TEST(SetAccumulator, SetsThatComeAgainAreThereOnce) {
  std::mt19937_64 random(5);
  std::deque<IntSet> sets;
  for (int i = 0; i < 2000; ++i) {
    std::set<Cell> cells;
    const std::uint64_t range = i % 3 == 0 ? 300 : 1'000'000;
    for (std::uint64_t n = 1 + (random() % 40); n > 0; --n)
      cells.insert(static_cast<Cell>(random() % range));
    const std::vector<Cell> sorted(cells.begin(), cells.end());
    sets.emplace_back().assign_sorted(sorted);
  }
  SetAccumulator scratch;
  for (int filling = 0; filling < 30; ++filling) {
    std::set<Cell> expected;
    for (int n = 0; n < 3000; ++n) {
      const IntSet& set = sets[random() % (filling % 2 == 0 ? sets.size() : 20)];
      set.walk([&](Cell cell) { expected.insert(cell); });
      scratch.add_once(set);
    }
    if (filling % 3 == 0) {
      IntSet all;
      scratch.take_all(all);
      std::vector<Cell> found;
      all.walk([&](Cell cell) { found.push_back(cell); });
      ASSERT_TRUE(std::ranges::equal(found, expected));
    } else {
      ASSERT_TRUE(std::ranges::equal(taken(scratch), expected));
    }
  }
}

// A set that has changed since is another one.
TEST(SetAccumulator, WhatWasTakenIsForgotten) {
  IntSet set;
  const std::vector<Cell> first{1, 2, 3, 4, 5, 6, 7, 8, 9};
  set.assign_sorted(first);
  SetAccumulator scratch;
  scratch.add_once(set);
  scratch.add_once(set);
  EXPECT_EQ(taken(scratch), first);
  const std::vector<Cell> second{11, 12, 13, 14, 15, 16, 17, 18, 19};
  set.assign_sorted(second);
  scratch.add_once(set);
  EXPECT_EQ(taken(scratch), second);
  EXPECT_TRUE(taken(scratch).empty());
}

}  // namespace
}  // namespace stratalog
