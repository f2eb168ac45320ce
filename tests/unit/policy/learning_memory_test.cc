// SPDX-License-Identifier: Apache-2.0
// What a learner knows as a value: another one goes on with it as the first would have, at any
// number of ranks and whatever the noise; what no learner can have come to know is told apart; and
// what was learned under other wishes is not taken against the user's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "policy/learning.h"

namespace stratalog {
namespace {

AutoFacts measured_facts(int ranks, LearnedFormat format, std::uint64_t bytes) {
  AutoFacts facts{.format = format,
                  .ranks = ranks,
                  .nodes = std::max(1, ranks / 64),
                  .file_system = {.kind = FileSystemKind::kLustre, .name = "lustre"},
                  .bytes = bytes,
                  .images = 3,
                  .coding = CodingWish::kFree};
  if (format == LearnedFormat::kRows) facts.coding = CodingWish::kAsAsked;
  facts.largest_rank_bytes = bytes / static_cast<std::uint64_t>(ranks);
  return facts;
}

// Costs that differ from option to option, with noise.
double seconds_of(const LayoutOption& option, std::mt19937_64& random) {
  std::size_t mixed = std::hash<std::string>()(option_text(option));
  mixed ^= mixed >> 29U;
  const double noise = static_cast<double>(random() % 1000) / 10000.0;
  return 0.2 + static_cast<double>(mixed % 1000) / 100.0 + noise;
}

TEST(LearningMemory, AnotherGoesOnAsTheFirstWouldHave) {
  for (const LearnedFormat format : {LearnedFormat::kEncoded, LearnedFormat::kRows})
    for (const int ranks : {1, 2, 7, 64, 1024, 16384})
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(::testing::Message() << ranks << " ranks, seed " << seed);
        std::mt19937_64 random(seed);
        AutoFacts facts = measured_facts(ranks, format, std::uint64_t{1} << (22 + seed * 3));
        LayoutLearner one;
        LayoutLearner other;  // a job of its own every few saves
        for (int save = 0; save < 150; ++save) {
          facts.bytes = save % 7 == 6 ? facts.bytes / 9 + 1 : facts.bytes + facts.bytes / 16;
          if (random() % 4 == 0) {
            ASSERT_TRUE(is_sound(other.snapshot()));
            other = LayoutLearner(LearnedCosts(other.snapshot()));
          }
          const AutoChoice choice = one.choose(facts);
          const AutoChoice again = other.choose(facts);
          ASSERT_EQ(choice.option, again.option) << option_text(choice.option);
          ASSERT_EQ(choice.reasons.size(), again.reasons.size());
          ASSERT_EQ(choice.reasons.back().text, again.reasons.back().text);
          const double seconds = seconds_of(choice.option, random);
          one.learn(choice.option, facts, seconds);
          other.learn(choice.option, facts, seconds);
          ASSERT_EQ(one.settled(facts), other.settled(facts));
        }
        EXPECT_EQ(one.snapshot(), other.snapshot());
        EXPECT_EQ(one.snapshot().saves, 150U);
      }
}

TEST(LearningMemory, WhatALearnerKnowsIsSoundAndSmall) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    const int ranks = 1 + static_cast<int>(random() % (round % 2 == 0 ? 16384 : 8));
    AutoFacts facts =
        measured_facts(ranks, random() % 2 == 0 ? LearnedFormat::kEncoded : LearnedFormat::kRows,
                       std::uint64_t{1} << (20 + random() % 20));
    if (random() % 3 == 0) facts.wished_files = 1 + static_cast<std::uint32_t>(random() % 40000);
    if (random() % 4 == 0) facts.wished_aggregators = 2;
    if (random() % 4 == 0) facts.wished_alignment = 1 << 20;
    if (random() % 4 == 0) facts.wished_deflate = static_cast<std::uint32_t>(random() % 10);
    if (random() % 4 == 0) facts.coding = CodingWish::kAsAsked;
    LayoutLearner learner;
    for (int save = 0; save < 400; ++save) {
      const LayoutOption option = learner.choose(facts).option;
      // What was cheap becomes dear, so that it wanders about.
      const double drift =
          option_text(option).size() % 7 == static_cast<std::size_t>(save / 60 % 7);
      learner.learn(option, facts, seconds_of(option, random) * (1 + drift * 9));
      ASSERT_TRUE(is_sound(learner.snapshot())) << option_text(option);
    }
  }
}

TEST(LearningMemory, TheOldestIsForgotten) {
  const AutoFacts facts = measured_facts(16384, LearnedFormat::kEncoded, std::uint64_t{1} << 36);
  LayoutLearner learner;
  for (std::uint32_t files = 1; files <= kMostLearned + 3; ++files)
    learner.learn({.mode = CheckpointMode::kSharedOpt, .files = files}, facts, 1.0);
  const LearnedCosts& known = learner.snapshot();
  EXPECT_TRUE(is_sound(known));
  ASSERT_EQ(known.costs.size(), kMostLearned);
  EXPECT_EQ(known.costs.front().option.files, 4U);
  EXPECT_EQ(known.costs.back().option.files, kMostLearned + 3);
  EXPECT_EQ(known.saves, kMostLearned + 3);
}

