// SPDX-License-Identifier: Apache-2.0
// Mode hdf5-auto: the table, and many saves on made-up file systems. It finds the cheapest deflate
// level where the network is slow, stays contiguous where the disk is fast without ever paying for
// the opposite, keeps to what facts and user allow, and does the same on all ranks. Up to 16,384.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <set>

#include "policy/learning.h"
#include "policy/plan_layout.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kMib = 1 << 20;
constexpr std::uint64_t kGib = 1 << 30;

AutoFacts rows_facts(int ranks, std::uint64_t bytes, FileSystemKind kind) {
  AutoFacts facts{.format = LearnedFormat::kRows,
                  .ranks = ranks,
                  .nodes = std::max(1, ranks / 64),
                  .file_system = {.kind = kind, .name = "some fs"},
                  .bytes = bytes,
                  .images = 3};
  facts.largest_rank_bytes = bytes / static_cast<std::uint64_t>(ranks);
  return facts;
}

// What deflate makes of a byte of rows, and how fast a rank is at it. Levels 0, 1, 3, 6, 9.
struct Deflate {
  double ratio;
  double bytes_per_second;
};

Deflate deflate_of(std::uint32_t level) {
  switch (level) {
    case 0:
      return {1, 1e12};
    case 1:
      return {0.40, 90e6};
    case 3:
      return {0.33, 70e6};
    case 6:
      return {0.25, 40e6};
    default:
      return {0.24, 12e6};
  }
}

// More than one are no help, but for writers of one kernel.
std::uint32_t best_files(CheckpointMode mode, const AutoFacts& facts) {
  return mode == CheckpointMode::kHdf5Direct
             ? plan_direct_files(facts.file_system, static_cast<std::uint64_t>(facts.ranks),
                                 facts.bytes)
             : 1;
}

// A file system that all ranks share, of so many bytes a second.
struct SlowOrFast {
  double bytes_per_second = 1e9;
  double deflate_speed = 1;  // times what deflate_of says
  std::uint32_t aggregators = 0;  // that are best, where it matters

  double seconds(const LayoutOption& option, const AutoFacts& facts) const {
    const Deflate deflate = deflate_of(option.deflate_level.value_or(0));
    const auto bytes = static_cast<double>(facts.bytes);
    double seconds = bytes / facts.ranks / (deflate.bytes_per_second * deflate_speed) +
                     bytes * deflate.ratio / bytes_per_second;
    if (option.mode == CheckpointMode::kHdf5Opt) seconds *= 1.05;  // ranks wait for each other
    if (aggregators != 0 && option.mode == CheckpointMode::kHdf5Opt)
      seconds *=
          option.aggregators == 0
              ? 1.6
              : std::pow(1.25,
                         std::abs(std::log2(double(option.aggregators) / double(aggregators))));
    seconds *= std::pow(1.2, std::abs(std::log2(double(std::max(1U, option.files)) /
                                                best_files(option.mode, facts))));
    return seconds;
  }
};

std::uint32_t level_of(const LayoutOption& option) { return option.deflate_level.value_or(0); }

// What the cheapest way costs, of hdf5-opt or, without deflate, hdf5-direct.
double least_cost(const SlowOrFast& disk, const AutoFacts& facts) {
  double least = disk.seconds({.mode = CheckpointMode::kHdf5Direct,
                               .files = best_files(CheckpointMode::kHdf5Direct, facts)},
                              facts);
  for (const std::uint32_t level : {1U, 3U, 6U, 9U})
    least = std::min(
        least, disk.seconds({.mode = CheckpointMode::kHdf5Opt, .files = 1, .deflate_level = level},
                            facts));
  return least;
}

struct Walked {
  LayoutLearner learner;
  std::set<std::uint32_t> levels;  // that were tried
  double slowest = 0;
};

Walked walk(const SlowOrFast& disk, const AutoFacts& facts, int saves) {
  Walked walked;
  for (int save = 0; save < saves; ++save) {
    const LayoutOption option = walked.learner.choose(facts).option;
    const double seconds = disk.seconds(option, facts);
    walked.levels.insert(level_of(option));
    walked.slowest = std::max(walked.slowest, seconds);
    walked.learner.learn(option, facts, seconds);
  }
  return walked;
}

