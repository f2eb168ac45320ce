// SPDX-License-Identifier: Apache-2.0
// Intersection, its size, and difference against the standard algorithms, for all forms of sets.
#include "relation/set_algebra.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>

namespace stratalog {
namespace {

std::vector<Cell> some_cells(std::mt19937_64& random, std::size_t count, Cell from, Cell span) {
  std::set<Cell> cells;
  while (cells.size() < count) cells.insert(from + static_cast<Cell>(random() % span));
  return {cells.begin(), cells.end()};
}

TEST(SetAlgebra, AgreesWithTheStandardAlgorithmsForAllForms) {
  std::mt19937_64 random(7);
  std::set<IntSet::Form> seen;
  for (int round = 0; round < 400; ++round) {
    std::vector<std::vector<Cell>> cells;
    std::vector<IntSet> sets(2);
    for (IntSet& set : sets) {
      // From inside the object over sparse arrays to dense bitmaps, apart or overlapping.
      const auto count = static_cast<std::size_t>(1) << (random() % 9);
      const auto from = static_cast<Cell>((random() % 3) * 100);
      const auto span = static_cast<Cell>(count * (random() % 2 == 0 ? 2 : 300));
      cells.push_back(some_cells(random, count - (random() % 2), from, span));
      set.assign_sorted(cells.back());
      seen.insert(set.form());
    }
    std::vector<Cell> common;
    std::vector<Cell> rest;
    std::ranges::set_intersection(cells[0], cells[1], std::back_inserter(common));
    std::ranges::set_difference(cells[0], cells[1], std::back_inserter(rest));
    std::vector<Cell> found;
    intersect_sets(sets[0], sets[1], found);
    EXPECT_EQ(found, common);
    EXPECT_EQ(count_common(sets[0], sets[1]), common.size());
    found.clear();
    subtract_sets(sets[0], sets[1], found);
    EXPECT_EQ(found, rest);
  }
  EXPECT_EQ(seen.size(), 3U);
}

TEST(SetAlgebra, AppendsToWhatIsThere) {
  IntSet one;
  one.assign_sorted(std::vector<Cell>{1, 2, 3});
  std::vector<Cell> cells{9};
  intersect_sets(one, one, cells);
  subtract_sets(one, IntSet(), cells);
  EXPECT_EQ(cells, (std::vector<Cell>{9, 1, 2, 3, 1, 2, 3}));
}

}  // namespace
}  // namespace stratalog
