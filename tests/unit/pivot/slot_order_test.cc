// SPDX-License-Identifier: Apache-2.0
// Orders of slots and pivots, and a graph that takes them on.
#include "datalog/pivot/slot_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
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

// The slot of cell 100 + s is s.
std::optional<SlotId> slot_below(std::uint32_t slots, Cell pivot) {
  if (pivot < 100 || pivot >= 100 + slots) return std::nullopt;
  return pivot - 100;
}

std::vector<SlotId> slots_of(const std::vector<PivotStart>& starts) {
  std::vector<SlotId> slots;
  for (const PivotStart& start : starts) slots.push_back(start.slot);
  return slots;
}

TEST(SlotOrder, PivotsOfAClosureBeginAtTheirOwnSlots) {
  // path(x, y) :- edge(x, y). A loop 0 -> 1 -> 2 -> 0 with tails 3 -> 0, 4 -> 0 and 5 -> 4.
  const SlotPairs edges = {{0, 1}, {1, 2}, {2, 0}, {3, 0}, {4, 0}, {5, 4}};
  const SlotGraph graph = masked_graph(6, edges);
  std::vector<PivotStart> starts;
  for (const auto& [from, to] : edges) starts.push_back({.slot = to, .pivot = 100 + from});
  const auto own_slot = [](Cell pivot) { return slot_below(6, pivot); };
  begin_at_own_slots(graph, own_slot, starts);
  EXPECT_EQ(slots_of(starts), (std::vector<SlotId>{0, 1, 2, 3, 4, 5}));
  // By the slots at which they start, the tails would all have come between 102 and 100.
  EXPECT_EQ(order_pivots(starts), (std::vector<Cell>{100, 101, 102, 103, 104, 105}));

  // Pivots without a slot of their own stay where they start, as long as few are.
  starts = {{.slot = 0, .pivot = 7},
            {.slot = 1, .pivot = 100},
            {.slot = 2, .pivot = 101},
            {.slot = 0, .pivot = 103},
            {.slot = 5, .pivot = 7}};
  begin_at_own_slots(graph, own_slot, starts);
  EXPECT_EQ(slots_of(starts), (std::vector<SlotId>{0, 0, 1, 3, 5}));
}

TEST(SlotOrder, OtherPivotsBeginWhereTheyStart) {
  const SlotGraph graph = masked_graph(4, {{0, 1}, {1, 2}, {2, 3}});
  const auto own_slot = [](Cell pivot) { return slot_below(4, pivot); };
  // No edge leads from a pivot's own slot to its start: the column means something else.
  std::vector<PivotStart> starts = {
      {.slot = 3, .pivot = 100}, {.slot = 0, .pivot = 101}, {.slot = 1, .pivot = 103}};
  begin_at_own_slots(graph, own_slot, starts);
  EXPECT_EQ(slots_of(starts), (std::vector<SlotId>{3, 0, 1}));
  // Half is not most.
  starts = {{.slot = 1, .pivot = 100}, {.slot = 0, .pivot = 101}};
  begin_at_own_slots(graph, own_slot, starts);
  EXPECT_EQ(slots_of(starts), (std::vector<SlotId>{1, 0}));
  starts.clear();
  begin_at_own_slots(graph, own_slot, starts);
  EXPECT_TRUE(starts.empty());
  // What is not expanded has no edges that could tell.
  SlotGraph unknown(nullptr);
  unknown.reserve_slot(3);
  starts = {{.slot = 1, .pivot = 100}};
  begin_at_own_slots(unknown, own_slot, starts);
  EXPECT_EQ(slots_of(starts), (std::vector<SlotId>{1}));
}

TEST(SlotOrder, ManyPivotsAsByComparison) {
  std::mt19937 random(11);
  for (const std::uint32_t range : {1U, 7U, 3000U, 0xFFFFFFFFU}) {
    std::vector<PivotStart> starts(5000);
    for (PivotStart& start : starts)
      start = {.slot = static_cast<SlotId>(random() % range),
               .pivot = static_cast<Cell>(random() % range)};
    std::map<Cell, SlotId> first;
    for (const PivotStart& start : starts) {
      const auto [found, is_new] = first.try_emplace(start.pivot, start.slot);
      if (!is_new) found->second = std::min(found->second, start.slot);
    }
    std::vector<std::pair<SlotId, Cell>> expected;
    for (const auto& [pivot, slot] : first) expected.emplace_back(slot, pivot);
    std::ranges::sort(expected);
    const std::vector<Cell> pivots = order_pivots(starts);
    ASSERT_EQ(pivots.size(), expected.size());
    for (std::size_t i = 0; i < pivots.size(); ++i) ASSERT_EQ(pivots[i], expected[i].second);
  }
}

// Edges are asked for some at a time, so that a memory limit is heard in the midst of them.
TEST(SlotOrder, FollowingEdgesEndsWhereItIsToldTo) {
  constexpr SlotId kSlots = 300000;
  std::size_t most_in_batch = 0;
  SlotGraph graph([&](std::span<const SlotId> batch, EdgeSink& sink) {
    most_in_batch = std::max(most_in_batch, batch.size());
    for (std::uint32_t i = 0; i < batch.size(); ++i) sink.add(i, (batch[i] + 1) % kSlots);
    return Status();
  });
  graph.reserve_slot(kSlots - 1);
  std::vector<SlotId> all(kSlots);
  std::iota(all.begin(), all.end(), SlotId{0});
  const auto at_most = [&](std::uint64_t edges) {
    return graph.discover(
        all, 100, [&] { return graph.edges() < edges ? Status() : Status::no_space("enough"); });
  };
  EXPECT_EQ(at_most(kSlots / 2).code(), StatusCode::kNoSpace);
  EXPECT_GE(graph.edges(), kSlots / 2);
  EXPECT_LT(graph.edges(), kSlots);
  ASSERT_TRUE(at_most(kSlots + 1).is_ok());
  EXPECT_TRUE(graph.is_closed());
  EXPECT_EQ(graph.edges(), kSlots);
  EXPECT_LT(most_in_batch, kSlots / 2);
}

}  // namespace
}  // namespace stratalog
