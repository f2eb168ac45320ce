// SPDX-License-Identifier: Apache-2.0
// PackedTuples against std::set: the same order, each tuple once, all cells back.
#include "relation/packed_tuples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace stratalog {
namespace {

using Tuple = std::vector<Cell>;

// Nothing if they are too wide for such keys.
template <typename Key>
std::optional<PackedTuples<Key>> pack(std::span<const Cell> tuples, std::uint32_t arity) {
  const ColumnRanges ranges(tuples, arity);
  if (ranges.bits() > PackedTuples<Key>::kMostBits) return std::nullopt;
  return PackedTuples<Key>(tuples, ranges);
}

template <typename Key>
void sort_as_a_set_does(std::uint32_t most_arity) {
  std::mt19937_64 random(1);
  for (std::uint32_t arity = 1; arity <= most_arity; ++arity)
    for (int attempt = 0; attempt < 20; ++attempt) {
      // Up to 10 bits a column, somewhere among the 32.
      Tuple lowest(arity);
      Tuple range(arity);
      for (std::uint32_t c = 0; c < arity; ++c) {
        range[c] = Cell{1} << (random() % 11);
        lowest[c] = static_cast<Cell>(random()) % (0xFFFFFFFFU - range[c]);
      }
      std::set<Tuple> model;
      std::vector<Cell> flat;
      for (std::uint64_t n = 1 + (random() % 3000); n > 0; --n) {
        Tuple tuple(arity);
        for (std::uint32_t c = 0; c < arity; ++c)
          tuple[c] = lowest[c] + static_cast<Cell>(random() % range[c]);
        flat.insert(flat.end(), tuple.begin(), tuple.end());
        model.insert(tuple);
      }
      auto packed = pack<Key>(flat, arity);
      ASSERT_TRUE(packed.has_value());
      packed->sort();
      ASSERT_EQ(packed->keys().size(), model.size());
      std::size_t at = 0;
      for (const Tuple& tuple : model) {
        const Key key = packed->keys()[at];
        for (std::uint32_t c = 0; c < arity; ++c) ASSERT_EQ(packed->cell(key, c), tuple[c]);
        if (at++ == 0) continue;
        const Tuple& before = *std::prev(model.find(tuple));
        for (std::uint32_t length = 1; length <= arity; ++length)
          ASSERT_EQ(packed->head(packed->keys()[at - 2], length) == packed->head(key, length),
                    std::equal(before.begin(), before.begin() + length, tuple.begin()));
      }
    }
}

TEST(PackedTuples, SortAsASetDoes) {
  sort_as_a_set_does<std::uint64_t>(6);
  sort_as_a_set_does<WideKey>(12);
}

TEST(PackedTuples, RefuseMoreBitsThanAnIntegerHas) {
  const auto of_bits = [](std::vector<std::uint32_t> bits) {
    std::vector<Cell> flat(bits.size(), 0);
    for (const std::uint32_t b : bits)
      flat.push_back(static_cast<Cell>((std::uint64_t{1} << b) - 1));
    return pack<std::uint64_t>(flat, static_cast<std::uint32_t>(bits.size()));
  };
  EXPECT_FALSE(of_bits({32, 32}).has_value());
  EXPECT_FALSE(of_bits({0, 32, 32}).has_value());
  EXPECT_FALSE(of_bits({32, 31, 1}).has_value());
  for (auto bits :
       std::vector<std::vector<std::uint32_t>>{{32}, {32, 31}, {31, 32}, {0, 32, 31}, {0, 0, 0}}) {
    auto packed = of_bits(bits);
    ASSERT_TRUE(packed.has_value());
    packed->sort();
    const std::uint64_t last = packed->keys().back();
    for (std::uint32_t c = 0; c < bits.size(); ++c)
      EXPECT_EQ(packed->cell(last, c), static_cast<Cell>((std::uint64_t{1} << bits[c]) - 1));
  }
}

TEST(PackedTuples, WideKeysTakeWhatNarrowOnesRefuse) {
  const std::vector<Cell> flat{5, 0xFFFFFFFFU, 9, 0, 0xFFFFFFFFU, 0, 9, 0xFFFFFFFFU, 5, 0, 7, 0};
  EXPECT_FALSE(pack<std::uint64_t>(flat, 4).has_value());
  auto packed = pack<WideKey>(flat, 4);
  ASSERT_TRUE(packed.has_value());
  packed->sort();
  std::vector<Cell> sorted;
  for (const WideKey key : packed->keys())
    for (std::uint32_t c = 0; c < 4; ++c) sorted.push_back(packed->cell(key, c));
  EXPECT_EQ(sorted,
            (std::vector<Cell>{5, 0, 7, 0, 5, 0xFFFFFFFFU, 9, 0, 0xFFFFFFFFU, 0, 9, 0xFFFFFFFFU}));
  const std::vector<Cell> wider{0, 0, 0, 0, ~0U, ~0U, ~0U, ~0U};
  EXPECT_FALSE(pack<WideKey>(wider, 4).has_value());
}

}  // namespace
}  // namespace stratalog
