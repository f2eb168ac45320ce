// SPDX-License-Identifier: Apache-2.0
// Which values count as frequent, and what part of the rows they meet in a join.
#include "datalog/plan/frequent_values.h"

#include <gtest/gtest.h>

namespace stratalog::datalog {
namespace {

std::vector<std::uint64_t> even_rows(std::uint64_t each) {
  return std::vector<std::uint64_t>(kValueBuckets, each);
}

TEST(FrequentValues, AreThoseWithMoreThanTheirShareOfRowsMostFirst) {
  std::vector<std::uint64_t> rows = even_rows(10);  // 10,240
  rows[7] = 1'000;
  rows[3] = 3'000;
  rows[9] = 150;  // one in 95
  const auto frequent = frequent_values(rows, 900);
  ASSERT_EQ(frequent.size(), 2U);
  EXPECT_EQ(frequent[0].bucket, 3U);
  EXPECT_NEAR(frequent[0].per_million, 3'000'000'000 / 14'360.0, 2);
  EXPECT_EQ(frequent[1].bucket, 7U);
}

// Four values with a quarter of the rows each are frequent, and no more than their number says.
TEST(FrequentValues, AreNoneWhereAllHaveAsManyRows) {
  std::vector<std::uint64_t> rows(kValueBuckets);
  for (const std::size_t bucket : {1, 17, 400, 1'000}) rows[bucket] = 500;
  EXPECT_TRUE(frequent_values(rows, 4).empty());
  EXPECT_TRUE(frequent_values(even_rows(1), 1'000'000).empty());
  EXPECT_TRUE(frequent_values(even_rows(0), 0).empty());
}

TEST(FrequentValues, CountsOfAllSizesHaveShares) {
  std::vector<std::uint64_t> rows = even_rows(std::uint64_t{1} << 40);
  rows[5] = std::uint64_t{1} << 52;
  const auto frequent = frequent_values(rows, 100'000);
  ASSERT_EQ(frequent.size(), 1U);
  EXPECT_NEAR(frequent[0].per_million, 1e6 * 4'096 / (4'096 + 1'023.0), 2);
}

TEST(FrequentValues, MeetThoseOfTheSameBucketOnly) {
  const std::vector<FrequentValue> here = {{.bucket = 2, .per_million = 500'000},
                                           {.bucket = 4, .per_million = 100'000}};
  const std::vector<FrequentValue> there = {{.bucket = 4, .per_million = 200'000},
                                            {.bucket = 9, .per_million = 600'000}};
  EXPECT_DOUBLE_EQ(frequent_meetings(here, there), 0.02);
  EXPECT_DOUBLE_EQ(frequent_meetings(here, here), 0.26);
  EXPECT_EQ(frequent_meetings(here, {}), 0);
}

}  // namespace
}  // namespace stratalog::datalog
