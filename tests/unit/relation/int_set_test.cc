// SPDX-License-Identifier: Apache-2.0
// IntSet and SetAccumulator against std::set: random growth in all three forms (inline, array,
// bitmap), at both ends of the range of cells, with far outliers, moves, and unions.
#include "relation/int_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <vector>

#include "model/set_walk.h"
#include "relation/set_accumulator.h"

namespace stratalog {
namespace {

using Model = std::set<Cell>;

std::vector<Cell> cells_of(const IntSet& set) {
  std::vector<Cell> cells;
  set.walk([&](Cell cell) { cells.push_back(cell); });
  return cells;
}

void expect_same(const IntSet& set, const Model& model) {
  ASSERT_EQ(cells_of(set), std::vector<Cell>(model.begin(), model.end()));
  ASSERT_EQ(set.size(), model.size());
  ASSERT_EQ(set.empty(), model.empty());
  ASSERT_EQ(set.view().count, model.size());
}

// Cells that gather in a few places, as dense ids do, with some far away.
class CellSource {
 public:
  explicit CellSource(std::uint64_t seed) : random_(seed) {
    static const std::vector<Cell> kPlaces{0,          63, 64, 4096, 1U << 20, (1U << 31) - 200,
                                           0xFFFFFF00U};
    base_ = kPlaces[random_() % kPlaces.size()];
    width_ = 1U << (3 + random_() % 11);
    outliers_ = random_() % 3 == 0;
  }
  Cell next() {
    if (outliers_ && random_() % 200 == 0) return static_cast<Cell>(random_());
    const std::uint64_t cell = base_ + (random_() % width_);
    return cell > 0xFFFFFFFFU ? 0xFFFFFFFFU - static_cast<Cell>(random_() % width_)
                              : static_cast<Cell>(cell);
  }
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

