// SPDX-License-Identifier: Apache-2.0
// Branches without fields, in goals as in output files or as in programs.
#include "datalog/prove/goal_text.h"

#include <gtest/gtest.h>

namespace stratalog::datalog {
namespace {

TEST(GoalText, BranchesGetTheirParentheses) {
  EXPECT_EQ(as_in_programs("nat($Zero)"), "nat($Zero())");
  EXPECT_EQ(as_in_programs("nat($Zero())"), "nat($Zero())");
  EXPECT_EQ(as_in_programs("nat($Succ($Zero), [$a.B, 1])"), "nat($Succ($Zero()), [$a.B(), 1])");
  EXPECT_EQ(as_in_programs("nat($Succ ($Zero ))"), "nat($Succ ($Zero() ))");
  EXPECT_EQ(as_in_programs("$"), "$");
  EXPECT_EQ(as_in_programs("$Zero"), "$Zero()");
}

TEST(GoalText, NumbersWithAnExponentGetTheirPoint) {
  EXPECT_EQ(as_in_programs("f(1e22, -1e-07, 1E+5, [2e0])"), "f(1.0e22, -1.0e-07, 1.0E+5, [2.0e0])");
  EXPECT_EQ(as_in_programs("f(1.5e22, 12, 0x1e5, x1e5, 1e, 1e-, e5, 3u)"),
            "f(1.5e22, 12, 0x1e5, x1e5, 1e, 1e-, e5, 3u)");
}

TEST(GoalText, StringsStayAsTheyAre) {
  EXPECT_EQ(as_in_programs(R"(a("$Zero", "\"$Zero", $Zero))"), R"(a("$Zero", "\"$Zero", $Zero()))");
  EXPECT_EQ(as_in_programs(R"(a("open $Zero)"), R"(a("open $Zero)");
}

}  // namespace
}  // namespace stratalog::datalog
