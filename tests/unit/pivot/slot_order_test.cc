// SPDX-License-Identifier: Apache-2.0
// Orders of slots and pivots, and a graph that takes them on.
#include "datalog/pivot/slot_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <utility>

namespace stratalog {
namespace {

using SlotPairs = std::vector<std::pair<SlotId, SlotId>>;

SlotGraph masked_graph(std::uint32_t slots, const SlotPairs& edges) {
  SlotGraph graph([edges](std::span<const SlotId> batch, EdgeSink& sink) {
    for (std::uint32_t i = 0; i < batch.size(); ++i)
      for (const auto& [from, to] : edges)
        if (from == batch[i]) {
          if (to % 5 == 1)
            sink.add(i, to, to % 3, MaskSense::kDropMembers);
          else
            sink.add(i, to);
        }
    return Status();
  });
  graph.reserve_slot(slots - 1);
  std::vector<SlotId> all(slots);
  std::iota(all.begin(), all.end(), SlotId{0});
  EXPECT_TRUE(graph.expand(all).is_ok());
  return graph;
}

// SlotPairs with their masks.
std::set<std::pair<std::pair<SlotId, SlotId>, std::uint32_t>> masked_edges(const SlotGraph& graph) {
  std::set<std::pair<std::pair<SlotId, SlotId>, std::uint32_t>> edges;
  for (SlotId slot = 0; slot < graph.slots(); ++slot)
    for (std::uint32_t e = graph.extents()[slot].begin; e != graph.extents()[slot].end; ++e)
      edges.insert(
          {{slot, graph.targets()[e]}, graph.masks() == nullptr ? kNoMask : graph.masks()[e]});
  return edges;
}

TEST(SlotOrder, FollowsChainsInBothDirections) {
  // 0 -> 4 -> 2, and 3 -> 2; 1 alone; 5 <-> 6.
  const SlotGraph graph = masked_graph(7, {{0, 4}, {4, 2}, {3, 2}, {5, 6}, {6, 5}});
  EXPECT_EQ(depth_first_order(graph), (std::vector<SlotId>{0, 4, 2, 3, 1, 5, 6}));
  EXPECT_TRUE(depth_first_order(SlotGraph(nullptr)).empty());
}

TEST(SlotOrder, ALongChainNeedsNoStackOfCalls) {
  constexpr SlotId kSlots = 400000;
  SlotGraph graph([](std::span<const SlotId> batch, EdgeSink& sink) {
    for (std::uint32_t i = 0; i < batch.size(); ++i)
      if (batch[i] > 0) sink.add(i, batch[i] - 1);
    return Status();
  });
  graph.reserve_slot(kSlots - 1);
  std::vector<SlotId> all(kSlots);
  std::iota(all.begin(), all.end(), SlotId{0});
  ASSERT_TRUE(graph.expand(all).is_ok());
  const std::vector<SlotId> order = depth_first_order(graph);
  ASSERT_EQ(order.size(), kSlots);
  EXPECT_TRUE(std::ranges::is_sorted(order)) << "from 0 against all edges";
}

TEST(SlotOrder, EverySlotOnceAndTheGraphStaysTheSame) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    const std::uint32_t slots = 1 + random() % 40;
    SlotPairs edges;
    for (std::uint32_t e = random() % 80; e > 0; --e)
      edges.emplace_back(random() % slots, random() % slots);
    SlotGraph graph = masked_graph(slots, edges);
    const auto before = masked_edges(graph);
    const std::vector<SlotId> order = depth_first_order(graph);
    std::vector<SlotId> sorted = order;
    std::ranges::sort(sorted);
    for (SlotId i = 0; i < slots; ++i) ASSERT_EQ(sorted[i], i);
    std::vector<SlotId> number(slots);
    for (SlotId i = 0; i < slots; ++i) number[order[i]] = i;
    graph.renumber(number);
    ASSERT_TRUE(graph.is_closed());
    std::set<std::pair<std::pair<SlotId, SlotId>, std::uint32_t>> after;
    for (const auto& [edge, mask] : masked_edges(graph))
      after.insert({{order[edge.first], order[edge.second]}, mask});
    EXPECT_EQ(after, before);
  }
}

TEST(SlotOrder, UnexpandedSlotsStayUnexpanded) {
  SlotGraph graph([](std::span<const SlotId> batch, EdgeSink& sink) {
    for (std::uint32_t i = 0; i < batch.size(); ++i) sink.add(i, 2);
    return Status();
  });
  graph.reserve_slot(2);
  std::vector<SlotId> some = {0};
  ASSERT_TRUE(graph.expand(some).is_ok());
  const std::vector<SlotId> number = {1, 2, 0};
  graph.renumber(number);
  EXPECT_TRUE(graph.is_expanded(1));
  EXPECT_FALSE(graph.is_expanded(0));
  EXPECT_FALSE(graph.is_expanded(2));
  EXPECT_EQ(graph.targets()[graph.extents()[1].begin], 0U);
}

TEST(SlotOrder, PivotsByTheirFirstSlot) {
  EXPECT_EQ(order_pivots({{.slot = 4, .pivot = 10},
                          {.slot = 1, .pivot = 30},
                          {.slot = 2, .pivot = 10},
                          {.slot = 2, .pivot = 5},
                          {.slot = 0, .pivot = 20},
                          {.slot = 0, .pivot = 20}}),
            (std::vector<Cell>{20, 30, 5, 10}));
  EXPECT_TRUE(order_pivots({}).empty());
}

}  // namespace
}  // namespace stratalog
