// SPDX-License-Identifier: Apache-2.0
// Who packs a checkpoint, for every kind of machine and history.
#include "policy/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace stratalog {
namespace {

constexpr CheckpointMode kOwnFiles = CheckpointMode::kFilePerProcess;

OverlapFacts facts_of(std::uint32_t cores, std::uint32_t ranks) {
  return {.cores = cores, .ranks = ranks, .buffer_bytes = 32 << 20};
}

TEST(Overlap, AThreadPacksWhereACoreIsFree) {
  EXPECT_EQ(plan_overlap(facts_of(2, 1), {}, kOwnFiles).way, OverlapWay::kPack);
  EXPECT_EQ(plan_overlap(facts_of(64, 63), {}, kOwnFiles).way, OverlapWay::kPack);
  EXPECT_EQ(plan_overlap(facts_of(64, 64), {}, kOwnFiles).way, OverlapWay::kWrite);
  EXPECT_EQ(plan_overlap(facts_of(1, 1), {}, kOwnFiles).way, OverlapWay::kWrite);
  EXPECT_EQ(plan_overlap(facts_of(2, 3), {}, kOwnFiles).way, OverlapWay::kWrite);
}

TEST(Overlap, AStoreThatIsSlowerThanPackingIsNotWaitedFor) {
  OverlapFacts facts = facts_of(2, 2);
  facts.last_bytes = 100 << 20;
  facts.last_pack_seconds = 1;
  facts.last_write_seconds = 2;
  EXPECT_EQ(plan_overlap(facts, {}, kOwnFiles).way, OverlapWay::kPack);
  // What fits into memory waits for no store.
  facts.last_bytes = facts.buffer_bytes;
  EXPECT_EQ(plan_overlap(facts, {}, kOwnFiles).way, OverlapWay::kWrite);
  facts.last_bytes = 100 << 20;
  facts.last_write_seconds = 0.5;
  EXPECT_EQ(plan_overlap(facts, {}, kOwnFiles).way, OverlapWay::kWrite);
}

TEST(Overlap, AWishCounts) {
  for (const OverlapWay way : {OverlapWay::kNone, OverlapWay::kWrite, OverlapWay::kPack})
    for (const std::uint32_t cores : {1U, 8U}) {
      const OverlapPlan plan = plan_overlap(facts_of(cores, 2), way, kOwnFiles);
      EXPECT_EQ(plan.way, way);
      EXPECT_NE(plan.reason.find("as asked"), std::string::npos);
    }
}

TEST(Overlap, TheReasonHasTheNumbers) {
  EXPECT_EQ(plan_overlap(facts_of(2, 2), {}, kOwnFiles).reason,
            "write: packed at the safe point, written beside the evaluation, 2 ranks on 2 cores "
            "leave none free for packing");
  EXPECT_EQ(plan_overlap(facts_of(2, 1), {}, kOwnFiles).reason,
            "pack: packed and written beside the evaluation, 1 rank on 2 cores leave one free");
}

// A mode never does more than it can, and what keeps it from doing so is said.
TEST(Overlap, TheModeSetsTheLimit) {
  for (const CheckpointMode mode : all_modes())
    for (const OverlapWay way : {OverlapWay::kNone, OverlapWay::kWrite, OverlapWay::kPack}) {
      const OverlapPlan plan = plan_overlap(facts_of(2, 1), way, mode);
      EXPECT_EQ(plan.way, std::min(way, most_overlap(mode)));
      const bool limited = plan.way != way;
      EXPECT_EQ(plan.reason.find("as asked") == std::string::npos, limited);
      EXPECT_EQ(plan.reason.find(mode_name(mode)) != std::string::npos, limited) << plan.reason;
    }
  for (const OverlapWay way : {OverlapWay::kWrite, OverlapWay::kPack}) {
    const std::string able = modes_that_overlap(way);
    EXPECT_NE(able.find("fpp, "), std::string::npos) << able;
    EXPECT_EQ(able.substr(able.size() - 9), " and auto") << able;
    EXPECT_EQ(able.find("shared-opt"), std::string::npos) << able;
  }
  EXPECT_EQ(plan_overlap(facts_of(2, 1), {}, CheckpointMode::kHdf5Opt).reason,
            "none: the evaluation waits, ranks write together in mode hdf5-opt");
}

// Threads that pack need the others where places follow from what all have packed.
TEST(Overlap, SomePackWithCallsOnTheWay) {
  EXPECT_TRUE(packs_with_calls(CheckpointMode::kShared, 1));
  EXPECT_TRUE(packs_with_calls(CheckpointMode::kHdf5Streams, 1));
  EXPECT_TRUE(packs_with_calls(CheckpointMode::kHdf5Direct, 1 << 20));
  EXPECT_FALSE(packs_with_calls(CheckpointMode::kHdf5Direct, 1));
  EXPECT_FALSE(packs_with_calls(kOwnFiles, 1 << 20));
}

}  // namespace
}  // namespace stratalog
