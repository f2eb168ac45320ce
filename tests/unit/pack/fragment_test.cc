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
  EXPECT_TRUE(collector.add_rows(std::as_bytes(std::span(rows))).is_ok());
  EXPECT_TRUE(collector.flush().is_ok());
  EXPECT_EQ(groups, 1);
  const std::uint64_t wide[] = {std::uint64_t{1} << 32, 0, 0};
  EXPECT_EQ(collector.add_rows(std::as_bytes(std::span(wide))).code(), StatusCode::kCorruption);
}

// Every kind of set and every small arity, with the set in every column, against the definition.
TEST(RowPacker, EveryKindOfSetAndOrderOfColumns) {
  const std::vector<Cell> values = {100, 101, 102, 107, 163};
  const std::vector<std::uint16_t> offsets = {0, 1, 2, 7, 63};
  const std::vector<std::uint16_t> runs = {0, 2, 7, 0, 63, 0};
  const std::vector<std::uint64_t> words = {0x8000000000000087ULL};
  for (std::size_t arity = 1; arity <= 5; ++arity)
    for (std::size_t turn = 0; turn < arity; ++turn) {
      std::vector<std::uint32_t> order(arity);
      for (std::size_t i = 0; i < arity; ++i)
        order[i] = static_cast<std::uint32_t>((i + turn) % arity);
      std::vector<Cell> prefix(arity - 1);
      for (std::size_t i = 0; i < prefix.size(); ++i) prefix[i] = static_cast<Cell>(1000 + i);
      std::vector<std::uint64_t> expected(arity * values.size());
      for (std::size_t r = 0; r < values.size(); ++r) {
        for (std::size_t i = 0; i < prefix.size(); ++i) expected[r * arity + order[i]] = prefix[i];
        expected[r * arity + order.back()] = values[r];
      }
      for (const SetKind kind :
           {SetKind::kArray, SetKind::kOffsets, SetKind::kRuns, SetKind::kBitmap}) {
        SetView set;
        set.kind = kind;
        set.count = values.size();
        set.base = 100;
        if (kind == SetKind::kArray) set.values = values;
        if (kind == SetKind::kOffsets) set.offsets = offsets;
        if (kind == SetKind::kRuns) set.offsets = runs;
        if (kind == SetKind::kBitmap) set.words = words;
        std::vector<std::uint64_t> rows(expected.size());
        EXPECT_EQ(put_rows(prefix, set, order, rows.data()), rows.data() + rows.size());
        EXPECT_EQ(rows, expected) << "arity " << arity << ", set in column " << order.back();
      }
    }
}

struct CollectedGroup {
  Cell key = 0;
  std::vector<Cell> values;
  friend bool operator==(const CollectedGroup&, const CollectedGroup&) = default;
};

// As the definition says: a group ends where the key changes, the values do not ascend, or it is
// full.
std::vector<CollectedGroup> collect_slowly(const std::vector<std::uint64_t>& rows,
                                           std::size_t last) {
  std::vector<CollectedGroup> groups;
  for (std::size_t r = 0; r + 1 < rows.size(); r += 2) {
    const auto key = static_cast<Cell>(rows[r + (1 - last)]);
    const auto value = static_cast<Cell>(rows[r + last]);
    if (groups.empty() || groups.back().key != key || groups.back().values.back() >= value ||
        groups.back().values.size() == 16384)
      groups.push_back({.key = key, .values = {}});
    groups.back().values.push_back(value);
  }
  return groups;
}

TEST(RowPacker, PairsComeBackAsTheSameGroupsHoweverTheyAreCut) {
  // Runs of all short lengths, values that stop ascending, keys that come again, one full group.
  std::vector<std::uint64_t> rows;
  std::uint64_t value = 0;
  for (std::uint64_t key = 0; key < 60; ++key)
    for (std::uint64_t i = 0; i < key; ++i) {
      value = i % 23 == 22 ? value : value + 1 + (i % 3);
      rows.insert(rows.end(), {key / 2, value});
    }
  for (std::uint64_t i = 0; i < 20000; ++i) rows.insert(rows.end(), {77, i * 3});
  for (const std::size_t last : {std::size_t{0}, std::size_t{1}}) {
    std::vector<std::uint64_t> turned = rows;
    if (last == 0)
      for (std::size_t r = 0; r < rows.size(); r += 2) std::swap(turned[r], turned[r + 1]);
    const std::vector<CollectedGroup> expected = collect_slowly(turned, last);
    for (const std::size_t piece : {rows.size() / 2, std::size_t{1}, std::size_t{7}}) {
      std::vector<CollectedGroup> found;
      const GroupVisitor visit = [&](const TupleGroup& group) {
        found.push_back(
            {.key = group.prefix[0], .values = {group.set.values.begin(), group.set.values.end()}});
        return Status::ok();
      };
      const std::vector<std::uint32_t> order = {static_cast<std::uint32_t>(1 - last),
                                                static_cast<std::uint32_t>(last)};
      GroupCollector collector(order, visit);
      for (std::size_t at = 0; at < turned.size(); at += piece * 2) {
        const auto part = std::span(turned).subspan(at, std::min(piece * 2, turned.size() - at));
        ASSERT_TRUE(collector.add_rows(std::as_bytes(part)).is_ok());
      }
      ASSERT_TRUE(collector.flush().is_ok());
      EXPECT_EQ(found, expected);
    }
    // Numbers that are no cells are found wherever they stand.
    for (std::size_t at = 0; at < 64; ++at) {
      std::vector<std::uint64_t> bad(turned.end() - 64, turned.end());
      bad[at] |= std::uint64_t{1} << 32;
      const std::vector<std::uint32_t> order = {static_cast<std::uint32_t>(1 - last),
                                                static_cast<std::uint32_t>(last)};
      const GroupVisitor ignore = [](const TupleGroup&) { return Status::ok(); };
      GroupCollector collector(order, ignore);
      EXPECT_EQ(collector.add_rows(std::as_bytes(std::span(bad))).code(), StatusCode::kCorruption);
    }
  }
}

}  // namespace
}  // namespace stratalog