 private:
  std::mt19937_64 random_;
  Cell base_ = 0;
  std::uint32_t width_ = 0;
  bool outliers_ = false;
};

// Distinct new cells, ascending.
std::vector<Cell> fresh_cells(CellSource& source, const Model& model, std::size_t count) {
  Model fresh;
  for (std::size_t i = 0; i < count; ++i) {
    const Cell cell = source.next();
    if (!model.contains(cell)) fresh.insert(cell);
  }
  return {fresh.begin(), fresh.end()};
}

TEST(IntSet, GrowsLikeASet) {
  std::set<IntSet::Form> seen;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    CellSource source(seed);
    IntSet set;
    Model model;
    for (int step = 0; step < 25; ++step) {
      const auto fresh = fresh_cells(source, model, source.below(step % 5 == 4 ? 200 : 6));
      set.add_new_sorted(fresh);
      model.insert(fresh.begin(), fresh.end());
      expect_same(set, model);
      seen.insert(set.form());
      for (int i = 0; i < 40; ++i) {
        const Cell cell = i % 8 == 0 ? static_cast<Cell>(source.below(1ULL << 32)) : source.next();
        ASSERT_EQ(set.contains(cell), model.contains(cell)) << cell;
      }
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(seen.size(), 3U) << "all forms must have been met";
}

TEST(IntSet, EndsOfTheRange) {
  for (const Cell edge : {Cell{0}, Cell{0xFFFFFFFFU}}) {
    IntSet set;
    Model model;
    // From the middle towards the edge, so that a bitmap would like to leave room beyond it.
    for (std::uint32_t round = 40; round-- > 0;) {
      std::vector<Cell> cells;
      for (std::uint32_t i = 0; i < 32; ++i)
        cells.push_back(edge == 0 ? (round * 32) + i : edge - (round * 32) - (31 - i));
      set.add_new_sorted(cells);
      model.insert(cells.begin(), cells.end());
    }
    EXPECT_EQ(set.form(), IntSet::Form::kBitmap);
    expect_same(set, model);
    EXPECT_TRUE(set.contains(edge));
    EXPECT_LE(set.view().base + std::uint64_t{64} * set.view().words.size(),
              std::uint64_t{1} << 32);
    SetAccumulator scratch;
    scratch.add(set.view());
    std::vector<Cell> out;
    scratch.take_new(IntSet(), out);
    EXPECT_EQ(out.size(), model.size());
  }
}

TEST(IntSet, AssignUniteMoveAndClear) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    CellSource source(seed);
    Model a_model;
    Model b_model;
    for (std::uint64_t i = source.below(300); i > 0; --i) a_model.insert(source.next());
    for (std::uint64_t i = source.below(300); i > 0; --i) b_model.insert(source.next());
    IntSet a;
    IntSet b;
    a.assign_sorted(std::vector<Cell>(a_model.begin(), a_model.end()));
    b.assign_sorted(std::vector<Cell>(b_model.begin(), b_model.end()));
    expect_same(a, a_model);
    a.unite(b);
    a_model.insert(b_model.begin(), b_model.end());
    expect_same(a, a_model);
    expect_same(b, b_model);
    IntSet moved = std::move(a);
    expect_same(moved, a_model);
    expect_same(a, {});  // NOLINT(bugprone-use-after-move): moved-from sets are empty
    b = std::move(moved);
    expect_same(b, a_model);
    b.assign_sorted(std::vector<Cell>{7});
    expect_same(b, {7});
    b.clear();
    expect_same(b, {});
    EXPECT_EQ(b.heap_bytes(), 0U);
    if (HasFatalFailure()) return;
  }
}

TEST(IntSet, DenseSetsAreBitmapsAndPairsInline) {
  IntSet set;
  set.assign_sorted(std::vector<Cell>{5, 1'000'000});
  EXPECT_EQ(set.form(), IntSet::Form::kInline);
  EXPECT_EQ(set.heap_bytes(), 0U);
  set.add_new_sorted(std::vector<Cell>{9});
  EXPECT_EQ(set.form(), IntSet::Form::kArray);
  EXPECT_TRUE(std::ranges::equal(set.array(), std::vector<Cell>{5, 9, 1'000'000}));
  set.add_new_sorted(std::vector<Cell>{1});
  EXPECT_EQ(set.heap_bytes(), 24U) << "four cells, how many, and room for how many";
  std::vector<Cell> run(1000);
  for (Cell i = 0; i < run.size(); ++i) run[i] = 3000 + i;
  set.assign_sorted(run);
  EXPECT_EQ(set.form(), IntSet::Form::kBitmap);
  EXPECT_LE(set.heap_bytes(), 160U) << "a thousand neighbours are a thousand bits";
  set.add_new_sorted(std::vector<Cell>{0x90000000U});
  EXPECT_EQ(set.form(), IntSet::Form::kArray) << "a far outlier would make a bitmap of 300 MB";
  EXPECT_TRUE(set.contains(3999));
  EXPECT_TRUE(set.contains(0x90000000U));
}

// Whatever the cells: the words of a set also tell an address from cells.
TEST(IntSet, PairsOfAllCellsAreInline) {
  const std::vector<Cell> edges{0,           1,           2,           0x7FFFFFFEU, 0x7FFFFFFFU,
                                0x80000000U, 0x80000001U, 0xC0000000U, 0xFFFFFFFEU, 0xFFFFFFFFU};
  for (std::size_t i = 0; i < edges.size(); ++i) {
    IntSet one;
    EXPECT_FALSE(one.contains(edges[i]));
    one.add_new_sorted(std::vector<Cell>{edges[i]});
    EXPECT_EQ(one.form(), IntSet::Form::kInline);
    expect_same(one, {edges[i]});
    for (std::size_t j = i + 1; j < edges.size(); ++j) {
      SCOPED_TRACE(edges[j]);
      IntSet both;
      both.assign_sorted(std::vector<Cell>{edges[j]});
      both.add_new_sorted(std::vector<Cell>{edges[i]});
      EXPECT_EQ(both.form(), IntSet::Form::kInline);
      expect_same(both, {edges[i], edges[j]});
      for (const Cell cell : edges)
        EXPECT_EQ(both.contains(cell), cell == edges[i] || cell == edges[j]) << cell;
      both.add_new_sorted(std::vector<Cell>{5});
      EXPECT_EQ(both.form(), IntSet::Form::kArray);
      expect_same(both, {edges[i], edges[j], 5});
    }
  }
}

// Around the greatest number of cells that a set tells without looking at what it holds.
TEST(IntSet, CountsManyCells) {
  for (const Cell apart : {Cell{1}, Cell{64}}) {
    IntSet set;
    std::vector<Cell> cells((1U << 17U) - 3);
    for (Cell i = 0; i < cells.size(); ++i) cells[i] = i * apart;
    set.assign_sorted(cells);
    EXPECT_EQ(set.form(), apart == 1 ? IntSet::Form::kBitmap : IntSet::Form::kArray);
    for (int more = 0; more < 5; ++more) {
      ASSERT_EQ(set.size(), cells.size());
      ASSERT_EQ(set.view().count, cells.size());
      ASSERT_EQ(cells_of(set), cells);
      cells.push_back(static_cast<Cell>(cells.size()) * apart);
      set.add_new_sorted(std::span(cells).last(1));
    }
  }
}

TEST(SetAccumulator, TakesWhatIsNew) {
  SetAccumulator scratch;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(seed);
    CellSource source(seed);
    Model present_model;
    for (std::uint64_t i = source.below(400); i > 0; --i) present_model.insert(source.next());
    IntSet present;
    present.assign_sorted(std::vector<Cell>(present_model.begin(), present_model.end()));
    Model added;
    for (int piece = 0; piece < 5; ++piece) {
      Model one;
      for (std::uint64_t i = source.below(120); i > 0; --i) one.insert(source.next());
      added.insert(one.begin(), one.end());
      const std::vector<Cell> cells(one.begin(), one.end());
      if (piece == 0) {
        for (const Cell cell : cells) scratch.add(cell);
      } else if (piece == 1 && !cells.empty() && cells.back() - cells.front() < 65536) {
        std::vector<std::uint16_t> offsets;
        for (const Cell cell : cells)
          offsets.push_back(static_cast<std::uint16_t>(cell - cells[0]));
        scratch.add({.kind = SetKind::kOffsets,
                     .base = cells[0],
                     .values = {},
                     .offsets = offsets,
                     .words = {},
                     .count = cells.size()});
      } else if (piece == 2 && !cells.empty() && cells.back() - cells.front() < 65536) {
        // A bitmap whose base is no multiple of 64.
        std::vector<std::uint64_t> words(((cells.back() - cells.front()) / 64) + 1, 0);
        for (const Cell cell : cells)
          words[(cell - cells[0]) / 64] |= std::uint64_t{1} << ((cell - cells[0]) % 64);
        scratch.add({.kind = SetKind::kBitmap,
                     .base = cells[0],
                     .values = {},
                     .offsets = {},
                     .words = words,
                     .count = cells.size()});
      } else {
        IntSet set;
        set.assign_sorted(cells);
        if (piece == 4)
          scratch.add(set);
        else
          scratch.add(set.view());
      }
    }
    std::vector<Cell> expected{42};  // take_new appends
    for (const Cell cell : added)
      if (!present_model.contains(cell)) expected.push_back(cell);
    std::vector<Cell> out{42};
    scratch.take_new(present, out);
    ASSERT_EQ(out, expected);
    out.clear();
    scratch.take_new(IntSet(), out);
    ASSERT_TRUE(out.empty()) << "taking empties the accumulator";
  }
}

