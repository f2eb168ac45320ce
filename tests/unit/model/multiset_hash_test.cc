// SPDX-License-Identifier: Apache-2.0
// The tables of GroupHasher give the hash that the definition gives, tuple by tuple, whatever shape
// the sets have and however often their pages and rows come by.
#include "model/multiset_hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "model/set_walk.h"
#include "unit/model/group_list.h"
#include "unit/model/sample_sets.h"

namespace stratalog {
namespace {

// The definition: the sum over tuples of the product over columns.
MultisetHash hash_by_definition(const TupleGroup& group, std::span<const std::uint32_t> order) {
  MultisetHash sum;
  walk_set(group.set, [&](Cell cell) {
    std::vector<Cell> tuple(order.size());
    for (std::size_t i = 0; i + 1 < order.size(); ++i) tuple[order[i]] = group.prefix[i];
    tuple[order.back()] = cell;
    sum += hash_tuple(tuple);
  });
  return sum;
}

struct OwnedSet {
  std::vector<Cell> values;
  std::vector<std::uint16_t> offsets;
  std::vector<std::uint64_t> words;
  SetView view;
};

// Words with long runs, with noise, empty and full ones.
std::uint64_t random_word(Random& random) {
  switch (random.below(5)) {
    case 0:
      return 0;
    case 1:
      return ~std::uint64_t{0};
    case 2:
      return ~std::uint64_t{0} << random.below(64);
    case 3:
      return std::uint64_t{1} << random.below(64);
    default:
      return random.below(~std::uint64_t{0});
  }
}

void fill(Random& random, Cell base, std::size_t words, OwnedSet& set) {
  const std::uint64_t kind = random.below(8);
  set.view.base = base;
  if (kind == 0) {
    for (std::uint64_t at = random.below(9); at < words * 64; at += 1 + random.below(200))
      set.values.push_back(base + static_cast<Cell>(at));
    set.view.kind = SetKind::kArray;
    set.view.values = set.values;
    set.view.count = set.values.size();
  } else if (kind == 1) {
    for (std::uint64_t at = random.below(9); at < words * 64; at += 1 + random.below(100))
      set.offsets.push_back(static_cast<std::uint16_t>(at));
    set.view.kind = SetKind::kOffsets;
    set.view.offsets = set.offsets;
    set.view.count = set.offsets.size();
  } else {
    for (std::size_t w = 0; w < words; ++w) set.words.push_back(random_word(random));
    set.view.kind = SetKind::kBitmap;
    set.view.words = set.words;
    for (const std::uint64_t word : set.words)
      set.view.count += static_cast<std::uint64_t>(std::popcount(word));
  }
}

TEST(GroupHasher, AgreesWithTheDefinition) {
  const std::vector<std::uint32_t> order = {2, 0, 1};
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    GroupHasher hasher(order);
    // Aligned like pivot blocks, off by one, and at the end of the cells.
    const Cell bases[] = {0, 1, 512 * 7 + 3, 0xFFFFFFFFU - 511, 77 * 64};
    for (int g = 0; g < 900; ++g) {
      // Long stretches with one base, so that the row table is made and made again.
      const Cell base = bases[(static_cast<std::size_t>(g) / 300 + seed) % 5];
      const std::size_t words =
          base > 0xFFFFFFFFU - 512 ? 8 : (random.below(20) == 0 ? 40 : 1 + random.below(8));
      OwnedSet set;
      fill(random, base, words, set);
      const Cell prefix[] = {static_cast<Cell>(random.below(1U << 31)),
                             static_cast<Cell>(random.below(5))};
      const TupleGroup group{.prefix = prefix, .set = set.view};
      const MultisetHash expected = hash_by_definition(group, order);
      ASSERT_EQ(hasher.hash(group), expected) << "seed " << seed << ", group " << g;
      ASSERT_EQ(hash_group(group, order), expected);
    }
  }
}

TEST(GroupHasher, LargeSetsWithMorePagesThanAreKept) {
  const std::vector<std::uint32_t> order = {0};
  GroupHasher hasher(order);
  OwnedSet set;
  Random random(5);
  for (std::size_t w = 0; w < 20000; ++w) set.words.push_back(random_word(random));
  set.view.kind = SetKind::kBitmap;
  set.view.words = set.words;
  for (const Cell base : {Cell{0}, Cell{17}, Cell{1280000}, Cell{0}}) {
    set.view.base = base;
    const TupleGroup group{.prefix = {}, .set = set.view};
    EXPECT_EQ(hasher.hash(group), hash_group(group, order)) << base;
  }
}

// More contents than are kept, and groups of none.
void compare_batches(const std::vector<std::uint32_t>& order) {
  Random random(5);
  std::vector<std::vector<Cell>> sets(5000);
  for (std::size_t s = 0; s < sets.size(); ++s)
    for (std::uint64_t n = 1 + random.below(5), at = s; n != 0; --n)
      sets[s].push_back(static_cast<Cell>(at += 1 + random.below(9)));
  GroupHasher one_by_one(order);
  GroupHasher batched(order);
  MultisetHash expected;
  MultisetHash found;
  std::size_t looks = 0;
  for (int b = 0; b < 500; ++b) {
    GroupList groups;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint64_t s = random.below(2) == 0 ? random.below(20) : random.below(sets.size());
      std::vector<Cell> prefix(order.size() - 1);
      for (Cell& cell : prefix) cell = static_cast<Cell>(random.below(1000));
      const SetView set = array_view(sets[s]);
      groups.add(prefix, set, random.below(8) == 0 ? 0 : s + 1);
      expected += one_by_one.hash({.prefix = prefix, .set = set});
    }
    found += batched.hash(groups.batch());
    looks += groups.looks();
  }
  EXPECT_EQ(found, expected);
  EXPECT_LT(looks, 500 * 64 * 3 / 4);
}

