// SPDX-License-Identifier: Apache-2.0
// Fragments cover a set once, in order, within the limits; rows become groups and groups rows.
#include "pack/fragment.h"

#include <gtest/gtest.h>

#include <numeric>

#include "model/set_walk.h"
#include "pack/row_packer.h"

namespace stratalog {
namespace {

std::vector<Cell> walk_fragments(const SetView& set, const FragmentLimits& limits) {
  std::vector<Cell> cells;
  EXPECT_TRUE(for_each_fragment(set, limits, [&](const SetView& piece) {
                EXPECT_GT(piece.count, 0U);
                EXPECT_LE(piece.values.size(), limits.elements);
                if (piece.kind != SetKind::kBitmap) {
                  EXPECT_LE(piece.count, limits.elements);
                }
                EXPECT_LE(piece.words.size(), limits.words);
                const std::size_t before = cells.size();
                walk_set(piece, [&](Cell c) { cells.push_back(c); });
                EXPECT_EQ(cells.size() - before, piece.count);
                return Status::ok();
              }).is_ok());
  return cells;
}

TEST(Fragment, CoversEachKindOfSet) {
  std::vector<Cell> values(1001);
  std::iota(values.begin(), values.end(), 5);
  std::vector<std::uint16_t> offsets(values.size());
  std::iota(offsets.begin(), offsets.end(), 5);
  std::vector<std::uint64_t> words(40, 0);
  words[0] = 1;
  words[17] = 3;
  words[39] = std::uint64_t{1} << 63;
  SetView array;
  array.values = values;
  array.count = values.size();
  SetView shorts;
  shorts.kind = SetKind::kOffsets;
  shorts.offsets = offsets;
  shorts.count = offsets.size();
  SetView bitmap;
  bitmap.kind = SetKind::kBitmap;
  bitmap.base = 100;
  bitmap.words = words;
  bitmap.count = 4;
  for (const std::size_t limit : {1, 7, 1000, 1001, 5000}) {
    const FragmentLimits limits{.elements = limit, .words = limit};
    EXPECT_EQ(walk_fragments(array, limits), values);
    EXPECT_EQ(walk_fragments(shorts, limits), values);
    EXPECT_EQ(walk_fragments(bitmap, limits),
              (std::vector<Cell>{100, 100 + 17 * 64, 101 + 17 * 64, 100 + 40 * 64 - 1}));
  }
}

TEST(Fragment, CutsRuns) {
  // The last run ends at the last offset that there is.
  const std::vector<std::uint16_t> runs = {3, 0, 5, 9, 100, 999, 2000, 0, 60000, 5535};
  SetView set;
  set.kind = SetKind::kRuns;
  set.base = 0xFFFF0000U;
  set.offsets = runs;
  std::vector<Cell> expected;
  for (std::size_t i = 0; i < runs.size(); i += 2)
    for (std::uint32_t o = runs[i]; o <= std::uint32_t{runs[i]} + runs[i + 1]; ++o)
      expected.push_back(set.base + o);
  set.count = expected.size();
  for (const std::size_t limit : {1, 2, 11, 1000, 1001, 6547, 100000})
    EXPECT_EQ(walk_fragments(set, {.elements = limit, .words = 1}), expected) << limit;
}

TEST(Fragment, StopsAtTheFirstError) {
  std::vector<Cell> values = {1, 2, 3};
  SetView set;
  set.values = values;
  set.count = 3;
  int calls = 0;
  const Status status =
      for_each_fragment(set, {.elements = 1, .words = 1}, [&](const SetView&) -> Status {
        return ++calls == 2 ? Status::cancelled("stop") : Status::ok();
      });
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_EQ(calls, 2);
}

TEST(RowPacker, RowsAreInDeclaredOrderAndComeBackAsGroups) {
  const std::vector<std::uint32_t> order = {2, 0, 1};  // groups hold columns 2, 0 and the set of 1
  const std::vector<Cell> prefix = {7, 8};
  const std::vector<Cell> values = {1, 4, 9};
  SetView set;
  set.values = values;
  set.count = 3;
  std::vector<std::uint64_t> rows(9);
  EXPECT_EQ(put_rows(prefix, set, order, rows.data()), rows.data() + 9);
  EXPECT_EQ(rows, (std::vector<std::uint64_t>{8, 1, 7, 8, 4, 7, 8, 9, 7}));
  int groups = 0;
  const GroupVisitor visit = [&](const TupleGroup& group) {
    ++groups;
    EXPECT_TRUE(std::equal(group.prefix.begin(), group.prefix.end(), prefix.begin(), prefix.end()));
    EXPECT_TRUE(
        std::equal(group.set.values.begin(), group.set.values.end(), values.begin(), values.end()));
    return Status::ok();
  };
  GroupCollector collector(order, visit);
  for (std::size_t r = 0; r < 3; ++r) EXPECT_TRUE(collector.add_row(rows.data() + (r * 3)).is_ok());
  EXPECT_TRUE(collector.flush().is_ok());
  EXPECT_EQ(groups, 1);
  const std::uint64_t wide[] = {std::uint64_t{1} << 32, 0, 0};
  EXPECT_EQ(collector.add_row(wide).code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace stratalog
