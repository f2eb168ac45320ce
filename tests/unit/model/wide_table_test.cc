// SPDX-License-Identifier: Apache-2.0
// WideTable and how ValueDictionary cuts numbers into narrow and wide cells.
#include "model/wide_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>

#include "model/value_dictionary.h"

namespace stratalog {
namespace {

TEST(WideTable, GivesDenseIds) {
  WideTable table;
  EXPECT_FALSE(table.find(7).has_value());
  EXPECT_EQ(table.intern(1ULL << 40), 0U);
  EXPECT_EQ(table.intern(1ULL << 41), 1U);
  EXPECT_EQ(table.intern(1ULL << 40), 0U);
  EXPECT_EQ(table.find(1ULL << 41), 1U);
  EXPECT_EQ(table.bits(1), 1ULL << 41);
}

TEST(WideTable, KeepsManyValues) {
  constexpr unsigned kSeed = 7;
  std::mt19937_64 random(kSeed);
  std::vector<std::uint64_t> values(100000);
  for (auto& value : values) value = random();
  WideTable table;
  for (const auto value : values) table.intern(value);
  for (const auto value : values) {
    const auto id = table.find(value);
    ASSERT_TRUE(id.has_value()) << "seed " << kSeed;
    ASSERT_EQ(table.bits(*id), value) << "seed " << kSeed;
  }
}

// Many at once are what one after the other would be, from any size of the table on.
TEST(WideTable, ManyAtOnce) {
  std::mt19937_64 random(11);
  for (const std::size_t before : {0, 1, 31, 32, 5000})
    for (const std::size_t count : {0, 1, 16, 33, 3000}) {
      WideTable one_by_one;
      WideTable at_once;
      std::vector<std::uint64_t> values(count);
      for (std::size_t i = 0; i < before; ++i) {
        const std::uint64_t value = random() % 4000;
        EXPECT_EQ(one_by_one.intern(value), at_once.intern(value));
      }
      for (auto& value : values) value = random() % 4000;
      if (count % 2 == 1) at_once.reserve(count);
      std::size_t told = 0;
      at_once.intern_all(values, [&](std::size_t i, std::uint32_t id) {
        EXPECT_EQ(i, told++);
        EXPECT_EQ(id, one_by_one.intern(values[i]));
      });
      EXPECT_EQ(told, count);
      for (std::size_t i = 0; i < count; ++i) values[i] = 4000 + i;
      at_once.append_new(values);
      for (const std::uint64_t value : values) one_by_one.intern(value);
      ASSERT_TRUE(std::ranges::equal(one_by_one.values(), at_once.values()));
      for (const std::uint64_t value : at_once.values())
        EXPECT_EQ(at_once.find(value), one_by_one.find(value));
    }
}

TEST(ValueDictionary, SmallNumbersNeedNoEntry) {
  ValueDictionary dictionary;
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{-(1 << 24)},
        std::int64_t{(1LL << 31) - (1 << 24) - 1}}) {
    const auto bits = static_cast<std::uint64_t>(number);
    EXPECT_EQ(dictionary.decode(dictionary.encode(bits)), bits);
  }
  EXPECT_EQ(dictionary.wides().size(), 0U);
}

TEST(ValueDictionary, LargeNumbersAndFloatsRoundTrip) {
  ValueDictionary dictionary;
  std::vector<std::uint64_t> patterns = {
      1ULL << 31,
      (1ULL << 31) - (1 << 24),
      static_cast<std::uint64_t>(-(1LL << 24) - 1),
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min()),
      std::bit_cast<std::uint64_t>(0.1),
      std::bit_cast<std::uint64_t>(-1.5)};
  for (const auto bits : patterns) {
    const Cell cell = dictionary.encode(bits);
    EXPECT_TRUE(is_wide_cell(cell));
    EXPECT_EQ(dictionary.decode(cell), bits);
    EXPECT_EQ(dictionary.encode(bits), cell);
  }
  EXPECT_EQ(dictionary.wides().size(), patterns.size());
}

}  // namespace
}  // namespace stratalog
