// SPDX-License-Identifier: Apache-2.0
// Followers of a slot graph: which slots they are, what forgets them, and that a sweep moves no row
// for them. That results stay the same is the matter of pivot_closure_test.cc, whose random
// problems have followers.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "datalog/pivot/pivot_closure.h"
#include "unit/pivot/naive_closure.h"

namespace stratalog {
namespace {

std::vector<SlotId> all_slots(const NaiveProblem& problem) {
  std::vector<SlotId> slots(problem.edges.size());
  std::iota(slots.begin(), slots.end(), SlotId{0});
  return slots;
}

SlotGraph expanded(const NaiveProblem& problem) {
  SlotGraph graph(problem.expander());
  std::vector<SlotId> slots = all_slots(problem);
  graph.reserve_slot(slots.back());
  EXPECT_TRUE(graph.expand(slots).is_ok());
  return graph;
}

TEST(Followers, HaveOneEdgeIntoThemAndNoneFromThem) {
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const NaiveProblem problem = random_problem(seed, false);
    SlotGraph graph = expanded(problem);
    graph.find_followers();
    if (!graph.has_followers()) continue;
    std::vector<std::set<SlotId>> sources(problem.edges.size());
    for (SlotId slot = 0; slot < problem.edges.size(); ++slot)
      for (const NaiveEdge& edge : problem.edges[slot]) sources[edge.target].insert(slot);
    for (SlotId slot = 0; slot < problem.edges.size(); ++slot) {
      const bool follows = sources[slot].size() == 1 && problem.edges[slot].empty();
      EXPECT_EQ(graph.leaders()[slot], follows ? *sources[slot].begin() : SlotGraph::kNoLeader);
      found += follows ? 1 : 0;
      const SlotGraph::Extent extent = graph.extents()[slot];
      for (std::uint32_t e = extent.begin; e != extent.end; ++e)
        EXPECT_EQ(e >= graph.first_followers()[slot], graph.leaders()[graph.targets()[e]] == slot);
      std::set<SlotId> targets;
      for (const NaiveEdge& edge : problem.edges[slot]) targets.insert(edge.target);
      EXPECT_EQ(std::set<SlotId>(graph.targets() + extent.begin, graph.targets() + extent.end),
                targets);
    }
  }
  EXPECT_GT(found, 1000U);
}

TEST(Followers, AreForgottenWhereMoreIsExpanded) {
  NaiveProblem problem;
  problem.edges = {{{1}, {2}}, {}, {}};
  SlotGraph graph = expanded(problem);
  graph.find_followers();
  ASSERT_TRUE(graph.has_followers());
  graph.reserve_slot(3);  // not expanded yet: a later search finds nothing
  problem.edges.push_back({{2}});
  std::vector<SlotId> more = {3};
  ASSERT_TRUE(graph.expand(more).is_ok());
  EXPECT_FALSE(graph.has_followers());
  graph.find_followers();
  ASSERT_TRUE(graph.has_followers());
  EXPECT_EQ(graph.leaders()[1], 0U);
  EXPECT_EQ(graph.leaders()[2], SlotGraph::kNoLeader);  // has two edges into it now
}

TEST(Followers, AreNotLookedForBehindMasksNorWhereSlotsAreUnknown) {
  NaiveProblem masked;
  masked.lanes = 1;
  masked.edges = {{{1, mask_code(0, MaskSense::kKeepMembers)}, {2}}, {}, {}};
  masked.masks = {{0}};
  SlotGraph behind_mask = expanded(masked);
  behind_mask.find_followers();
  EXPECT_FALSE(behind_mask.has_followers());
  NaiveProblem open;
  open.edges = {{{1}}, {}};
  SlotGraph graph(open.expander());
  graph.reserve_slot(1);
  std::vector<SlotId> first = {0};
  ASSERT_TRUE(graph.expand(first).is_ok());
  graph.find_followers();
  EXPECT_FALSE(graph.has_followers());
}

// A ring of which each slot leads followers: rows move along the ring, and to those followers that
// a seed has reached.
TEST(Followers, CostNoRowOperations) {
  constexpr std::uint32_t kRing = 40;
  constexpr std::uint32_t kEach = 25;
  NaiveProblem problem;
  problem.lanes = kRing;
  problem.edges.resize(kRing + kRing * kEach);
  for (std::uint32_t v = 0; v < kRing; ++v) {
    problem.edges[v].push_back({(v + 1) % kRing});
    for (std::uint32_t f = 0; f < kEach; ++f) problem.edges[v].push_back({kRing + v * kEach + f});
    problem.seeds.push_back({v, v});
  }
  problem.seeds.push_back({kRing, 7});
  PivotClosure closure(PivotSpace::dense(0, kRing).value(), problem.expander(), problem.members(),
                       {});
  for (const NaiveTuple& seed : problem.seeds)
    ASSERT_TRUE(closure.seed(seed.slot, seed.lane).is_ok());
  const Result<RunReport> report = closure.run({});
  ASSERT_TRUE(report.is_ok());
  const std::vector<NaiveRound> rounds = naive_rounds(problem);
  ASSERT_EQ(report.value().new_rows.size(), rounds.size() - 1);
  for (std::size_t i = 0; i + 1 < rounds.size(); ++i)
    EXPECT_EQ(report.value().new_rows[i], rounds[i + 1].delta.size());
  EXPECT_EQ(closure.row_count(), std::uint64_t{kRing} * kRing * (1 + kEach));
  EXPECT_EQ(report.value().derivations, std::uint64_t{kRing} * kRing * (1 + kEach));
  // At most one row for each pivot and slot of the ring, and as many for the seeded follower.
  EXPECT_LE(report.value().row_operations, std::uint64_t{kRing} * kRing + kRing);
}

}  // namespace
}  // namespace stratalog
