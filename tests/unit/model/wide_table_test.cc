// SPDX-License-Identifier: Apache-2.0
// WideTable and how ValueDictionary cuts numbers into narrow and wide cells.
#include "model/wide_table.h"

#include <gtest/gtest.h>

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
