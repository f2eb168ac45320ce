// SPDX-License-Identifier: Apache-2.0
// Entries of a map in the order of their keys.
#include "relation/key_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace stratalog {
namespace {

TEST(KeyOrder, AscendsCellAfterCell) {
  std::mt19937 random(3);
  for (const std::uint32_t width : {1U, 2U, 3U, 5U})
    for (const std::uint32_t range : {3U, 400U, 0xFFFFFFFFU}) {
      PrefixMap keys(width);
      std::vector<Cell> key(width);
      for (int i = 0; i < 3000; ++i) {
        for (Cell& cell : key) cell = static_cast<Cell>(random() % range);
        keys.find_or_add(key.data());
      }
      std::vector<std::uint32_t> expected(keys.size());
      std::iota(expected.begin(), expected.end(), 0U);
      std::ranges::sort(expected, [&](std::uint32_t a, std::uint32_t b) {
        return std::ranges::lexicographical_compare(keys.key(a), keys.key(b));
      });
      EXPECT_EQ(ids_by_key(keys), expected) << width << " " << range;
    }
}

TEST(KeyOrder, FewKeys) {
  PrefixMap nullary(0);
  EXPECT_TRUE(ids_by_key(nullary).empty());
  const Cell none = 0;
  nullary.find_or_add(&none);
  EXPECT_EQ(ids_by_key(nullary), std::vector<std::uint32_t>{0});
  EXPECT_TRUE(ids_by_key(PrefixMap(3)).empty());
}

}  // namespace
}  // namespace stratalog