TEST(LearningRows, TheTableGoesByFileSystemSizeAndSkew) {
  const auto chosen = [](const AutoFacts& facts) { return choose_by_table(facts).option; };
  const LayoutOption direct{.mode = CheckpointMode::kHdf5Direct, .files = 1};
  const LayoutOption deflated{.mode = CheckpointMode::kHdf5Opt, .files = 1, .deflate_level = 1};
  const LayoutOption of_one_kernel{.mode = CheckpointMode::kHdf5Direct, .files = 4};
  EXPECT_EQ(chosen(rows_facts(4, 1 << 30, FileSystemKind::kLocal)), of_one_kernel);
  EXPECT_EQ(chosen(rows_facts(4, 1 << 24, FileSystemKind::kLocal)), direct);
  EXPECT_EQ(chosen(rows_facts(4, 9'999'999, FileSystemKind::kNetwork)), direct);
  EXPECT_EQ(chosen(rows_facts(4, 10'000'000, FileSystemKind::kNetwork)), deflated);
  EXPECT_EQ(chosen(rows_facts(4096, 10'000'000'001, FileSystemKind::kLustre)), direct);
  EXPECT_EQ(chosen(rows_facts(1, 1 << 30, FileSystemKind::kNetwork)), deflated);
  AutoFacts giant = rows_facts(64, 1 << 30, FileSystemKind::kLustre);
  giant.largest_rank_bytes = giant.bytes / 2;
  EXPECT_EQ(chosen(giant), direct);
  // Ranks that are threads.
  AutoFacts threads = rows_facts(4, 1 << 30, FileSystemKind::kNetwork);
  threads.collective_hdf5 = CollectiveHdf5::kMissing;
  EXPECT_EQ(chosen(threads), direct);
  for (const std::uint32_t level : {0U, 6U}) {
    AutoFacts wished = rows_facts(4, 1 << 30, FileSystemKind::kLocal);
    wished.wished_deflate = level;
    EXPECT_EQ(level_of(chosen(wished)), level);
  }
  AutoFacts files = rows_facts(4, 1 << 30, FileSystemKind::kLocal);
  files.wished_files = 3;
  EXPECT_EQ(chosen(files).files, 3U);
  EXPECT_FALSE(choose_by_table(giant).reasons.empty());
}

// A mode is tried over as many files as the table gives it; over others once those have won.
TEST(LearningRows, ModesAreTriedOverTheirOwnFiles) {
  const AutoFacts facts = rows_facts(4, 1 << 30, FileSystemKind::kLocal);
  const auto has = [&](const LayoutOption& from, CheckpointMode mode, std::uint32_t files) {
    for (const LayoutOption& option : neighbours(from, facts))
      if (option.mode == mode && option.files == files) return true;
    return false;
  };
  constexpr auto kDirect = CheckpointMode::kHdf5Direct;
  constexpr auto kOpt = CheckpointMode::kHdf5Opt;
  EXPECT_TRUE(has({.mode = kDirect, .files = 4}, kOpt, 1));
  EXPECT_TRUE(has({.mode = kOpt, .files = 1, .deflate_level = 0}, kDirect, 4));
  EXPECT_TRUE(has({.mode = kDirect, .files = 2}, kOpt, 2));
  EXPECT_TRUE(has({.mode = kOpt, .files = 2, .deflate_level = 0}, kDirect, 2));
}

TEST(LearningRows, ASlowNetworkGetsTheCheapestDeflateLevel) {
  struct Case {
    double bytes_per_second;
    std::set<std::uint32_t> levels;  // that cost less than a tenth more than the best
  };
  for (const FileSystemKind kind : {FileSystemKind::kLocal, FileSystemKind::kNetwork})
    for (const Case& c :
         {Case{10e6, {6}}, {20e6, {3, 6}}, {60e6, {1, 3}}, {150e6, {1, 3}}, {400e6, {0}}}) {
      const AutoFacts facts = rows_facts(4, 2 * kGib, kind);
      const SlowOrFast disk{.bytes_per_second = c.bytes_per_second};
      const LayoutOption settled = walk(disk, facts, 200).learner.settled(facts);
      EXPECT_TRUE(c.levels.contains(level_of(settled)))
          << c.bytes_per_second << ": " << option_text(settled);
      EXPECT_LE(disk.seconds(settled, facts), least_cost(disk, facts) / 0.9);
      EXPECT_EQ(settled.files, best_files(settled.mode, facts));
    }
}

TEST(LearningRows, AFastDiskStaysContiguousAndNeverPaysForDeflate) {
  for (const int ranks : {1, 2, 4, 64}) {
    const AutoFacts facts =
        rows_facts(ranks, static_cast<std::uint64_t>(ranks) << 30U, FileSystemKind::kLocal);
    const Walked walked = walk({.bytes_per_second = ranks * 2e9}, facts, 300);
    EXPECT_EQ(walked.levels, std::set<std::uint32_t>{0});
    EXPECT_EQ(walked.learner.settled(facts).mode, CheckpointMode::kHdf5Direct);
  }
}

// Faster than deflate, but not by so much that it is known beforehand: tried once, and left.
TEST(LearningRows, AMediumDiskTriesOneLevelAndReturns) {
  const AutoFacts facts = rows_facts(4, 4 * kGib, FileSystemKind::kLocal);
  const Walked walked = walk({.bytes_per_second = 600e6}, facts, 40);
  EXPECT_EQ(walked.levels, (std::set<std::uint32_t>{0, 1}));
  EXPECT_EQ(level_of(walked.learner.settled(facts)), 0U);
}

TEST(LearningRows, AggregatorsAreLearnedBesideTheLevel) {
  const AutoFacts facts = rows_facts(256, std::uint64_t{64} << 30, FileSystemKind::kLustre);
  const SlowOrFast disk{.bytes_per_second = 1e9, .deflate_speed = 10, .aggregators = 16};
  const Walked walked = walk(disk, facts, 300);
  const LayoutOption settled = walked.learner.settled(facts);
  EXPECT_EQ(settled.mode, CheckpointMode::kHdf5Opt) << option_text(settled);
  EXPECT_EQ(settled.aggregators, 16U) << option_text(settled);
  EXPECT_NE(level_of(settled), 0U) << option_text(settled);
}

TEST(LearningRows, ReasonsNameTheLevelsThatWereTried) {
  const AutoFacts facts = rows_facts(4, 2 * kGib, FileSystemKind::kNetwork);
  const Walked walked = walk({.bytes_per_second = 30e6}, facts, 60);
  std::string text;
  for (const Reason& reason : walked.learner.choose(facts).reasons)
    text += reason.about + ": " + reason.text + "\n";
  for (const char* part : {"hdf5-direct over 1 file: ", "hdf5-opt over 1 file, contiguous: ",
                           "deflate 1: ", "deflate 3: ", "deflate 6: ", " s for about "})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(LearningRows, TheSameOnAllRanks) {
  const AutoFacts facts = rows_facts(1024, std::uint64_t{1} << 36, FileSystemKind::kLustre);
  const SlowOrFast disk{.bytes_per_second = 2e9};
  LayoutLearner one;
  LayoutLearner other;
  for (int save = 0; save < 100; ++save) {
    const LayoutOption option = one.choose(facts).option;
    ASSERT_EQ(option, other.choose(facts).option);
    one.learn(option, facts, disk.seconds(option, facts));
    other.learn(option, facts, disk.seconds(option, facts));
  }
}

void expect_allowed_rows(const LayoutOption& option, const AutoFacts& facts) {
  const bool is_opt = option.mode == CheckpointMode::kHdf5Opt;
  ASSERT_TRUE(is_opt || option.mode == CheckpointMode::kHdf5Direct) << option_text(option);
  EXPECT_TRUE(is_opt || level_of(option) == 0) << option_text(option);
  EXPECT_TRUE(is_opt || option.aggregators == 0) << option_text(option);
  EXPECT_EQ(option.coding, TupleCoding::kAsAsked);
  EXPECT_GE(option.files, 1U);
  if (facts.collective_hdf5 == CollectiveHdf5::kMissing && facts.wished_deflate.value_or(0) == 0) {
    EXPECT_FALSE(is_opt);
  }
  const auto ranks = static_cast<std::uint32_t>(facts.ranks);
  if (facts.wished_files != 0) {
    EXPECT_EQ(option.files, facts.wished_files);
  } else {
    EXPECT_LE(option.files, ranks);
  }
  if (facts.wished_deflate) {
    EXPECT_EQ(level_of(option), *facts.wished_deflate);
  } else if (facts.bytes < 10'000'000) {
    EXPECT_EQ(level_of(option), 0U);
  }
  if (facts.wished_aggregators != 0) {
    EXPECT_EQ(option.aggregators, 0U);
  }
  EXPECT_LE(option.aggregators, ranks);
  if (facts.wished_alignment != 0) {
    EXPECT_EQ(option.alignment, 0U);
  }
  EXPECT_TRUE(option.alignment == 0 || std::has_single_bit(option.alignment));
  if (facts.wished_relations != 0) {
    EXPECT_EQ(option.relations_per_file, 0U);
  }
}

TEST(LearningRows, NeverLeavesWhatIsAllowed) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 160; ++round) {
    const int ranks = 1 + static_cast<int>(random() % (round % 2 == 0 ? 16384 : 8));
    AutoFacts facts =
        rows_facts(ranks, std::uint64_t{1} << (20 + random() % 20),
                   random() % 2 == 0 ? FileSystemKind::kLocal : FileSystemKind::kLustre);
    facts.images = static_cast<std::uint32_t>(random() % 4);
    if (random() % 4 == 0) facts.collective_hdf5 = CollectiveHdf5::kMissing;
    if (random() % 4 == 0) facts.wished_files = 1 + static_cast<std::uint32_t>(random() % 4);
    if (random() % 4 == 0) facts.wished_deflate = static_cast<std::uint32_t>(random() % 10);
    if (random() % 4 == 0) facts.wished_aggregators = 2;
    if (random() % 4 == 0) facts.wished_alignment = kMib;
    if (random() % 4 == 0) facts.wished_relations = 1;
    LayoutLearner learner;
    for (int save = 0; save < 60; ++save) {
      // Chains: growth now and then, which is small.
      facts.bytes = save % 7 == 6 ? facts.bytes / 9 + 1 : facts.bytes + facts.bytes / 16;
      const AutoChoice choice = learner.choose(facts);
      expect_allowed_rows(choice.option, facts);
      EXPECT_FALSE(choice.reasons.empty());
      learner.learn(choice.option, facts, 0.1 + static_cast<double>(random() % 1000) / 100.0);
    }
  }
}

// What it chooses the policy can carry out, and the level is what is written: also for more than
// 10 GB and uneven ranks, where the ladder by itself would not deflate.
TEST(LearningRows, EveryNeighbourCanBePlanned) {
  for (const int ranks : {1, 2, 7, 16384}) {
    const AutoFacts facts = rows_facts(ranks, std::uint64_t{1} << 36, FileSystemKind::kLustre);
    LayoutOption option{.mode = CheckpointMode::kHdf5Opt, .files = 1, .deflate_level = 1};
    for (int step = 0; step < 8; ++step) {
      const std::vector<LayoutOption> all = neighbours(option, facts);
      ASSERT_FALSE(all.empty());
      for (const LayoutOption& other : all) {
        ASSERT_NE(other, option);
        LayoutFacts about{.ranks = ranks, .file_system = facts.file_system};
        about.datasets.push_back(
            {.columns = 2, .rows_of_rank = std::vector<std::uint64_t>(ranks, kMib)});
        about.datasets[0].rows_of_rank[0] = 50 * kMib;
        const auto plan = plan_layout(about, {.mode = other.mode,
                                              .files = other.files,
                                              .relations_per_file = other.relations_per_file,
                                              .alignment = other.alignment,
                                              .aggregators = other.aggregators,
                                              .deflate_level = other.deflate_level});
        ASSERT_TRUE(plan.is_ok()) << option_text(other);
        EXPECT_EQ(plan.value().datasets[0].deflate_level, level_of(other)) << option_text(other);
        if (other.alignment != 0 && other.mode == CheckpointMode::kHdf5Opt) {
          EXPECT_EQ(plan.value().tuning.alignment, other.alignment);
        }
      }
      option = all[(static_cast<std::size_t>(step) * 5 + 2) % all.size()];
    }
  }
}

}  // namespace
}  // namespace stratalog
