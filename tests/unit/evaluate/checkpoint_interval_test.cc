// SPDX-License-Identifier: Apache-2.0
// Daly's interval against a brute-force search for the least expected loss, and how the rule
// follows the cost.
#include "datalog/evaluate/checkpoint_interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

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
  IntervalRule rule({.mtbf_seconds = 86400});
  ASSERT_TRUE(rule.is_on());
  EXPECT_DOUBLE_EQ(rule.interval_seconds(), optimal_interval(1, 86400));
  rule.note_cost(4);
  EXPECT_DOUBLE_EQ(rule.interval_seconds(), optimal_interval(4, 86400));
  rule.note_cost(8);
  EXPECT_DOUBLE_EQ(rule.cost_seconds(), 6);
  rule.note_cost(0);
  EXPECT_GT(rule.interval_seconds(), 0);
  EXPECT_FALSE(rule.is_due(rule.interval_seconds() - 1, 1e9));
  EXPECT_TRUE(rule.is_due(rule.interval_seconds(), rule.interval_seconds()));
  EXPECT_EQ(IntervalRule(IntervalBasis()).interval_seconds(), 0);
  EXPECT_FALSE(IntervalRule(IntervalBasis()).is_on());
}

// Costs go up and down a thousandfold, and unforeseen; the share holds at the end of each
// checkpoint but for what that one cost more than was expected, and what is allowed is used.
TEST(CheckpointInterval, KeepsToAShareOfTheRun) {
  constexpr double kShare = 0.02;
  IntervalRule rule({.most_share = kShare});
  ASSERT_TRUE(rule.is_on());
  EXPECT_FALSE(rule.is_due(49, 49));  // one second is assumed
  EXPECT_TRUE(rule.is_due(50, 50));
  double now = 0;
  double last = 0;
  double spent = 0;
  int written = 0;
  for (std::uint64_t draw = 1; now < 20000; now += 0.25) {
    if (!rule.is_due(now - last, now)) continue;
    draw = draw * 6364136223846793005U + 1442695040888963407U;
    const double cost = 0.002 * std::pow(1000, static_cast<double>(draw >> 40) / (1 << 24));
    const double expected = rule.cost_seconds();
    now += cost;
    spent += cost;
    ++written;
    EXPECT_LE(spent, (kShare * now) + std::max(0.0, cost - expected) + 1e-9) << "at " << now;
    rule.note_cost(cost);
    last = now;
  }
  EXPECT_GT(spent, 0.5 * kShare * now);
  EXPECT_GT(written, 100);
}

TEST(CheckpointInterval, DoesNotMakeUpForCheapOnesAllAtOnce) {
  IntervalRule rule({.most_share = 0.02});
  rule.note_cost(0.02);  // where one second was allowed
  EXPECT_FALSE(rule.is_due(0.5, 50.5));
  EXPECT_TRUE(rule.is_due(1.1, 51.1));
}

}  // namespace
}  // namespace stratalog::datalog