// A long array is searched for what was added, a shorter one walked; bitmaps begin and end anywhere
// in the chunks that the accumulator counts by.
TEST(IntSet, AssignsViewsOfAllKinds) {
  const std::vector<Cell> values{70, 71, 100, 190};
  const std::vector<std::uint16_t> offsets{0, 1, 30, 120};
  const std::vector<std::uint64_t> words{0x43ULL << 6 | 1ULL << 36, 1ULL << 62};
  for (const Cell base : {Cell{64}, Cell{70}}) {
    const SetView array{.kind = SetKind::kArray,
                        .base = 0,
                        .values = values,
                        .offsets = {},
                        .words = {},
                        .count = 4};
    const SetView apart{.kind = SetKind::kOffsets,
                        .base = 70,
                        .values = {},
                        .offsets = offsets,
                        .words = {},
                        .count = 4};
    SetView bits{.kind = SetKind::kBitmap,
                 .base = base,
                 .values = {},
                 .offsets = {},
                 .words = words,
                 .count = 5};
    std::vector<Cell> of_bits;
    walk_set(bits, [&](Cell cell) { of_bits.push_back(cell); });
    ASSERT_EQ(of_bits.size(), 5U);
    bits.count = of_bits.size();
    for (const auto& [view, expected] :
         {std::pair(array, values), std::pair(apart, values), std::pair(bits, of_bits)}) {
      IntSet set;
      set.assign_sorted(std::vector<Cell>{1, 2, 3});
      set.assign(view);
      expect_same(set, Model(expected.begin(), expected.end()));
    }
  }
}

