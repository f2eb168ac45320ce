// SPDX-License-Identifier: Apache-2.0
// Searches, unions and differences of ascending runs are those of the standard library.
#include "relation/sorted_cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace stratalog {
namespace {

std::vector<Cell> random_run(std::mt19937_64& random) {
  const std::uint64_t range = 1 + random() % 90;
  std::set<Cell> cells;
  for (std::uint64_t n = random() % 40; n > 0; --n)
    cells.insert(static_cast<Cell>(random() % 16 == 0 ? random() : random() % range));
  return {cells.begin(), cells.end()};
}

TEST(SortedCells, CountsWhatIsBelow) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<Cell> run = random_run(random);
    std::vector<Cell> asked{0, 0xFFFFFFFFU, static_cast<Cell>(random())};
    for (const Cell cell : run) asked.insert(asked.end(), {cell - 1, cell, cell + 1});
    for (const Cell cell : asked) {
      const auto below = std::ranges::lower_bound(run, cell) - run.begin();
      ASSERT_EQ(count_below(run, cell), static_cast<std::size_t>(below));
      ASSERT_EQ(contains_sorted(run, cell), std::ranges::binary_search(run, cell));
    }
  }
}

TEST(SortedCells, UnitesWithoutRepetition) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; ++i) {
    const std::vector<Cell> a = random_run(random);
    const std::vector<Cell> b = random_run(random);
    std::vector<Cell> expected;
    std::ranges::set_union(a, b, std::back_inserter(expected));
    std::vector<Cell> found(a.size() + b.size());
    found.resize(unite_sorted(a, b, found.data()));
    ASSERT_EQ(found, expected);
  }
}

// Short ones and such that are searched, into a place of its own and over the first one.
TEST(SortedCells, SubtractsWhatIsInTheOther) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 5000; ++i) {
    const std::vector<Cell> a = random_run(random);
    std::vector<Cell> b = random_run(random);
    if (i % 4 == 0) {
      for (std::size_t n = random() % 700; n > 0; --n) b.push_back(static_cast<Cell>(2 * n));
      std::ranges::sort(b);
      b.erase(std::unique(b.begin(), b.end()), b.end());
    }
    std::vector<Cell> expected;
    std::ranges::set_difference(a, b, std::back_inserter(expected));
    std::vector<Cell> found(a.size());
    found.resize(subtract_sorted(a, b, found.data()));
    ASSERT_EQ(found, expected);
    found = a;
    found.resize(subtract_sorted(found, b, found.data()));
    ASSERT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace stratalog
