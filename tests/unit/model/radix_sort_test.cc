// SPDX-License-Identifier: Apache-2.0
// Sorting by digits of keys, against the standard library.
#include "model/radix_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace stratalog {
namespace {

struct Item {
  std::uint64_t key = 0;
  std::size_t place = 0;
  bool operator==(const Item&) const = default;
};

TEST(RadixSort, IsStableAndSorts) {
  std::mt19937_64 random(5);
  for (const unsigned bits : {1U, 10U, 11U, 12U, 40U, 64U})
    for (const std::size_t size : {0U, 1U, 2U, 1000U}) {
      std::vector<Item> items(size);
      for (std::size_t i = 0; i < size; ++i)
        items[i] = {.key = random() >> (64 - bits), .place = i};
      std::vector<Item> expected = items;
      std::ranges::stable_sort(expected, {}, &Item::key);
      radix_sort(items, [](const Item& item) { return item.key; });
      EXPECT_EQ(items, expected) << bits << " bits, " << size << " items";
    }
}

TEST(RadixSort, NarrowKeys) {
  std::vector<std::uint32_t> values = {70000, 3, 70000, 0, 0xFFFFFFFFU, 2047, 2048};
  radix_sort(values, std::identity());
  EXPECT_TRUE(std::ranges::is_sorted(values));
}

}  // namespace
}  // namespace stratalog
