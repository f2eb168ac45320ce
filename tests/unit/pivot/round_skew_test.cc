// SPDX-License-Identifier: Apache-2.0
// RoundSkew: where it finds delays, and where it does not look for any. That delays change no
// result is in pivot_closure_test.cc.
#include "datalog/pivot/round_skew.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace stratalog {
namespace {

constexpr std::uint32_t kLanes = 512;

struct Link {
  SlotId from;
  SlotId to;
};

// The graph of the links with `slots` slots, all expanded.
SlotGraph graph_of(std::uint32_t slots, std::vector<Link> links) {
  SlotGraph graph([links = std::move(links)](std::span<const SlotId> batch, EdgeSink& sink) {
    for (std::uint32_t i = 0; i < batch.size(); ++i)
      for (const Link& link : links)
        if (link.from == batch[i]) sink.add(i, link.to);
    return Status::ok();
  });
  graph.reserve_slot(slots - 1);
  std::vector<SlotId> all(slots);
  for (SlotId slot = 0; slot < slots; ++slot) all[slot] = slot;
  EXPECT_TRUE(graph.expand(all).is_ok());
  return graph;
}

// Lane i starts at slot i.
std::vector<SlotBit> one_slot_for_each_lane() {
  std::vector<SlotBit> delta;
  delta.reserve(kLanes);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) delta.push_back({lane, lane});
  return delta;
}

TEST(RoundSkew, DelaysTheLanesOfAChainByTheirPlace) {
  std::vector<Link> links;
  links.reserve(std::size_t{4} * kLanes);
  for (SlotId slot = 0; slot + 1 < 2 * kLanes; ++slot) links.push_back({slot, slot + 1});
  const SlotGraph graph = graph_of(2 * kLanes, links);
  RoundSkew skew;
  const auto delays = skew.plan(graph, one_slot_for_each_lane(), kLanes, 1);
  ASSERT_EQ(delays.size(), kLanes);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) EXPECT_EQ(delays[lane], lane);
}

TEST(RoundSkew, LooksForNoneWhereLanesHaveLittleToFollow) {
  // Each lane's slot has a parent of sixteen, which has one of four: three levels.
  std::vector<Link> links;
  links.reserve(std::size_t{4} * kLanes);
  for (SlotId slot = 0; slot < kLanes; ++slot) links.push_back({slot, kLanes + slot / 16});
  for (SlotId slot = 0; slot < kLanes / 16; ++slot)
    links.push_back({kLanes + slot, kLanes + kLanes / 16 + slot / 4});
  const SlotGraph graph = graph_of(2 * kLanes, links);
  RoundSkew skew;
  EXPECT_TRUE(skew.plan(graph, one_slot_for_each_lane(), kLanes, 1).empty());
  EXPECT_EQ(skew.memory_bytes(), 0) << "it has looked at the graph";
}

TEST(RoundSkew, CountsTheSlotsOfACycleOnce) {
  std::vector<Link> links;
  links.reserve(std::size_t{4} * kLanes);
  for (SlotId slot = 0; slot < kLanes; ++slot)
    links.push_back({slot, slot % 8 == 7 ? slot - 7 : slot + 1});
  const SlotGraph graph = graph_of(kLanes, links);
  RoundSkew skew;
  EXPECT_TRUE(skew.plan(graph, one_slot_for_each_lane(), kLanes, 1).empty());
  EXPECT_EQ(skew.memory_bytes(), 0);
}

TEST(RoundSkew, LooksAtALongWayFromFewOfTheLanes) {
  // The upper half of the lanes starts on a chain, the lower half has no edges at all.
  std::vector<Link> links;
  links.reserve(std::size_t{4} * kLanes);
  for (SlotId slot = kLanes / 2; slot + 1 < 4 * kLanes; ++slot) links.push_back({slot, slot + 1});
  const SlotGraph graph = graph_of(4 * kLanes, links);
  RoundSkew skew;
  const auto delays = skew.plan(graph, one_slot_for_each_lane(), kLanes, 1);
  ASSERT_EQ(delays.size(), kLanes);
  EXPECT_EQ(delays[kLanes - 1] - delays[kLanes / 2], kLanes / 2 - 1);
}

SlotGraph long_chain() {
  std::vector<Link> links;
  for (SlotId slot = 0; slot + 1 < 4 * kLanes; ++slot) links.push_back({slot, slot + 1});
  return graph_of(4 * kLanes, links);
}

TEST(RoundSkew, UsesWhatOthersFound) {
  const SlotGraph graph = long_chain();
  const auto landmarks = std::make_shared<Landmarks>();
  RoundSkew first(landmarks);
  RoundSkew second(landmarks);
  ASSERT_EQ(first.plan(graph, one_slot_for_each_lane(), kLanes, 1).size(), kLanes);
  const Landmarks::Kept kept = landmarks->kept();
  ASSERT_FALSE(kept.empty());
  const std::uint64_t bytes = landmarks->memory_bytes();
  // Other slots of the same chain: their lanes reach what the first block's lanes do.
  std::vector<SlotBit> delta = one_slot_for_each_lane();
  for (SlotBit& bit : delta) bit.slot /= 2;
  EXPECT_EQ(second.plan(graph, delta, kLanes, 2).size(), kLanes);
  EXPECT_EQ(landmarks->kept(), kept) << "it has looked for more";
  EXPECT_EQ(landmarks->memory_bytes(), bytes);
}

// Where others have used up what the search may cost, a block that no landmark is known for is not
// left without delays.
TEST(RoundSkew, KeepsAReserveForBlocksThatNoLandmarkIsKnownFor) {
  const SlotGraph graph = long_chain();
  const auto landmarks = std::make_shared<Landmarks>();
  (void)landmarks->sides_of(graph);
  EXPECT_TRUE(landmarks->may_search());
  const std::uint64_t all = ~std::uint64_t{0};
  EXPECT_GT(landmarks->note_search(all), 0U);
  EXPECT_FALSE(landmarks->may_search());
  EXPECT_EQ(landmarks->note_search(7), 7U);
  RoundSkew skew(landmarks);
  const auto delays = skew.plan(graph, one_slot_for_each_lane(), kLanes, 1);
  ASSERT_EQ(delays.size(), kLanes);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) EXPECT_EQ(delays[lane], lane);
  landmarks->note_work(80);
  EXPECT_EQ(landmarks->note_search(15), 5U);
}

}  // namespace
}  // namespace stratalog
