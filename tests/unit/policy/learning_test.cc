// SPDX-License-Identifier: Apache-2.0
// Mode auto: the table, what measurements change about it, and what they do not.
#include "policy/learning.h"

#include <gtest/gtest.h>

namespace stratalog {
namespace {

constexpr LayoutOption kOwn{};
constexpr LayoutOption kOneFile{.mode = CheckpointMode::kSharedOpt, .files = 1};

AutoFacts facts(int ranks, std::uint64_t bytes, FileSystemKind kind) {
  AutoFacts all{.ranks = ranks,
                .nodes = std::max(1, ranks / 64),
                .file_system = {.kind = kind, .name = "some fs"},
                .bytes = bytes};
  all.largest_rank_bytes = bytes / static_cast<std::uint64_t>(ranks);
  return all;
}

TEST(Learning, TheTableGoesByFileSystemRanksBytesAndSkew) {
  const auto chosen = [](const AutoFacts& f) { return choose_by_table(f).option; };
  EXPECT_EQ(chosen(facts(4, 1 << 30, FileSystemKind::kLocal)), kOwn);
  EXPECT_EQ(chosen(facts(16384, 1 << 30, FileSystemKind::kMemory)), kOwn);
  EXPECT_EQ(chosen(facts(1, 1 << 30, FileSystemKind::kLustre)), kOwn);
  // 64 MiB of each rank deserve a file, 64 KiB do not.
  const std::uint64_t mib = 1 << 20;
  EXPECT_EQ(chosen(facts(4096, 4096 * 64 * mib, FileSystemKind::kLustre)), kOwn);
  EXPECT_EQ(chosen(facts(4096, 4096 * mib / 16, FileSystemKind::kLustre)).mode,
            CheckpointMode::kSharedOpt);
  EXPECT_EQ(chosen(facts(4096, 4096 * mib / 16, FileSystemKind::kLustre)).files, 64U);
  AutoFacts giant = facts(256, 64 * 1024 * mib, FileSystemKind::kParallel);
  giant.largest_rank_bytes = giant.bytes / 2;
  EXPECT_EQ(chosen(giant).mode, CheckpointMode::kSharedOpt);
  EXPECT_EQ(chosen(facts(1, mib, FileSystemKind::kLustre)), kOwn);
  AutoFacts wished = facts(4, mib, FileSystemKind::kLocal);
  wished.wished_files = 3;
  EXPECT_EQ(chosen(wished).files, 3U);
  EXPECT_FALSE(choose_by_table(giant).reasons.empty());
}

TEST(Learning, OthersAreTriedOnceAndTheCheapestStays) {
  LayoutLearner learner;
  const AutoFacts f = facts(4, 1 << 30, FileSystemKind::kLocal);
  const double own = 2.0;
  const double shared = 1.0;
  std::vector<LayoutOption> chosen;
  for (int save = 0; save < 8; ++save) {
    const LayoutOption option = learner.choose(f).option;
    chosen.push_back(option);
    learner.learn(option, f, option == kOwn ? own : shared);
  }
  EXPECT_EQ(chosen[0], kOwn);
  EXPECT_EQ(chosen[1], kOwn);
  // Once it is settled, its neighbours, with two saves as usual in between.
  for (const std::size_t save : {2U, 3U, 4U, 6U, 7U}) EXPECT_EQ(chosen[save], kOneFile);
  EXPECT_EQ(chosen[5].mode, CheckpointMode::kSharedOpt);
  EXPECT_NE(chosen[5], kOneFile);
  EXPECT_EQ(learner.settled(f), kOneFile);
  EXPECT_EQ(learner.choose(f).reasons.size(), 3U);
}

TEST(Learning, ATryThatWasNoTenthCheaperChangesNothing) {
  LayoutLearner learner;
  const AutoFacts f = facts(4, 1 << 30, FileSystemKind::kLocal);
  learner.learn(kOwn, f, 1.0);
  learner.learn(kOwn, f, 1.0);
  EXPECT_EQ(learner.choose(f).option, kOneFile);
  learner.learn(kOneFile, f, 0.95);
  EXPECT_EQ(learner.choose(f).option, kOwn);
}

TEST(Learning, GrowthMakesMeasurementsStale) {
  LayoutLearner learner;
  const AutoFacts small = facts(4, 1 << 28, FileSystemKind::kLocal);
  learner.learn(kOwn, small, 1.0);
  learner.learn(kOwn, small, 1.0);
  learner.learn(kOneFile, small, 0.1);
  EXPECT_EQ(learner.settled(small), kOneFile);
  EXPECT_EQ(learner.choose(small).option, kOneFile);
  const AutoFacts large = facts(4, std::uint64_t{1} << 32, FileSystemKind::kLocal);
  EXPECT_EQ(learner.choose(large).option, kOwn);  // the table again
  learner.learn(kOwn, large, 16.0);
  EXPECT_EQ(learner.choose(large).option, kOwn);
  learner.learn(kOwn, large, 16.0);
  EXPECT_EQ(learner.choose(large).option, kOneFile);
}

TEST(Learning, QuickSavesAreNotExperimentedWith) {
  LayoutLearner learner;
  const AutoFacts quick = facts(4, 8 << 20, FileSystemKind::kLocal);
  for (int save = 0; save < 10; ++save) learner.learn(kOwn, quick, 0.01);
  EXPECT_EQ(learner.choose(quick).option, kOwn);
  const AutoFacts tiny = facts(4, 1000, FileSystemKind::kLocal);
  for (int save = 0; save < 10; ++save) learner.learn(kOwn, tiny, 1.0);
  EXPECT_EQ(learner.choose(tiny).option, kOwn);
  const AutoFacts empty = facts(4, 0, FileSystemKind::kLocal);
  learner.learn(kOwn, empty, 1.0);
  EXPECT_EQ(learner.choose(empty).option, kOwn);
}

}  // namespace
}  // namespace stratalog