TEST(GroupHasher, BatchesWithSetsThatComeAgain) {
  compare_batches({0});
  compare_batches({1, 0});
  compare_batches({2, 0, 1});
}

TEST(GroupHasher, RowsOfBitsBySmallChanges) {
  Random random(6);
  std::vector<std::vector<Cell>> sets;
  std::vector<Cell> cells = {3, 70, 500};
  for (int i = 0; i < 3000; ++i) {
    const auto cell = static_cast<Cell>(random.below(i % 40 == 0 ? 2000 : 512));
    const auto at = std::lower_bound(cells.begin(), cells.end(), cell);
    if (at == cells.end() || *at != cell)
      cells.insert(at, cell);
    else if (cells.size() > 1)
      cells.erase(at);
    if (i % 400 == 0) cells = {cell};
    sets.push_back(cells);
  }
  const std::vector<std::uint32_t> order = {1, 0};
  GroupHasher one_by_one(order);
  GroupHasher batched(order);
  MultisetHash expected;
  MultisetHash found;
  for (std::size_t begin = 0; begin < sets.size(); begin += 30) {
    GroupList groups;
    groups.show_rows();
    for (std::size_t i = begin; i < begin + 30; ++i)
      for (Cell prefix = 0; prefix < i % 3 + 1; ++prefix) {
        const Cell x = prefix + static_cast<Cell>(i);
        groups.add(std::span(&x, 1), array_view(sets[i]), i % 7 == 0 ? 0 : i + 1);
        expected += one_by_one.hash({.prefix = std::span(&x, 1), .set = array_view(sets[i])});
      }
    found += batched.hash(groups.batch());
  }
  EXPECT_EQ(found, expected);
}

TEST(GroupHasher, ColumnOrderDoesNotMatter) {
  // The same tuples as groups of the first and of the second column.
  const std::vector<std::uint32_t> forward = {0, 1};
  const std::vector<std::uint32_t> backward = {1, 0};
  GroupHasher first(forward);
  GroupHasher second(backward);
  MultisetHash a;
  MultisetHash b;
  for (Cell x = 0; x < 300; ++x) {
    std::vector<Cell> ys;
    std::vector<Cell> ys_backward;
    for (Cell y = 0; y < 300; ++y) {
      if ((x * 7 + y * 3) % 5 == 0) ys.push_back(y);
      if ((y * 7 + x * 3) % 5 == 0) ys_backward.push_back(y);
    }
    a += first.hash({.prefix = std::span(&x, 1), .set = array_view(ys)});
    b += second.hash({.prefix = std::span(&x, 1), .set = array_view(ys_backward)});
  }
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == MultisetHash{});
}

}  // namespace
}  // namespace stratalog
