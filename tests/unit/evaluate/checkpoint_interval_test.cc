// SPDX-License-Identifier: Apache-2.0
// Daly's interval against a brute-force search for the least expected loss, and how the rule
// follows the cost.
#include "datalog/evaluate/checkpoint_interval.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stratalog::datalog {
namespace {

// Daly's model: failures are exponential with mean `mtbf`; a failure loses what was done since the
// last checkpoint. Expected time for a unit of work with interval `t` and cost `c`.
double expected_time(double t, double c, double mtbf) {
  return mtbf * (std::exp((t + c) / mtbf) - 1) / t;
}

TEST(CheckpointInterval, IsCloseToTheBestOne) {
  for (const double mtbf : {600.0, 3600.0, 86400.0})
    for (const double cost : {0.01, 1.0, 30.0, 200.0}) {
      double best = 1e300;
      for (double t = cost / 10; t < mtbf * 3; t *= 1.01)
        best = std::min(best, expected_time(t, cost, mtbf));
      const double found = expected_time(optimal_interval(cost, mtbf), cost, mtbf);
      EXPECT_LE(found, best * 1.01) << "cost " << cost << ", mtbf " << mtbf;
    }
  EXPECT_NEAR(optimal_interval(1, 86400), 414.9, 0.5);  // Young: sqrt(2 * 86400) = 415.7
  EXPECT_EQ(optimal_interval(100, 40), 40);
}

TEST(CheckpointInterval, FollowsTheCost) {
  IntervalRule rule(86400);
  ASSERT_TRUE(rule.is_on());
  EXPECT_DOUBLE_EQ(rule.interval_seconds(), optimal_interval(1, 86400));
  rule.note_cost(4);
  EXPECT_DOUBLE_EQ(rule.interval_seconds(), optimal_interval(4, 86400));
  rule.note_cost(8);
  EXPECT_DOUBLE_EQ(rule.cost_seconds(), 6);
  rule.note_cost(0);
  EXPECT_GT(rule.interval_seconds(), 0);
  EXPECT_EQ(IntervalRule(0).interval_seconds(), 0);
}

}  // namespace
}  // namespace stratalog::datalog
