// SPDX-License-Identifier: Apache-2.0
// Orders of a benchmark's cases: each case once, and after each other one equally often.
#include "bench/case_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

namespace stratalog {
namespace {

TEST(CaseOrder, EachFollowsEachOtherEquallyOften) {
  for (std::size_t cases = 1; cases <= 12; ++cases) {
    const bool is_odd = cases % 2 != 0;
    std::map<std::pair<std::size_t, std::size_t>, int> follows;
    for (std::uint64_t repeat = 0; repeat < (is_odd ? 2 * cases : cases); ++repeat) {
      std::vector<std::size_t> order = case_order(cases, repeat);
      for (std::size_t i = 1; i < order.size(); ++i) ++follows[{order[i - 1], order[i]}];
      std::sort(order.begin(), order.end());
      ASSERT_EQ(order.size(), cases);
      for (std::size_t i = 0; i < cases; ++i) EXPECT_EQ(order[i], i);
    }
    EXPECT_EQ(follows.size(), cases * (cases - 1));
    for (const auto& [pair, times] : follows) EXPECT_EQ(times, is_odd ? 2 : 1) << cases;
  }
}

TEST(CaseOrder, FewRepeatsDoNotFollowTheSameMoreThanTwice) {
  for (const std::size_t cases : {8U, 9U}) {
    std::map<std::pair<std::size_t, std::size_t>, int> follows;
    for (std::uint64_t repeat = 0; repeat < 5; ++repeat) {
      const std::vector<std::size_t> order = case_order(cases, repeat);
      for (std::size_t i = 1; i < cases; ++i) ++follows[{order[i - 1], order[i]}];
    }
    for (const auto& [pair, times] : follows) EXPECT_LE(times, 2) << cases;
  }
}

TEST(CaseOrder, NothingAndAnyRepeat) {
  EXPECT_TRUE(case_order(0, 5).empty());
  EXPECT_EQ(case_order(1, ~std::uint64_t{0}), std::vector<std::size_t>{0});
  EXPECT_EQ(case_order(4, 4), case_order(4, 0));
}

}  // namespace
}  // namespace stratalog
