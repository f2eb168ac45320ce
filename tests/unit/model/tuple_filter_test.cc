// SPDX-License-Identifier: Apache-2.0
// Filters choose exactly the tuples that have the cells, and zones never hide one.
#include "model/tuple_filter.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "model/set_walk.h"
#include "unit/model/sample_sets.h"

namespace stratalog {
namespace {

TEST(CellSet, IsTheUnionOfItsRanges) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<CellRange> ranges;
    std::set<Cell> cells;
    for (unsigned i = 0; i < random() % 6; ++i) {
      const Cell lowest = random() % 60;
      const Cell highest = lowest + (random() % 9);
      ranges.push_back({.lowest = lowest, .highest = highest});
      for (Cell cell = lowest; cell <= highest; ++cell) cells.insert(cell);
    }
    const CellSet set(ranges);
    for (Cell low = 0; low < 70; ++low)
      for (Cell high = low; high < 70; ++high) {
        const auto first = cells.lower_bound(low);
        ASSERT_EQ(set.meets(low, high), first != cells.end() && *first <= high);
      }
    for (std::size_t i = 1; i < set.ranges().size(); ++i)
      ASSERT_GT(set.ranges()[i].lowest, set.ranges()[i - 1].highest + 1);
  }
  const CellSet ends({{.lowest = 0xFFFFFFFF, .highest = 0xFFFFFFFF}, {.lowest = 0, .highest = 0}});
  EXPECT_TRUE(ends.contains(0));
  EXPECT_TRUE(ends.contains(0xFFFFFFFF));
  EXPECT_FALSE(ends.meets(1, 0xFFFFFFFE));
  EXPECT_FALSE(CellSet().meets(0, 0xFFFFFFFF));
}

TEST(TupleFilter, ChoosesTuplesInAnyColumn) {
  // Declared (a, b, c) lies as (c, a) -> {b}.
  const std::vector<std::uint32_t> order = {2, 0, 1};
  const std::vector<Cell> prefix = {30, 10};
  const std::vector<Cell> values = {5, 6, 9};
  const SetView set = array_view(values);
  const auto passed = [&](const TupleFilter& filter) {
    std::vector<Cell> found;
    const Status status = filter.pass({.prefix = prefix, .set = set}, [&](const TupleGroup& group) {
      EXPECT_EQ(group.set.count, group.set.values.size());
      walk_set(group.set, [&](Cell cell) { found.push_back(cell); });
      return Status::ok();
    });
    EXPECT_TRUE(status.is_ok());
    return found;
  };
  const auto one = [](Cell cell) { return CellSet({{.lowest = cell, .highest = cell}}); };
  TupleFilter filter(order);
  EXPECT_TRUE(filter.wants_all());
  EXPECT_EQ(passed(filter), values);
  filter.want(0, one(10));
  EXPECT_FALSE(filter.wants_all());
  EXPECT_EQ(passed(filter), values);
  filter.want(1, CellSet({{.lowest = 6, .highest = 20}}));
  EXPECT_EQ(passed(filter), (std::vector<Cell>{6, 9}));
  TupleFilter both = filter;
  both.want(1, one(9));
  EXPECT_EQ(passed(both), std::vector<Cell>{9});
  both.want(2, one(31));
  EXPECT_TRUE(passed(both).empty());
  filter.want(1, one(7));
  EXPECT_TRUE(passed(filter).empty());
}

TEST(TupleFilter, ZonesAreOfDeclaredColumns) {
  TupleFilter filter(std::vector<std::uint32_t>{1, 0});
  const std::vector<Cell> zone = {10, 20, 300, 400};
  EXPECT_TRUE(filter.may_hold(zone));
  filter.want(0, CellSet({{.lowest = 20, .highest = 25}}));
  EXPECT_TRUE(filter.may_hold(zone));
  filter.want(1, CellSet({{.lowest = 200, .highest = 299}, {.lowest = 401, .highest = 500}}));
  EXPECT_FALSE(filter.may_hold(zone));
}

}  // namespace
}  // namespace stratalog
