// SPDX-License-Identifier: Apache-2.0
// Splitters and sample positions: exact small cases, and the promised bound on the largest part up
// to 16,384 ranks.
#include "route/splitters.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "unit/route/cpu_stopwatch.h"

namespace stratalog {
namespace {

TEST(SamplePosition, SamplesLieInStretchesThatCoverAllRows) {
  for (const std::uint64_t rows : {1ULL, 2ULL, 7ULL, 1000ULL}) {
    for (std::uint64_t count = 1; count <= std::min<std::uint64_t>(rows, 20); ++count) {
      std::uint64_t covered = 0;
      for (std::uint64_t i = 0; i < count; ++i) {
        const SamplePosition position = sample_position(rows, count, i, 3);
        EXPECT_GE(position.row, covered);
        covered += position.weight;
        EXPECT_LT(position.row, covered);
        EXPECT_LE(position.weight, (rows / count) + 1);
      }
      EXPECT_EQ(covered, rows);
    }
  }
}

TEST(Splitters, AllKeysSampledGiveExactQuarters) {
  const KeySamples samples{.width = 1,
                           .words = {70, 10, 30, 80, 20, 60, 50, 40},
                           .weights = std::vector<std::uint64_t>(8, 1)};
  const Splitters splitters = plan_splitters(samples, 4).value();
  EXPECT_EQ(splitters.words, (std::vector<std::uint64_t>{20, 40, 60}));
  const auto part = [&](std::uint64_t key) { return splitters.part_of(std::span(&key, 1)); };
  EXPECT_EQ(part(0), 0);
  EXPECT_EQ(part(20), 0);
  EXPECT_EQ(part(21), 1);
  EXPECT_EQ(part(60), 2);
  EXPECT_EQ(part(61), 3);
  EXPECT_EQ(part(~std::uint64_t{0}), 3);
}

TEST(Splitters, WideKeysAreComparedFromTheLeft) {
  const KeySamples samples{
      .width = 2, .words = {2, 1, 1, 9, 1, 2, 2, 0}, .weights = std::vector<std::uint64_t>(4, 1)};
  const Splitters splitters = plan_splitters(samples, 2).value();
  EXPECT_EQ(splitters.words, (std::vector<std::uint64_t>{1, 9}));
  EXPECT_EQ(splitters.part_of(std::array<std::uint64_t, 2>{1, 10}), 1);
  EXPECT_EQ(splitters.part_of(std::array<std::uint64_t, 2>{0, 99}), 0);
}

TEST(Splitters, NoSamplesOnePartAndNonsense) {
  EXPECT_EQ(plan_splitters({.width = 3, .words = {}, .weights = {}}, 5).value().parts(), 5);
  EXPECT_EQ(plan_splitters({.width = 1, .words = {4}, .weights = {1}}, 1).value().parts(), 1);
  EXPECT_EQ(plan_splitters({.width = 1, .words = {4}, .weights = {}}, 2).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(plan_splitters({.width = 0, .words = {}, .weights = {}}, 2).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(plan_splitters({}, 0).status().code(), StatusCode::kInvalidArgument);
}

// What `ranks` virtual ranks hold: sorted disjoint keys; every third rank nothing, rank 0 a giant
// share.
std::vector<std::vector<std::uint64_t>> make_shards(int ranks, std::mt19937_64& random) {
  std::vector<std::vector<std::uint64_t>> shards(static_cast<std::size_t>(ranks));
  for (std::size_t r = 0; r < shards.size(); ++r) {
    const std::size_t rows = r == 0 ? 100000 : (r % 3 == 1 ? 0 : random() % 60);
    const std::uint64_t range = r % 2 == 0 ? std::uint64_t{1} << 20U : std::uint64_t{1} << 40U;
    for (std::size_t i = 0; i < rows; ++i)
      shards[r].push_back(((random() % range) * static_cast<std::uint64_t>(ranks)) + r);
    std::ranges::sort(shards[r]);
    shards[r].erase(std::unique(shards[r].begin(), shards[r].end()), shards[r].end());
  }
  return shards;
}

TEST(SplittersProperty, PartsKeepTheirBoundUpTo16384Ranks) {
  constexpr std::uint64_t kSeed = 7;
  std::mt19937_64 random(kSeed);
  for (const int ranks : {1, 2, 3, 7, 64, 1000, 4096, 16384}) {
    SCOPED_TRACE(fmt::format("{} ranks, seed {}", ranks, kSeed));
    const auto shards = make_shards(ranks, random);
    std::uint64_t rows = 0;
    for (const auto& shard : shards) rows += shard.size();
    const std::uint64_t step =
        std::max<std::uint64_t>(1, rows / (16 * static_cast<std::uint64_t>(ranks)));
    KeySamples samples;
    std::uint64_t widest = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto& shard = shards[static_cast<std::size_t>(rank)];
      const std::uint64_t count = (shard.size() + step - 1) / step;
      for (std::uint64_t i = 0; i < count; ++i) {
        const SamplePosition position = sample_position(shard.size(), count, i, rank);
        samples.words.push_back(shard[position.row]);
        samples.weights.push_back(position.weight);
        widest = std::max(widest, position.weight);
      }
    }
    const CpuStopwatch stopwatch;
    const Splitters splitters = plan_splitters(samples, ranks).value();
    EXPECT_LT(stopwatch.seconds(), kPlanSeconds);
    ASSERT_TRUE(std::ranges::is_sorted(splitters.words));
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(ranks), 0);
    for (const auto& shard : shards) {
      int last = 0;
      for (const std::uint64_t key : shard) {
        const int part = splitters.part_of(std::span(&key, 1));
        ASSERT_GE(part, last) << "parts are not in the order of the keys";
        last = part;
        ++sizes[static_cast<std::size_t>(part)];
      }
    }
    const auto parts = static_cast<std::uint64_t>(ranks);
    EXPECT_LE(*std::ranges::max_element(sizes), (rows / parts) + (((2 * parts) + 1) * widest) + 1);
    // In practice the errors cancel.
    EXPECT_LE(*std::ranges::max_element(sizes), (2 * rows / parts) + (4 * widest) + 8);
  }
}

}  // namespace
}  // namespace stratalog
