// SPDX-License-Identifier: Apache-2.0
// SlotKeys: one number for each key of each relation, and new numbers.
#include "datalog/evaluate/slot_keys.h"

#include <gtest/gtest.h>

#include <array>

namespace stratalog::datalog {
namespace {

using Key = std::array<Cell, 2>;

TEST(SlotKeys, NumbersKeysOfSeveralRelations) {
  SlotKeys keys(std::array<std::uint32_t, 3>{2, 1, 0});
  const Key low = {3, 4};
  const Key high = {3, 9};
  const Cell seven = 7;
  EXPECT_EQ(keys.name(0, high.data()), 0U);
  EXPECT_EQ(keys.name(1, &seven), 1U);
  EXPECT_EQ(keys.name(0, low.data()), 2U);
  EXPECT_EQ(keys.name(2, nullptr), 3U);
  EXPECT_EQ(keys.name(0, high.data()), 0U) << "known";
  EXPECT_EQ(keys.slots(), 4U);
  EXPECT_EQ(keys.find(0, low.data()), SlotId{2});
  EXPECT_FALSE(keys.find(0, Key{4, 3}.data()));
  EXPECT_EQ(keys.find_single(7), SlotId{1});
  EXPECT_FALSE(keys.find_single(3)) << "not a key of its own";
  EXPECT_EQ(keys.position_of(1), 1U);
  EXPECT_EQ(keys.key_of(2)[1], 4U);
  EXPECT_EQ(keys.id_of(2), 1U) << "the second of its relation";
  EXPECT_GT(keys.memory_bytes(), 0U);

  EXPECT_EQ(keys.by_key(), (std::vector<SlotId>{2, 0, 1, 3}));
  keys.renumber(std::vector<SlotId>{2, 0, 3, 1});
  EXPECT_EQ(keys.find(0, low.data()), SlotId{0});
  EXPECT_EQ(keys.find(0, high.data()), SlotId{1});
  EXPECT_EQ(keys.position_of(2), 2U);
  EXPECT_EQ(keys.find_single(7), SlotId{3});
  EXPECT_EQ(keys.key_of(1)[1], 9U);
}

}  // namespace
}  // namespace stratalog::datalog
