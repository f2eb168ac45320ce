// SPDX-License-Identifier: Apache-2.0
// Mode auto over many saves, on made-up costs: it finds the cheapest way one step at a time, stays
// there whatever the noise, does the same on all ranks, and never tries what the facts or the user
// forbid. Up to 16,384 ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "policy/learning.h"
#include "policy/plan_layout.h"

namespace stratalog {
namespace {

// What a save costs: 1 s where everything is best, a factor more for each step away from it.
struct CostModel {
  CheckpointMode mode = CheckpointMode::kSharedOpt;
  std::uint32_t files = 8;
  std::uint32_t aggregators = 4;
  std::uint64_t alignment = 1 << 20;
  bool together = true;  // all relations in one file
  TupleCoding coding = TupleCoding::kStreams;
  double step = 1.3;

  double seconds(const LayoutOption& option) const {
    double steps = 0;
    if (option.mode != mode) steps += 12;  // more than all else: from one mode to another is a leap
    if ((option.relations_per_file == kAllRelations) != together) steps += 1;
    if (option.coding != coding && option.coding != TupleCoding::kAsAsked) steps += 1;
    if (option.mode == CheckpointMode::kSharedOpt) {
      const auto away = [](double one, double other) { return std::abs(std::log2(one / other)); };
      steps += away(option.files, files);
      // Whatever the policy takes: what one thing costs must not depend on another here.
      steps += option.aggregators == 0 ? 3 : away(option.aggregators, aggregators);
      steps += away(option.alignment == 0 ? 4096.0 : static_cast<double>(option.alignment),
                    static_cast<double>(alignment)) /
               4;
    }
    return std::pow(step, steps);
  }
};

AutoFacts cluster(int ranks, std::uint64_t bytes) {
  AutoFacts facts{.ranks = ranks,
                  .nodes = std::max(1, ranks / 64),
                  .file_system = {.kind = FileSystemKind::kLustre, .name = "lustre"},
                  .bytes = bytes,
                  .images = 3,
                  .coding = CodingWish::kFree};
  facts.largest_rank_bytes = bytes / static_cast<std::uint64_t>(ranks);
  return facts;
}

// A noise of so many percent up and down.
double noisy(double seconds, int percent, std::mt19937_64& random) {
  const auto share = static_cast<double>(random() % 2001) / 1000.0 - 1.0;
  return seconds * (1.0 + share * percent / 100.0);
}

TEST(LearningWalk, FindsTheCheapestWayOneStepAtATime) {
  const AutoFacts facts = cluster(256, std::uint64_t{64} << 30);
  for (const CheckpointMode mode : {CheckpointMode::kSharedOpt, CheckpointMode::kFilePerProcess}) {
    const CostModel model{.mode = mode};
    LayoutLearner learner;
    for (int save = 0; save < 200; ++save) {
      const LayoutOption option = learner.choose(facts).option;
      learner.learn(option, facts, model.seconds(option));
    }
    EXPECT_DOUBLE_EQ(model.seconds(learner.settled(facts)), 1.0)
        << option_text(learner.settled(facts));
  }
}

TEST(LearningWalk, NoiseDoesNotMakeItFlap) {
  const AutoFacts facts = cluster(256, std::uint64_t{64} << 30);
  const CostModel model;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    LayoutLearner learner;
    int changes = 0;
    int usual = 0;
    for (int save = 0; save < 400; ++save) {
      const LayoutOption before = learner.settled(facts);
      const LayoutOption option = learner.choose(facts).option;
      learner.learn(option, facts, noisy(model.seconds(option), 4, random));
      if (save < 200) continue;
      changes += learner.settled(facts) == before ? 0 : 1;
      usual += option == before ? 1 : 0;
    }
    EXPECT_EQ(changes, 0) << seed;
    EXPECT_GE(usual, 120) << seed;
    EXPECT_LT(model.seconds(learner.settled(facts)), 1.3) << seed;
  }
}

TEST(LearningWalk, WhatHadLostIsTriedAgainWhenTimesChange) {
  const AutoFacts facts = cluster(64, std::uint64_t{16} << 30);
  CostModel model{
      .mode = CheckpointMode::kFilePerProcess, .together = false, .coding = TupleCoding::kCompact};
  LayoutLearner learner;
  const auto save = [&](int times) {
    for (int i = 0; i < times; ++i) {
      const LayoutOption option = learner.choose(facts).option;
      learner.learn(option, facts, model.seconds(option));
    }
  };
  save(40);
  EXPECT_EQ(learner.settled(facts).coding, TupleCoding::kCompact);
  model.coding = TupleCoding::kStreams;
  save(200);
  EXPECT_EQ(learner.settled(facts).coding, TupleCoding::kStreams);
}

// Ranks that were told the same choose the same.
TEST(LearningWalk, TheSameOnAllRanks) {
  const AutoFacts facts = cluster(1024, std::uint64_t{1} << 40);
  const CostModel model{.files = 16};
  LayoutLearner one;
  LayoutLearner other;
  for (int save = 0; save < 100; ++save) {
    const LayoutOption option = one.choose(facts).option;
    ASSERT_EQ(option, other.choose(facts).option);
    one.learn(option, facts, model.seconds(option));
    other.learn(option, facts, model.seconds(option));
  }
}

void expect_allowed(const LayoutOption& option, const AutoFacts& facts) {
  const auto ranks = static_cast<std::uint32_t>(facts.ranks);
  if (option.mode == CheckpointMode::kFilePerProcess) {
    EXPECT_EQ(option.files, 0U);
    EXPECT_EQ(option.aggregators, 0U);
    EXPECT_EQ(option.alignment, 0U);
  } else {
    ASSERT_EQ(option.mode, CheckpointMode::kSharedOpt);
    EXPECT_GT(facts.ranks, 1);
    EXPECT_GE(option.files, 1U);
    EXPECT_LE(option.files, ranks);
    EXPECT_LE(option.aggregators, ranks);
    if (option.alignment != 0) {
      EXPECT_TRUE(std::has_single_bit(option.alignment));
      EXPECT_LE(option.alignment, 16U << 20U);
    }
  }
}

void expect_wishes_kept(const LayoutOption& option, const AutoFacts& facts) {
  if (facts.wished_files != 0 && facts.ranks > 1) {
    EXPECT_EQ(option.files, facts.wished_files);
  }
  if (facts.wished_aggregators != 0) {
    EXPECT_EQ(option.aggregators, 0U);
  }
  if (facts.wished_alignment != 0) {
    EXPECT_EQ(option.alignment, 0U);
  }
  if (facts.wished_relations != 0) {
    EXPECT_EQ(option.relations_per_file, 0U);
  }
  EXPECT_EQ(option.coding == TupleCoding::kAsAsked, facts.coding == CodingWish::kAsAsked);
}

TEST(LearningWalk, NeverLeavesWhatIsAllowed) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 120; ++round) {
    const int ranks = 1 + static_cast<int>(random() % (round % 2 == 0 ? 16384 : 8));
    AutoFacts facts = cluster(ranks, std::uint64_t{1} << (20 + random() % 20));
    facts.file_system.kind = random() % 2 == 0 ? FileSystemKind::kLocal : FileSystemKind::kLustre;
    facts.images = static_cast<std::uint32_t>(random() % 4);
    facts.coding = random() % 2 == 0 ? CodingWish::kFree : CodingWish::kAsAsked;
    if (random() % 4 == 0)
      facts.wished_files =
          1 + static_cast<std::uint32_t>(random() % 4) % static_cast<std::uint32_t>(ranks);
    if (random() % 4 == 0) facts.wished_aggregators = 2;
    if (random() % 4 == 0) facts.wished_alignment = 1 << 20;
    if (random() % 4 == 0) facts.wished_relations = 1;
    LayoutLearner learner;
    for (int save = 0; save < 60; ++save) {
      facts.bytes += facts.bytes / 16;  // and so measurements grow stale
      const AutoChoice choice = learner.choose(facts);
      expect_allowed(choice.option, facts);
      expect_wishes_kept(choice.option, facts);
      EXPECT_FALSE(choice.reasons.empty());
      learner.learn(choice.option, facts, 0.1 + static_cast<double>(random() % 1000) / 100.0);
    }
  }
}