LearnedCosts sample_costs() {
  return {.costs = {{.bytes = 1 << 30, .seconds_per_byte = 2e-9, .saves = 2, .last = 3},
                    {.option = {.mode = CheckpointMode::kSharedOpt,
                                .files = 2,
                                .aggregators = 1,
                                .alignment = 1 << 20},
                     .bytes = 1 << 30,
                     .seconds_per_byte = 1e-9,
                     .saves = 1,
                     .last = 2}},
          .settled = LayoutOption{.mode = CheckpointMode::kHdf5Opt, .files = 1, .deflate_level = 9},
          .saves = 3,
          .since_try = 1};
}

TEST(LearningMemory, NonsenseIsToldApart) {
  EXPECT_TRUE(is_sound({}));
  EXPECT_TRUE(is_sound(sample_costs()));
  const auto refused = [](auto change, const char* why) {
    LearnedCosts known = sample_costs();
    change(known);
    EXPECT_FALSE(is_sound(known)) << why;
  };
  refused([](LearnedCosts& k) { k.costs[0].bytes = 0; }, "of nothing");
  refused([](LearnedCosts& k) { k.costs[0].bytes = ~std::uint64_t{0}; }, "of too much");
  refused([](LearnedCosts& k) { k.costs[0].seconds_per_byte = -1e-9; }, "earlier than it began");
  refused([](LearnedCosts& k) { k.costs[0].seconds_per_byte = std::nan(""); }, "not a number");
  refused(
      [](LearnedCosts& k) {
        k.costs[0].seconds_per_byte = std::numeric_limits<double>::infinity();
      },
      "for ever");
  refused([](LearnedCosts& k) { k.costs[0].seconds_per_byte = 10; }, "for centuries");
  refused([](LearnedCosts& k) { k.costs[0].saves = 0; }, "never saved");
  refused([](LearnedCosts& k) { k.costs[0].saves = 4; }, "saved more often than there were saves");
  refused([](LearnedCosts& k) { k.costs[0].last = 4; }, "in the future");
  refused([](LearnedCosts& k) { k.costs[1].last = 3; }, "two at once");
  refused([](LearnedCosts& k) { k.costs[1].option = k.costs[0].option; }, "one way twice");
  refused([](LearnedCosts& k) { k.saves = std::uint64_t{1} << 40; }, "too many saves");
  refused([](LearnedCosts& k) { k.since_try = 4; }, "more than there were");
  refused([](LearnedCosts& k) { k.costs.resize(kMostLearned + 1, k.costs[0]); }, "too many ways");
  refused([](LearnedCosts& k) { k.costs[0].option.mode = CheckpointMode::kShared; }, "not learned");
  refused([](LearnedCosts& k) { k.settled->mode = CheckpointMode::kAuto; }, "not resolved");
  refused([](LearnedCosts& k) { k.settled->deflate_level = 10; }, "no such level");
  refused([](LearnedCosts& k) { k.settled->files = 0; }, "in no file");
  refused([](LearnedCosts& k) { k.settled->coding = TupleCoding::kStreams; }, "rows have none");
  refused([](LearnedCosts& k) { k.costs[0].option.files = 1; }, "shared files of mode fpp");
  refused([](LearnedCosts& k) { k.costs[0].option.aggregators = 1; }, "who aggregates what?");
  refused([](LearnedCosts& k) { k.costs[1].option.alignment = 3 << 20; }, "no power of two");
  refused([](LearnedCosts& k) { k.costs[1].option.deflate_level = 1; }, "encoded already");
}

// A job may ask for a number of files, a level or other ranks than the one that learned.
TEST(LearningMemory, WishesGoBeforeWhatIsRemembered) {
  AutoFacts facts = measured_facts(8, LearnedFormat::kEncoded, std::uint64_t{1} << 32);
  LayoutLearner learner;
  learner.learn({.coding = TupleCoding::kCompact}, facts, 9.0);
  for (const std::uint32_t files : {2U, 3U, 8U})
    for (int save = 0; save < 3; ++save)
      learner.learn(
          {.mode = CheckpointMode::kSharedOpt, .files = files, .coding = TupleCoding::kCompact},
          facts, files == 8 ? 1.0 : 5.0);
  EXPECT_EQ(learner.settled(facts).files, 8U);
  LayoutLearner next(LearnedCosts(learner.snapshot()));
  facts.wished_files = 3;
  EXPECT_EQ(next.settled(facts).files, 3U);
  EXPECT_EQ(next.choose(facts).option.files, 3U);
  next.learn(next.choose(facts).option, facts, 5.0);
  EXPECT_EQ(next.settled(facts).files, 3U) << "also where another number would be cheaper";
  facts.wished_files = 0;
  facts.ranks = 4;
  EXPECT_LE(next.settled(facts).files, 4U);

  AutoFacts rows = measured_facts(8, LearnedFormat::kRows, std::uint64_t{1} << 32);
  LayoutLearner deflating;
  for (int save = 0; save < 3; ++save)
    deflating.learn({.mode = CheckpointMode::kHdf5Opt, .files = 1, .deflate_level = 6}, rows, 1.0);
  EXPECT_EQ(deflating.settled(rows).deflate_level.value_or(0), 1U) << "the table, not measured";
  deflating.learn({.mode = CheckpointMode::kHdf5Opt, .files = 1, .deflate_level = 1}, rows, 9.0);
  EXPECT_EQ(deflating.settled(rows).deflate_level.value_or(0), 6U);
  LayoutLearner flat(LearnedCosts(deflating.snapshot()));
  rows.wished_deflate = 0;
  EXPECT_EQ(flat.settled(rows).deflate_level.value_or(0), 0U);
  EXPECT_EQ(flat.choose(rows).option.deflate_level.value_or(0), 0U);
}

}  // namespace
}  // namespace stratalog