TEST(IntSet, AssignsWords) {
  std::mt19937_64 random(77);
  for (int trial = 0; trial < 400; ++trial) {
    const Cell base = trial % 7 == 0 ? 0xFFFFFFC0U - (64 * 3) : Cell(random() % 9) * 64;
    std::vector<std::uint64_t> words(random() % 4 + 1);
    for (std::uint64_t& word : words)
      word = trial % 3 == 0   ? random()
             : trial % 3 == 1 ? std::uint64_t{1} << (random() % 64)
                              : random() % 2;
    std::vector<Cell> expected;
    for (std::size_t w = 0; w < words.size(); ++w)
      for (Cell bit = 0; bit < 64; ++bit)
        if ((words[w] >> bit & 1) != 0) expected.push_back(base + static_cast<Cell>(w * 64) + bit);
    IntSet set;
    set.assign_sorted(std::vector<Cell>{5, 6, 7000});
    set.assign_words(base, words);
    std::vector<Cell> held;
    set.walk([&](Cell cell) { held.push_back(cell); });
    EXPECT_EQ(held, expected);
    EXPECT_EQ(set.size(), expected.size());
    IntSet same;
    same.assign_sorted(expected);
    EXPECT_EQ(set.form(), same.form());
    EXPECT_EQ(set.heap_bytes(), same.heap_bytes());
  }
}

TEST(SetAccumulator, TakesAll) {
  SetAccumulator scratch;
  std::mt19937_64 random(78);
  IntSet set;
  scratch.take_all(set);
  EXPECT_TRUE(set.empty());
  for (int trial = 0; trial < 200; ++trial) {
    const Cell range = trial % 2 == 0 ? 30000 : ~Cell{0};
    std::set<Cell> expected;
    for (std::uint64_t i = random() % 3000 + 1; i > 0; --i) {
      const auto cell = static_cast<Cell>(random() % range);
      scratch.add(cell);
      expected.insert(cell);
    }
    scratch.take_all(set);
    std::vector<Cell> held;
    set.walk([&](Cell cell) { held.push_back(cell); });
    EXPECT_TRUE(std::equal(held.begin(), held.end(), expected.begin(), expected.end()));
  }
  std::vector<Cell> rest;
  scratch.take_new(IntSet(), rest);
  EXPECT_TRUE(rest.empty());
}

TEST(SetAccumulator, TakesFewOutOfMany) {
  SetAccumulator scratch;
  const std::vector<Cell> added{0, 63, 64, 4095, 4096, 70'000, 70'001, 0xFFFFFFFFU};
  for (const Cell many : {2U, 40U, 400U, 4000U}) {
    std::vector<Cell> thin(many);
    for (Cell i = 0; i < many; ++i) thin[i] = i * 1000;
    std::vector<Cell> dense(many);
    for (Cell i = 0; i < many; ++i) dense[i] = 4090 + (2 * i);
    for (const auto* cells : {&thin, &dense}) {
      IntSet present;
      present.assign_sorted(*cells);
      std::vector<Cell> expected;
      std::set_difference(added.begin(), added.end(), cells->begin(), cells->end(),
                          std::back_inserter(expected));
      for (const Cell cell : added) scratch.add(cell);
      std::vector<Cell> out;
      scratch.take_new(present, out);
      ASSERT_EQ(out, expected) << many;
      scratch.add(present);
      for (const Cell cell : added) scratch.add(cell);
      out.clear();
      scratch.take_new(IntSet(), out);
      expected.clear();
      std::set_union(added.begin(), added.end(), cells->begin(), cells->end(),
                     std::back_inserter(expected));
      ASSERT_EQ(out, expected) << many;
    }
  }
}

}  // namespace
}  // namespace stratalog
