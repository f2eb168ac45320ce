// SPDX-License-Identifier: Apache-2.0
// Growth guessed from walks, against the number of ways that there are.
#include "datalog/pivot/growth_guess.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace stratalog {
namespace {

using Successors = std::vector<std::vector<SlotId>>;

SlotGraph graph_along(Successors successors) {
  return SlotGraph([edges = std::move(successors)](std::span<const SlotId> batch, EdgeSink& sink) {
    for (std::uint32_t i = 0; i < batch.size(); ++i)
      for (const SlotId to : edges[batch[i]]) sink.add(i, to);
    return Status();
  });
}

GrowthGuess guessed(const Successors& successors, const std::vector<SlotId>& starts,
                    std::uint64_t enough = 1U << 30) {
  SlotGraph graph = graph_along(successors);
  const auto guess = guess_growth(graph, starts, enough);
  EXPECT_TRUE(guess.is_ok());
  return guess.value();
}

TEST(GrowthGuess, IsExactWhereThereIsOneWay) {
  const Successors chain{{1}, {2}, {3}, {}, {}};
  EXPECT_EQ(guessed(chain, {}).derived, 0U);
  EXPECT_EQ(guessed(chain, {3, 4}).derived, 0U);
  EXPECT_EQ(guessed(chain, {0, 1, 4}).derived, 3U + 2U);
  EXPECT_EQ(guessed(chain, {0, 0}).walks, 2U);
}

TEST(GrowthGuess, CountsAllWaysOfATree) {
  // 0 has three successors, each of which has two.
  const Successors tree{{1, 2, 3}, {4, 5}, {5, 6}, {7, 8}, {}, {}, {}, {}, {}};
  EXPECT_EQ(guessed(tree, {0}).derived, 3U + 6U);
}

TEST(GrowthGuess, EndsOnLoopsAndWhenThereIsEnough) {
  const Successors loop{{1}, {0}};
  EXPECT_GE(guessed(loop, {0}).derived, 64U);
  const Successors complete{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}};
  const GrowthGuess guess = guessed(complete, {0, 1}, 100);
  EXPECT_GE(guess.derived, 100U);
  EXPECT_LE(guess.derived, 2U * (4 + 16 + 64));
}

TEST(GrowthGuess, MeetsTheMeanOfRandomGraphs) {
  // Of n nodes with c * n edges a walk has c + c^2 + ... ways to go on.
  constexpr SlotId kNodes = 20000;
  std::mt19937_64 random(11);
  Successors successors(kNodes);
  for (SlotId e = 0; e < kNodes / 2; ++e)
    successors[random() % kNodes].push_back(static_cast<SlotId>(random() % kNodes));
  std::vector<SlotId> starts(kNodes);
  std::iota(starts.begin(), starts.end(), SlotId{0});
  const GrowthGuess guess = guessed(successors, starts);
  EXPECT_NEAR(static_cast<double>(guess.derived) / kNodes, 1.0, 0.1);
}

double tuples_per_slot(const Successors& successors, const std::vector<SlotId>& starts,
                       std::vector<SlotId> known) {
  SlotGraph graph = graph_along(successors);
  graph.reserve_slot(static_cast<SlotId>(successors.size() - 1));
  EXPECT_TRUE(graph.expand(known).is_ok());
  return guess_tuples_per_slot(graph, starts);
}

TEST(GrowthGuess, CountsTheTuplesOfSlots) {
  const Successors chain{{1}, {2}, {3}, {}};
  const std::vector<SlotId> all{0, 1, 2, 3};
  EXPECT_EQ(tuples_per_slot(chain, {}, all), 0.0);
  EXPECT_EQ(tuples_per_slot(chain, {0}, all), 1.0);
  EXPECT_EQ(tuples_per_slot(chain, {0, 1, 2, 3}, all), 10.0 / 4);
  EXPECT_EQ(tuples_per_slot(chain, {0, 0}, all), 2.0);
  EXPECT_EQ(tuples_per_slot(chain, {0}, {0}), 2.0 / 4) << "beyond 1 nothing is known";
  const Successors loop{{1}, {2}, {0}};
  EXPECT_EQ(tuples_per_slot(loop, {0, 1, 2}, {0, 1, 2}), 3.0);
  const Successors diamond{{1, 2}, {3}, {3}, {}};
  EXPECT_EQ(tuples_per_slot(diamond, {0}, all), 1.0) << "3 is reached once, though by two ways";
}

TEST(GrowthGuess, FollowsSomeOfManyStarts) {
  // Chains of five; each slot is a start.
  constexpr SlotId kSlots = 10000;
  Successors successors(kSlots);
  std::vector<SlotId> all(kSlots);
  std::iota(all.begin(), all.end(), SlotId{0});
  for (SlotId slot = 0; slot < kSlots; ++slot)
    if (slot % 5 != 4) successors[slot].push_back(slot + 1);
  EXPECT_NEAR(tuples_per_slot(successors, all, all), 3.0, 0.3);
  // One component: what is known to be much is not followed to the end.
  for (SlotId slot = 4; slot < kSlots; slot += 5) successors[slot].push_back((slot + 1) % kSlots);
  EXPECT_GE(tuples_per_slot(successors, all, all), 1000.0);
}

TEST(GrowthGuess, PassesErrorsOn) {
  SlotGraph graph([](std::span<const SlotId> /*batch*/, EdgeSink& /*sink*/) {
    return Status::no_space("no room for edges");
  });
  const std::vector<SlotId> starts{0};
  const auto guess = guess_growth(graph, starts, 100);
  EXPECT_EQ(guess.status().code(), StatusCode::kNoSpace);
}

}  // namespace
}  // namespace stratalog
