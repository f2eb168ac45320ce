// SPDX-License-Identifier: Apache-2.0
// Ranks of cells: of all that are close, wherever they begin; none of those that are not there.
#include "relation/ranked_cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace stratalog {
namespace {

std::vector<Cell> random_cells(std::mt19937_64& random, std::size_t count, Cell first,
                               std::uint64_t range) {
  std::set<Cell> cells;
  while (cells.size() < count) cells.insert(static_cast<Cell>(first + (random() % range)));
  return {cells.begin(), cells.end()};
}

RankedCells ranked(const std::vector<Cell>& cells) {
  RankedCells all;
  all.assign(static_cast<std::uint32_t>(cells.size()),
             [&](std::uint32_t rank) { return cells[rank]; });
  return all;
}

void expect_ranks(const RankedCells& all, const std::vector<Cell>& cells, std::size_t taken) {
  ASSERT_EQ(all.size(), taken);
  for (std::uint32_t rank = 0; rank < cells.size(); ++rank) {
    ASSERT_EQ(all.find(cells[rank]), rank < taken ? rank : RankedCells::kAbsent);
    if (rank < taken) {
      ASSERT_TRUE(all.reaches(cells[rank]));
      all.prefetch(cells[rank]);
    }
    for (const Cell near : {cells[rank] - 1, cells[rank] + 1, cells[rank] + 32}) {
      if (std::ranges::binary_search(cells, near)) continue;
      ASSERT_EQ(all.find(near), RankedCells::kAbsent) << near;
    }
  }
  for (const Cell far : {Cell{0}, Cell{1} << 31, std::numeric_limits<Cell>::max()}) {
    if (std::ranges::binary_search(cells, far)) continue;
    ASSERT_EQ(all.find(far), RankedCells::kAbsent);
  }
}

TEST(RankedCells, AreFoundWhereverTheyBegin) {
  std::mt19937_64 random(7);
  for (const std::size_t count : {1U, 2U, 31U, 32U, 33U, 5000U})
    for (const std::uint64_t spread : {1U, 2U, 20U})
      for (const Cell first : {0U, 1U, 31U, 1U << 30, ~0U - (20U * 5000U)}) {
        const std::vector<Cell> cells = random_cells(random, count, first, count * spread);
        ASSERT_NO_FATAL_FAILURE(expect_ranks(ranked(cells), cells, count));
      }
}

TEST(RankedCells, ThoseFarAwayAreLeft) {
  std::mt19937_64 random(8);
  std::vector<Cell> cells = random_cells(random, 1000, 500, 3000);
  cells.push_back(2'000'000);
  cells.push_back(3'000'000'000);
  ASSERT_NO_FATAL_FAILURE(expect_ranks(ranked(cells), cells, 1000));
  // Where nearly all are far from the first, that one is found alone.
  cells = random_cells(random, 1000, 3'000'000'000, 3000);
  cells.insert(cells.begin(), 7);
  ASSERT_NO_FATAL_FAILURE(expect_ranks(ranked(cells), cells, 1));
  EXPECT_EQ(ranked({}).size(), 0U);
  EXPECT_EQ(ranked({}).find(0), RankedCells::kAbsent);
}

TEST(RankedCells, TakeEightBytesACellAtMost) {
  std::mt19937_64 random(9);
  for (const std::uint64_t spread : {1U, 4U, 31U}) {
    const std::vector<Cell> cells = random_cells(random, 10'000, 1 << 20, 10'000 * spread);
    EXPECT_LE(ranked(cells).heap_bytes(), 8 * cells.size() + 16);
    EXPECT_LE(ranked(cells).heap_bytes(), 10'000 * spread / 4 + 16);
  }
}

}  // namespace
}  // namespace stratalog
