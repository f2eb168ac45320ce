// SPDX-License-Identifier: Apache-2.0
// Skew against sums in long double, phases that carry equal bytes, and groups of ranks, at up to
// 16,384 ranks.
#include "policy/skew.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "policy/plan_layout.h"

namespace stratalog {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::vector<std::uint64_t> random_bytes(std::size_t ranks, std::uint64_t seed) {
  std::vector<std::uint64_t> bytes(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::uint64_t random = mix((seed * 131071) + r);
    bytes[r] = random % 5 == 0 ? 0 : random >> (10 + (random >> 8) % 50);
  }
  return bytes;
}

TEST(Skew, SpreadIsThatOfFloatingPoint) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::size_t ranks = seed % 3 == 0 ? 16384 : 1 + (seed * 7 % 64);
    auto bytes = random_bytes(ranks, seed);
    for (std::uint64_t& b : bytes) b >>= (seed % 2) * 20;
    long double sum = 0;
    long double squares = 0;
    for (const std::uint64_t b : bytes) {
      sum += b;
      squares += static_cast<long double>(b) * b;
    }
    const Skew skew = measure_skew(bytes);
    if (sum == 0) {
      EXPECT_EQ(skew.spread_squared_milli, 0U);
      continue;
    }
    const long double expected = (squares * ranks / (sum * sum) - 1) * 1000;
    EXPECT_NEAR(static_cast<double>(skew.spread_squared_milli), static_cast<double>(expected),
                1.5 + static_cast<double>(expected) * 1e-5)
        << seed;
  }
}

TEST(Skew, EmptyRanksCountOnlyAsPrinted) {
  const std::vector<std::uint64_t> bytes = {100, 90, 0, 110};
  const Skew skew = measure_skew(bytes);
  EXPECT_EQ(skew.smallest, 90U);
  EXPECT_EQ(skew.empty, 1U);
  EXPECT_FALSE(skew.ratio_exceeds(10, EmptyRanks::kLeftOut));
  EXPECT_TRUE(skew.ratio_exceeds(10, EmptyRanks::kAsPrinted));
  EXPECT_EQ(phases_for(skew, EmptyRanks::kLeftOut), 1U);
  EXPECT_EQ(phases_for(skew, EmptyRanks::kAsPrinted), 8U);
  const std::vector<std::uint64_t> nothing(5, 0);
  EXPECT_EQ(phases_for(measure_skew(nothing), EmptyRanks::kAsPrinted), 1U);
}

// table 1 O7: "4 phases if ratio > 10 or CV > 1, 8 phases if ratio > 100 or CV > 2".
TEST(Skew, PhasesAtTheirBoundaries) {
  const auto phases = [](std::vector<std::uint64_t> bytes) {
    return phases_for(measure_skew(bytes), EmptyRanks::kLeftOut);
  };
  EXPECT_EQ(phases({10, 100}), 1U);
  EXPECT_EQ(phases({10, 101}), 4U);
  EXPECT_EQ(phases({10, 1000}), 4U);
  EXPECT_EQ(phases({10, 1001}), 8U);
  // One rank of n with everything: (deviation/mean)^2 = n - 1, without a ratio.
  EXPECT_EQ(phases({7, 0}), 1U);
  EXPECT_EQ(phases({7, 0, 0}), 4U);
  EXPECT_EQ(phases({7, 0, 0, 0, 0}), 4U);
  EXPECT_EQ(phases({7, 0, 0, 0, 0, 0}), 8U);
}

TEST(Skew, PhasesCarryEqualBytes) {
  for (const std::size_t ranks : {1, 3, 8, 100, 16384})
    for (const std::uint32_t phases : {4U, 8U}) {
      const auto bytes = random_bytes(ranks, ranks);
      const auto phase_of = deal_phases(bytes, phases);
      ASSERT_EQ(phase_of.size(), ranks);
      std::vector<std::uint64_t> load(phases, 0);
      for (std::size_t r = 0; r < ranks; ++r) {
        ASSERT_LT(phase_of[r], phases);
        load[phase_of[r]] += bytes[r];
      }
      const std::uint64_t largest = *std::max_element(bytes.begin(), bytes.end());
      EXPECT_LE(
          *std::max_element(load.begin(), load.end()) - *std::min_element(load.begin(), load.end()),
          largest);
      EXPECT_EQ(deal_phases(bytes, phases), phase_of);
    }
}

TEST(Groups, AreConsecutiveWithoutGapsAndBalanced) {
  for (const std::size_t ranks : {1, 2, 5, 64, 1000, 16384})
    for (const std::uint32_t files : {1U, 2U, 7U, 64U, 20000U})
      for (const std::uint64_t seed : {0U, 1U, 2U}) {
        const auto bytes =
            seed == 0 ? std::vector<std::uint64_t>(ranks, 1000) : random_bytes(ranks, seed);
        const auto file_of = group_ranks(bytes, {}, files);
        ASSERT_EQ(file_of.size(), ranks);
        EXPECT_EQ(file_of[0], 0U);
        for (std::size_t r = 1; r < ranks; ++r)
          ASSERT_LE(file_of[r] - file_of[r - 1], 1U);  // also: never descending
        EXPECT_LT(file_of.back(), files);
        const std::uint64_t groups = std::min<std::uint64_t>(files, ranks);
        std::vector<std::uint64_t> load(groups, 0);
        for (std::size_t r = 0; r < ranks; ++r) load[file_of[r]] += bytes[r] + 1;
        const std::uint64_t sum = std::accumulate(load.begin(), load.end(), std::uint64_t{0});
        const std::uint64_t largest = *std::max_element(bytes.begin(), bytes.end()) + 1;
        for (const std::uint64_t l : load) EXPECT_LE(l, sum / groups + largest + 1);
        if (seed == 0) {
          EXPECT_EQ(file_of.back() + 1, groups);
        }
      }
}

TEST(Groups, KeepNodesTogetherWhileThereAreEnough) {
  std::vector<int> node_of(64);
  for (std::size_t r = 0; r < node_of.size(); ++r) node_of[r] = static_cast<int>(r / 8);
  const std::vector<std::uint64_t> bytes(64, 1 << 20);
  for (const std::uint32_t files : {1U, 2U, 3U, 8U}) {
    const auto file_of = group_ranks(bytes, node_of, files);
    EXPECT_EQ(file_of.back() + 1, files);
    for (std::size_t r = 1; r < 64; ++r)
      if (node_of[r] == node_of[r - 1]) {
        EXPECT_EQ(file_of[r], file_of[r - 1]);
      }
  }
  EXPECT_EQ(group_ranks(bytes, node_of, 16).back() + 1, 16U);
}

}  // namespace
}  // namespace stratalog
