// SPDX-License-Identifier: Apache-2.0
// Bindings that come again in a pass are dropped, and looking for them ends where there are few.
#include "datalog/evaluate/repeat_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace stratalog::datalog {
namespace {

class RepeatedBindings : public testing::Test {
 protected:
  RepeatedBindings() {
    batch_.columns.resize(3);
    batch_.allocate(0);
    batch_.allocate(2);
  }

  // Rows whose two variables are `first`, `first` + 1, ... modulo `values`; how many are left.
  std::uint32_t left_of(std::uint32_t rows, Cell first, Cell values) {
    batch_.rows = rows;
    for (std::uint32_t row = 0; row < rows; ++row) {
      batch_.columns[0][row] = (first + row) % values;
      batch_.columns[2][row] = 7 * ((first + row) % values);
    }
    filter_.filter(batch_);
    for (std::uint32_t row = 0; row < batch_.rows; ++row)
      EXPECT_EQ(batch_.columns[2][row], 7 * batch_.columns[0][row]);
    return batch_.rows;
  }

  Batch batch_;
  RepeatFilter filter_{{0, 2}};
};

TEST_F(RepeatedBindings, PassOnceInAPassOfTheRule) {
  EXPECT_EQ(left_of(1024, 0, 100), 100U);
  EXPECT_EQ(batch_.columns[0][99], 99U) << "the first ones stay, in their order";
  EXPECT_EQ(left_of(1024, 50, 100), 0U);
  EXPECT_EQ(left_of(3, 98, 101), 1U) << "of a small batch as well, once it looks";
  filter_.forget();
  EXPECT_EQ(left_of(1024, 0, 100), 100U);
}

TEST_F(RepeatedBindings, AFewRowsAreNotWorthALook) {
  EXPECT_EQ(left_of(10, 0, 2), 10U);
  EXPECT_EQ(left_of(10, 0, 2), 10U);
}

TEST_F(RepeatedBindings, LookingRestsWhereLittleIsRepeated) {
  Cell next = 0;
  for (int i = 0; i < 16; ++i, next += 1024) ASSERT_EQ(left_of(1024, next, 1U << 30), 1024U);
  filter_.forget();
  for (int i = 0; i < 16; ++i) ASSERT_EQ(left_of(1024, 0, 100), 1024U) << "it rests";
  EXPECT_EQ(left_of(1024, 0, 100), 100U) << "and looks again";
  // Twice as long after the second time in turn.
  for (int i = 0; i < 15; ++i, next += 1024) ASSERT_EQ(left_of(1024, next, 1U << 30), 1024U);
  for (int i = 0; i < 32; ++i) ASSERT_EQ(left_of(1024, 0, 100), 1024U);
  EXPECT_EQ(left_of(1024, 0, 100), 100U);
}

TEST_F(RepeatedBindings, SetsBelongToTheirBindings) {
  IntSet one;
  IntSet other;
  IntSet many;
  one.assign_sorted(std::vector<Cell>{5});
  other.assign_sorted(std::vector<Cell>{6});
  many.assign_sorted(std::vector<Cell>{5, 6});
  batch_.sets.resize(kBatchRows);
  for (std::uint32_t row = 0; row < 900; ++row)
    batch_.sets[row] = row < 300 ? &one : row < 600 ? &other : &many;
  EXPECT_EQ(left_of(900, 0, 1), 302U) << "large sets are not compared";
}

}  // namespace
}  // namespace stratalog::datalog
