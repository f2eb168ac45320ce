// SPDX-License-Identifier: Apache-2.0
// Ranges of cells hold just the numbers that compare so, and parts of sets all that a range holds.
#include "datalog/evaluate/number_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "model/set_walk.h"
#include "unit/evaluate/compared_values.h"

namespace stratalog::datalog {
namespace {

std::int64_t value_of(Cell cell) { return static_cast<std::int64_t>(narrow_bits(cell)); }

const std::vector<Cell>& telling_cells() {
  static const std::vector<Cell> kCells{0,
                                        1,
                                        2,
                                        63,
                                        64,
                                        1000,
                                        kNegativeBase - 2,
                                        kNegativeBase - 1,
                                        kNegativeBase,
                                        kNegativeBase + 1,
                                        kNegativeBase + 70,
                                        kWideBase - 65,
                                        kWideBase - 2,
                                        kWideBase - 1};
  return kCells;
}

TEST(NumberInterval, HoldsWhatComparesSo) {
  constexpr Comparison kOrders[] = {Comparison::kLess, Comparison::kLessEqual, Comparison::kGreater,
                                    Comparison::kGreaterEqual};
  for (const Comparison first : kOrders)
    for (const Comparison second : kOrders)
      for (const Cell a : telling_cells())
        for (const Cell b : telling_cells()) {
          NumberInterval interval(ValueKind::kNumber);
          interval.keep(first, a);
          interval.keep(second, b);
          const std::vector<CellRange> ranges = interval.cells();
          ASSERT_LE(ranges.size(), 2U);
          if (ranges.size() == 2) {
            ASSERT_LT(ranges[0].highest, ranges[1].lowest);
          }
          for (const Cell cell : telling_cells()) {
            const auto holds = [&](const CellRange& range) {
              return range.lowest <= cell && cell <= range.highest;
            };
            const std::int64_t value = value_of(cell);
            const bool is_expected =
                compares(first, value, value_of(a)) && compares(second, value, value_of(b));
            ASSERT_EQ(std::ranges::any_of(ranges, holds), is_expected)
                << a << ' ' << b << ' ' << cell;
            ASSERT_EQ(interval.holds(cell), is_expected) << a << ' ' << b << ' ' << cell;
          }
        }
}

TEST(NumberInterval, UnsignedNumbersStandAsTheirCellsDo) {
  for (const Cell a : telling_cells()) {
    NumberInterval interval(ValueKind::kUnsigned);
    interval.keep(Comparison::kLess, a);
    const std::vector<CellRange> ranges = interval.cells();
    if (a == 0) {
      EXPECT_TRUE(ranges.empty());
      continue;
    }
    EXPECT_EQ(ranges, (std::vector<CellRange>{{.lowest = 0, .highest = a - 1}}));
  }
}

TEST(PartsOfSets, AreWhatARangeHolds) {
  std::mt19937_64 random(21);
  for (int trial = 0; trial < 2000; ++trial) {
    const Cell base = trial % 3 == 0 ? 0 : trial % 3 == 1 ? kNegativeBase - 300 : ~Cell{0} - 900;
    const std::uint64_t spread = trial % 2 == 0 ? 900 : 200;
    std::set<Cell> cells;
    for (std::uint64_t i = random() % 120 + 1; i > 0; --i)
      cells.insert(base + static_cast<Cell>(random() % spread));
    IntSet set;
    set.assign_sorted(std::vector<Cell>(cells.begin(), cells.end()));
    Cell a = base + static_cast<Cell>(random() % 900);
    Cell b = base + static_cast<Cell>(random() % 900);
    if (a > b) std::swap(a, b);
    if (trial % 11 == 0) b = a;
    std::vector<CellRange> ranges{{.lowest = a, .highest = b}};
    if (trial % 5 == 0) ranges = ranges_without(a);
    std::vector<Cell> expected;
    for (const Cell cell : cells)
      if (std::ranges::any_of(ranges, [&](const CellRange& range) {
            return range.lowest <= cell && cell <= range.highest;
          }))
        expected.push_back(cell);
    IntSet kept;
    keep_within(set.view(), ranges, kept);
    std::vector<Cell> held;
    kept.walk([&](Cell cell) { held.push_back(cell); });
    ASSERT_EQ(held, expected) << trial;
    // A part has all of it, and no more than whole words.
    std::set<Cell> part;
    walk_set(part_around(set.view(), ranges[0]), [&](Cell cell) { part.insert(cell); });
    for (const Cell cell : part) {
      EXPECT_TRUE(cells.contains(cell));
      EXPECT_GE(cell / 64, ranges[0].lowest / 64);
      EXPECT_LE(cell / 64, ranges[0].highest / 64);
    }
    for (const Cell cell : cells)
      if (ranges[0].lowest <= cell && cell <= ranges[0].highest) {
        EXPECT_TRUE(part.contains(cell));
      }
  }
}

}  // namespace
}  // namespace stratalog::datalog