// What auto chooses the policy can carry out, also where there are very many ranks.
TEST(LearningWalk, EveryNeighbourCanBePlanned) {
  for (const int ranks : {2, 7, 16384}) {
    const AutoFacts facts = cluster(ranks, std::uint64_t{1} << 36);
    LayoutOption option{
        .mode = CheckpointMode::kSharedOpt, .files = 1, .coding = TupleCoding::kCompact};
    for (int step = 0; step < 6; ++step) {
      const std::vector<LayoutOption> all = neighbours(option, facts);
      ASSERT_FALSE(all.empty());
      for (const LayoutOption& other : all) {
        ASSERT_NE(other, option);
        LayoutFacts about{.ranks = ranks, .file_system = facts.file_system};
        about.datasets.push_back(
            {.columns = 2, .rows_of_rank = std::vector<std::uint64_t>(ranks, 1 << 20)});
        const auto plan = plan_layout(about, {.mode = other.mode,
                                              .files = other.files,
                                              .relations_per_file = other.relations_per_file,
                                              .alignment = other.alignment,
                                              .aggregators = other.aggregators});
        ASSERT_TRUE(plan.is_ok()) << option_text(other);
      }
      option = all[(static_cast<std::size_t>(step) * 7 + 3) % all.size()];
    }
  }
}

}  // namespace
}  // namespace stratalog
