// SPDX-License-Identifier: Apache-2.0
// Series stay bounded, and merged points add up to what was put in.
#include "profile/series.h"

#include <gtest/gtest.h>

namespace stratalog {
namespace {

TEST(RoundSeries, StaysBoundedAndKeepsSums) {
  RoundSeries series(64);
  std::uint64_t sum = 0;
  for (std::uint64_t round = 1; round <= 10000; ++round) {
    series.add(3, round, round * 7, 0.5);
    sum += round * 7;
  }
  EXPECT_LE(series.points().size(), 64U);
  EXPECT_GE(series.points().size(), 32U);
  std::uint64_t found = 0;
  std::uint64_t next = 1;
  double seconds = 0;
  for (const ProfileRounds& point : series.points()) {
    EXPECT_EQ(point.first, next) << "no round is lost or counted twice";
    EXPECT_EQ(point.largest, (point.first + point.rounds - 1) * 7);
    next += point.rounds;
    found += point.new_tuples;
    seconds += point.seconds.value_or(-1e9);
  }
  EXPECT_EQ(found, sum);
  EXPECT_EQ(next, 10001U);
  EXPECT_DOUBLE_EQ(seconds, 5000);
}

TEST(RoundSeries, NeverMergesStrata) {
  RoundSeries series(8);
  for (std::uint32_t stratum = 0; stratum < 100; ++stratum) series.add(stratum, 1, 1, std::nullopt);
  ASSERT_EQ(series.points().size(), 100U);
  EXPECT_EQ(series.points()[57].stratum, 57U);
  EXPECT_FALSE(series.points()[57].seconds.has_value());
}

TEST(RoundSeries, TimeIsUnknownWhereAPartOfItIs) {
  RoundSeries series(2);
  series.add(0, 1, 1, 1.0);
  series.add(0, 2, 1, std::nullopt);
  series.add(0, 3, 1, 1.0);
  ASSERT_EQ(series.points().size(), 2U);
  EXPECT_FALSE(series.points()[0].seconds.has_value());
  EXPECT_EQ(series.points()[1].seconds, 1.0);
}

TEST(SampleSeries, ThinsOutEvenlyOverTime) {
  SampleSeries series(100);
  for (int i = 0; i < 5000; ++i) {
    const double at = i * 0.01;
    if (series.wants(at)) series.add({.at_seconds = at, .stratum = 0, .memory_bytes = 1});
  }
  const auto& samples = series.samples();
  EXPECT_LE(samples.size(), 101U);
  EXPECT_GE(samples.size(), 40U);
  EXPECT_EQ(samples.front().at_seconds, 0);
  EXPECT_GT(samples.back().at_seconds, 47);
  for (std::size_t i = 1; i < samples.size(); ++i)
    EXPECT_LT(samples[i].at_seconds - samples[i - 1].at_seconds, 3);
}

}  // namespace
}  // namespace stratalog
