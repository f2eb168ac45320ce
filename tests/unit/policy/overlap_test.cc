// SPDX-License-Identifier: Apache-2.0
// Who packs a checkpoint, for every kind of machine and history.
#include "policy/overlap.h"

#include <gtest/gtest.h>

namespace stratalog {
namespace {

OverlapFacts facts_of(std::uint32_t cores, std::uint32_t ranks) {
  return {.cores = cores, .ranks = ranks, .buffer_bytes = 32 << 20};
}

TEST(Overlap, AThreadPacksWhereACoreIsFree) {
  EXPECT_EQ(plan_overlap(facts_of(2, 1), {}).way, OverlapWay::kPack);
  EXPECT_EQ(plan_overlap(facts_of(64, 63), {}).way, OverlapWay::kPack);
  EXPECT_EQ(plan_overlap(facts_of(64, 64), {}).way, OverlapWay::kWrite);
  EXPECT_EQ(plan_overlap(facts_of(1, 1), {}).way, OverlapWay::kWrite);
  EXPECT_EQ(plan_overlap(facts_of(2, 3), {}).way, OverlapWay::kWrite);
}

TEST(Overlap, AStoreThatIsSlowerThanPackingIsNotWaitedFor) {
  OverlapFacts facts = facts_of(2, 2);
  facts.last_bytes = 100 << 20;
  facts.last_pack_seconds = 1;
  facts.last_write_seconds = 2;
  EXPECT_EQ(plan_overlap(facts, {}).way, OverlapWay::kPack);
  // What fits into memory waits for no store.
  facts.last_bytes = facts.buffer_bytes;
  EXPECT_EQ(plan_overlap(facts, {}).way, OverlapWay::kWrite);
  facts.last_bytes = 100 << 20;
  facts.last_write_seconds = 0.5;
  EXPECT_EQ(plan_overlap(facts, {}).way, OverlapWay::kWrite);
}

TEST(Overlap, AWishCounts) {
  for (const OverlapWay way : {OverlapWay::kNone, OverlapWay::kWrite, OverlapWay::kPack})
    for (const std::uint32_t cores : {1U, 8U}) {
      const OverlapPlan plan = plan_overlap(facts_of(cores, 2), way);
      EXPECT_EQ(plan.way, way);
      EXPECT_NE(plan.reason.find("as asked"), std::string::npos);
    }
}

TEST(Overlap, TheReasonHasTheNumbers) {
  EXPECT_EQ(plan_overlap(facts_of(2, 2), {}).reason,
            "write: packed at the safe point, written beside the evaluation, 2 ranks on 2 cores "
            "leave none free for packing");
  EXPECT_EQ(plan_overlap(facts_of(2, 1), {}).reason,
            "pack: packed and written beside the evaluation, 1 rank on 2 cores leave one free");
}

}  // namespace
}  // namespace stratalog
