// SPDX-License-Identifier: Apache-2.0
// plan_buckets: small plans as text, bounds on balance for skewed, empty and one-giant loads up to
// 16,384 ranks.
#include "route/bucket_map.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "unit/route/cpu_stopwatch.h"

namespace stratalog {
namespace {

using Rows = std::vector<std::uint64_t>;

BucketMap plan(const Rows& rows, int ranks, const BucketOptions& options = {.min_rows = 0}) {
  auto planned = plan_buckets(rows, ranks, options);
  EXPECT_TRUE(planned.is_ok()) << planned.status().to_string();
  return planned.is_ok() ? std::move(planned).value() : BucketMap::trivial(1, 1);
}

TEST(BucketMap, EvenLoadsStayWholeAndAtHome) {
  const BucketMap map = plan({10, 12, 9, 11, 10, 10}, 3);
  EXPECT_TRUE(map.is_trivial());
  EXPECT_EQ(map, BucketMap::trivial(6, 3));
  EXPECT_EQ(map.to_text(), "6 buckets on 3 ranks, all whole and at home\n");
  EXPECT_EQ(map.owner(3, 12345), 1);
  ASSERT_EQ(map.ranks_of(5).size(), 1U);
  EXPECT_EQ(map.ranks_of(5)[0], 2);
  EXPECT_FALSE(map.is_split(5));
}

TEST(BucketMap, WholeAndAtHomeIsWherePlainDealingBringsATuple) {
  std::mt19937_64 random(7);
  for (const int ranks : {1, 2, 3, 7, 64, 16384}) {
    const BucketMap map = BucketMap::trivial(8 * static_cast<std::uint32_t>(ranks), ranks);
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t hash = random();
      ASSERT_EQ(map.owner(map.bucket_of(hash), 0),
                static_cast<int>(scale_hash(hash, static_cast<std::uint32_t>(ranks))));
    }
  }
}

TEST(BucketMap, AGiantIsSplitExactlyAsOftenAsNeeded) {
  // Mean 25: the giant of 76 needs 4 parts of 19.
  EXPECT_EQ(plan({8, 76, 8, 8}, 4).to_text(),
            "4 buckets on 4 ranks\n"
            "bucket 1: 4 parts on 1 0 2 3\n");
  // Mean 10: 60 needs 6 parts, on the ranks that have least.
  EXPECT_EQ(plan({8, 8, 8, 60, 2, 2, 2, 2, 4, 4}, 10).to_text(),
            "10 buckets on 10 ranks\n"
            "bucket 3: 6 parts on 3 4 5 6 7 8\n");
}

TEST(BucketMap, ManyBucketsOnOneHomeAreMoved) {
  // All buckets of rank 0 are large; each is below the bound, together they are not. Mean 50.
  EXPECT_EQ(plan({60, 60, 0, 0, 60, 20, 0, 0}, 4, {.skew_percent = 200, .min_rows = 0}).to_text(),
            "8 buckets on 4 ranks\n"
            "bucket 1: whole on 1\n");
}

TEST(BucketMap, TiesGoToTheLowerBucketAndRank) {
  const BucketMap map = plan({100, 100, 0, 0, 0, 0, 0, 0}, 8);
  EXPECT_EQ(map.to_text(),
            "8 buckets on 8 ranks\n"
            "bucket 0: 4 parts on 0 1 2 3\n"
            "bucket 1: 4 parts on 4 5 6 7\n");
  std::set<int> owners;
  for (std::uint64_t i = 0; i < 64; ++i) owners.insert(map.owner(1, i << 58U));
  EXPECT_EQ(owners, (std::set<int>{4, 5, 6, 7}));
}

TEST(BucketMap, LargePartsAreDealtFirst) {
  // Mean 12: the later bucket's parts of 12 before the earlier one's of 10.
  EXPECT_EQ(plan({30, 60, 0, 0, 0, 0, 0, 0}, 8).to_text(),
            "8 buckets on 8 ranks\n"
            "bucket 0: 3 parts on 5 6 7\n"
            "bucket 1: 5 parts on 0 1 2 3 4\n");
}

TEST(BucketMap, OptionsLimitSplits) {
  EXPECT_EQ(plan({0, 90, 0, 0}, 4, {.max_sub_buckets = 2, .min_rows = 0}).sub_buckets(1), 2U);
  // Nothing can be split: the giant moves to nobody, as all are empty and it is at home already.
  EXPECT_EQ(plan({90, 0, 0, 0}, 4, {.max_sub_buckets = 1, .min_rows = 0}),
            BucketMap::trivial(4, 4));
  EXPECT_TRUE(plan({0, 90, 0, 0}, 4, {.min_rows = 91}).is_trivial());
  EXPECT_FALSE(plan({0, 90, 0, 0}, 4, {.min_rows = 90}).is_trivial());
  EXPECT_TRUE(plan({0, 90, 0, 0}, 4, {.skew_percent = 400, .min_rows = 0}).is_trivial());
}

TEST(BucketMap, RefusesWhatMakesNoSense) {
  const Rows one{1};
  EXPECT_EQ(plan_buckets({}, 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(plan_buckets(one, 2).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(plan_buckets(one, 0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(plan_buckets(one, 1, {.skew_percent = 99}).status().code(),
            StatusCode::kInvalidArgument);
  const Rows huge(4, std::numeric_limits<std::int64_t>::max() / 2);
  EXPECT_EQ(plan_buckets(huge, 2).status().code(), StatusCode::kInvalidArgument);
}

TEST(BucketMap, NumbersNearTheLimitDoNotOverflow) {
  const std::uint64_t big = std::numeric_limits<std::int64_t>::max() / 4;
  const BucketMap map =
      plan({big, 1, big, 1, 0, 0}, 3, {.skew_percent = 0xffffffffU, .min_rows = 0});
  EXPECT_TRUE(map.is_trivial());
  EXPECT_EQ(plan({4 * big, 0, 0}, 3).sub_buckets(0), 3U);
}

// How the loads come about: each shape must keep the promises at every number of ranks.
enum class Shape : std::uint8_t {
  kEven,
  kEmpty,
  kOneGiant,
  kOneRow,
  kPowerLaw,
  kHalfEmpty,
  kFewHeavy
};

Rows make_rows(Shape shape, std::size_t buckets, std::mt19937_64& random) {
  Rows rows(buckets, 0);
  switch (shape) {
    case Shape::kEven:
      for (auto& r : rows) r = 1000 + (random() % 100);
      break;
    case Shape::kEmpty:
      break;
    case Shape::kOneGiant:
      rows[random() % buckets] = 1'000'000'000;
      break;
    case Shape::kOneRow:
      rows[random() % buckets] = 1;
      break;
    case Shape::kPowerLaw:
      for (std::size_t b = 0; b < buckets; ++b)
        rows[b] = 1'000'000'000 / ((b * 7919 % buckets) + 1);
      break;
    case Shape::kHalfEmpty:
      for (std::size_t b = 0; b < buckets; b += 2) rows[b] = random() % 5000;
      break;
    case Shape::kFewHeavy:
      for (auto& r : rows) r = random() % 10;
      for (int i = 0; i < 5; ++i) rows[random() % buckets] += 1'000'000;
      break;
  }
  return rows;
}

// Each row has one owner among ranks_of, parts are on distinct ranks, and no rank holds more than
// the header promises.
void check_plan(const BucketMap& map, const Rows& rows, int ranks, const BucketOptions& options) {
  const std::uint64_t total = std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
  const std::uint64_t mean =
      (total + static_cast<std::uint64_t>(ranks) - 1) / static_cast<std::uint64_t>(ranks);
  std::vector<std::uint64_t> load(static_cast<std::size_t>(ranks), 0);
  std::vector<std::uint32_t> last_seen(static_cast<std::size_t>(ranks), 0);
  std::uint64_t parts = 0;
  ASSERT_EQ(map.buckets(), rows.size());
  for (std::uint32_t b = 0; b < map.buckets(); ++b) {
    const auto holders = map.ranks_of(b);
    ASSERT_EQ(holders.size(), map.sub_buckets(b));
    ASSERT_EQ(map.is_split(b), holders.size() > 1);
    parts += holders.size();
    std::uint64_t given = 0;
    for (std::size_t sub = 0; sub < holders.size(); ++sub) {
      const auto rank = static_cast<std::size_t>(holders[sub]);
      ASSERT_LT(rank, load.size());
      ASSERT_NE(last_seen[rank], b + 1) << "bucket " << b << " is twice on rank " << rank;
      last_seen[rank] = b + 1;
      const std::uint64_t part = ((rows[b] + sub) / holders.size());
      load[rank] += part;
      given += part;
      // A hash in the middle of the sub-bucket's range finds this rank.
      const std::uint64_t hash = static_cast<std::uint64_t>(
          ((static_cast<long double>(sub) + 0.5L) / static_cast<long double>(holders.size())) *
          18446744073709551616.0L);
      ASSERT_EQ(map.owner(b, hash), holders[sub]);
    }
    ASSERT_EQ(given, rows[b]);
    ASSERT_TRUE(holders.size() == 1 || rows[b] * 100 > options.skew_percent * mean);
  }
  EXPECT_LE(parts, rows.size() + (2 * static_cast<std::uint64_t>(ranks)));
  EXPECT_LE(*std::ranges::max_element(load), (options.skew_percent + 100) * mean / 100 + 1);
}

TEST(BucketMapProperty, KeepsItsPromisesUpTo16384Ranks) {
  constexpr std::uint64_t kSeed = 20240611;
  std::mt19937_64 random(kSeed);
  for (const int ranks : {1, 2, 3, 7, 64, 1000, 4096, 16384}) {
    for (const std::size_t per_rank : {std::size_t{1}, std::size_t{4}}) {
      for (const Shape shape : {Shape::kEven, Shape::kEmpty, Shape::kOneGiant, Shape::kOneRow,
                                Shape::kPowerLaw, Shape::kHalfEmpty, Shape::kFewHeavy}) {
        SCOPED_TRACE(fmt::format("{} ranks, {} buckets each, shape {}, seed {}", ranks, per_rank,
                                 static_cast<int>(shape), kSeed));
        const Rows rows = make_rows(shape, static_cast<std::size_t>(ranks) * per_rank, random);
        const BucketOptions options{
            .skew_percent = 100 + static_cast<std::uint32_t>(random() % 200), .min_rows = 0};
        const CpuStopwatch stopwatch;
        const BucketMap map = plan(rows, ranks, options);
        EXPECT_LT(stopwatch.seconds(), kPlanSeconds);
        check_plan(map, rows, ranks, options);
        EXPECT_EQ(map, plan(rows, ranks, options));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace stratalog
