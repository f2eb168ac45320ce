// SPDX-License-Identifier: Apache-2.0
// Branches without fields, in goals as in output files or as in programs.
#include "datalog/prove/goal_text.h"

#include <gtest/gtest.h>

namespace stratalog::datalog {
namespace {

TEST(GoalText, BranchesGetTheirParentheses) {
  EXPECT_EQ(with_written_out_branches("nat($Zero)"), "nat($Zero())");
  EXPECT_EQ(with_written_out_branches("nat($Zero())"), "nat($Zero())");
  EXPECT_EQ(with_written_out_branches("nat($Succ($Zero), [$a.B, 1])"),
            "nat($Succ($Zero()), [$a.B(), 1])");
  EXPECT_EQ(with_written_out_branches("nat($Succ ($Zero ))"), "nat($Succ ($Zero() ))");
  EXPECT_EQ(with_written_out_branches("$"), "$");
  EXPECT_EQ(with_written_out_branches("$Zero"), "$Zero()");
}

TEST(GoalText, StringsStayAsTheyAre) {
  EXPECT_EQ(with_written_out_branches(R"(a("$Zero", "\"$Zero", $Zero))"),
            R"(a("$Zero", "\"$Zero", $Zero()))");
  EXPECT_EQ(with_written_out_branches(R"(a("open $Zero)"), R"(a("open $Zero)");
}

}  // namespace
}  // namespace stratalog::datalog
