// SPDX-License-Identifier: Apache-2.0
// Searches and unions of short ascending runs are those of the standard library.
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

}  // namespace
}  // namespace stratalog
