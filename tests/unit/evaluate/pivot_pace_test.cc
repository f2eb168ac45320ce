// SPDX-License-Identifier: Apache-2.0
// PivotPace: which strata go in step, and after how much work a checkpoint is due.
#include "datalog/evaluate/pivot_pace.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace stratalog::datalog {
namespace {

PivotPace::Setting setting(std::uint64_t lanes, std::uint32_t ranks, std::uint64_t rounds) {
  const std::uint64_t blocks = (lanes + 511) / 512;
  return {.lanes = lanes,
          .lanes_in_block = 512,
          .ranks = ranks,
          .owned_blocks = static_cast<std::uint32_t>((blocks + ranks - 1) / ranks),
          .rounds = rounds};
}

TEST(PivotPace, FewBlocksGoInStep) {
  using Kind = PivotPace::Kind;
  EXPECT_EQ(PivotPace(setting(100'000, 2, 0)).kind(), Kind::kNotByRounds);
  EXPECT_EQ(PivotPace().kind(), Kind::kNotByRounds);
  EXPECT_EQ(PivotPace(setting(0, 2, 5)).kind(), Kind::kInStep);
  EXPECT_EQ(PivotPace(setting(7 * 512, 1, 5)).kind(), Kind::kInStep);
  EXPECT_EQ(PivotPace(setting((7 * 512) + 1, 1, 5)).kind(), Kind::kByProgress);
  EXPECT_EQ(PivotPace(setting(14 * 512, 2, 5)).kind(), Kind::kInStep);
  EXPECT_EQ(PivotPace(setting((14 * 512) + 1, 2, 5)).kind(), Kind::kByProgress);
  // One rank more blocks than another: all see the same.
  PivotPace::Setting last = setting((14 * 512) + 1, 2, 5);
  last.owned_blocks = 7;
  EXPECT_EQ(PivotPace(last).kind(), Kind::kByProgress);
  EXPECT_EQ(PivotPace(setting(std::uint64_t{16384} * 512 * 8, 16384, 5)).kind(), Kind::kByProgress);
}

TEST(PivotPace, DueAfterSoManyRoundsOfEachBlockOnAverage) {
  // 10 blocks of 30 rounds, a checkpoint after every 7 rounds: every 70 block rounds.
  PivotPace pace(setting(10 * 512, 1, 7));
  std::vector<std::uint64_t> due;
  for (std::uint64_t block = 1; block <= 10; ++block) {
    EXPECT_FALSE(pace.is_reached());
    pace.note(block * 30);
    if (!pace.is_reached()) continue;
    due.push_back(block);
    pace.go_on();
  }
  EXPECT_EQ(due, (std::vector<std::uint64_t>{3, 5, 7, 10}));
}

TEST(PivotPace, LongBlocksPassSeveralCheckpointsAtOnce) {
  PivotPace pace(setting(8 * 512, 1, 2));
  pace.note(1000);  // 62 checkpoints
  EXPECT_TRUE(pace.is_reached());
  pace.go_on();
  EXPECT_FALSE(pace.is_reached());
  pace.note(1007);
  EXPECT_FALSE(pace.is_reached());
  pace.note(1008);
  EXPECT_TRUE(pace.is_reached());
}

TEST(PivotPace, GoesOnAsLongAsNoBlockCanPassTheNextCheckpoint) {
  // 10 blocks, a checkpoint after every 7 rounds: every 70 block rounds. A block has up to 20.
  PivotPace pace(setting(10 * 512, 1, 7));
  for (const std::uint64_t done : {20, 35, 50, 65}) pace.note(done);
  EXPECT_FALSE(pace.is_far_ahead());
  pace.note(80);
  EXPECT_TRUE(pace.is_reached());
  EXPECT_FALSE(pace.is_far_ahead());
  for (const std::uint64_t done : {100, 119}) pace.note(done);
  EXPECT_FALSE(pace.is_far_ahead());
  pace.note(120);
  EXPECT_TRUE(pace.is_far_ahead());
  pace.go_on();
  EXPECT_FALSE(pace.is_far_ahead());
}

TEST(PivotPace, NeverDueOtherwise) {
  PivotPace in_step(setting(512, 1, 2));
  in_step.note(1000);
  EXPECT_FALSE(in_step.is_reached());
  PivotPace seldom(setting(512 * 100, 1, std::numeric_limits<std::uint64_t>::max()));
  EXPECT_EQ(seldom.kind(), PivotPace::Kind::kByProgress);
  seldom.note(std::uint64_t{1} << 60);
  EXPECT_FALSE(seldom.is_reached());
  // A rank that owns nothing has nothing to wait for.
  PivotPace::Setting none = setting(512 * 100, 1, 3);
  none.owned_blocks = 0;
  EXPECT_FALSE(PivotPace(none).is_reached());
}

}  // namespace
}  // namespace stratalog::datalog
