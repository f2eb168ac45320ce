// SPDX-License-Identifier: Apache-2.0
// Who looks after which stage, and what is copied from where: at any number of ranks and nodes.
#include "place/stage_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

namespace stratalog {
namespace {

// Every node has one rank that drains, its lowest; rank 0 publishes.
void expect_one_leader_each(const std::vector<int>& node_of_rank, int nodes) {
  std::vector<int> leader(static_cast<std::size_t>(nodes), -1);
  const int ranks = static_cast<int>(node_of_rank.size());
  // Seats of all ranks cost O(ranks^2); leaders are what matters.
  for (int r = 0; r < ranks; ++r) {
    auto& known = leader[static_cast<std::size_t>(node_of_rank[static_cast<std::size_t>(r)])];
    const bool is_first = known == -1;
    if (is_first) known = r;
    if (!is_first && r % 97 != 0) continue;
    const StageSeat seat = plan_stage_seat(node_of_rank, r);
    ASSERT_EQ(seat.node, node_of_rank[static_cast<std::size_t>(r)]);
    ASSERT_EQ(seat.nodes, nodes);
    ASSERT_EQ(seat.leads(), is_first) << r;
    ASSERT_EQ(seat.role == StageRole::kPublishes, r == 0);
  }
}

TEST(StagePlan, TheLowestRankOfANodeLooksAfterItsStage) {
  for (const int ranks : {1, 2, 7, 1024, 16384})
    for (const int nodes : {1, 2, 3, 128, 2048}) {
      if (nodes > ranks) continue;
      std::vector<int> in_blocks;
      std::vector<int> dealt;
      for (int r = 0; r < ranks; ++r) {
        in_blocks.push_back(static_cast<int>(static_cast<long>(r) * nodes / ranks));
        dealt.push_back(r % nodes);
      }
      expect_one_leader_each(in_blocks, nodes);
      expect_one_leader_each(dealt, nodes);
    }
}

TEST(StagePlan, WithoutATopologyAllShareOneNode) {
  EXPECT_EQ(plan_stage_seat({}, 0).role, StageRole::kPublishes);
  EXPECT_EQ(plan_stage_seat({}, 5).role, StageRole::kWrites);
  EXPECT_FALSE(plan_stage_seat({}, 5).spans_nodes());
}

StagedFile file_of(int rank) {
  return {.name = "0000-edge.total." + std::to_string(rank),
          .bytes = static_cast<std::uint64_t>(rank) + 1};
}

TEST(StagePlan, EveryFileIsCopiedOnceByANodeThatHasIt) {
  constexpr int kRanks = 16384;
  constexpr int kNodes = 2048;
  const GenerationId id{.epoch = 1, .sequence = 9};
  StagedGeneration generation{.id = id, .files = {}, .home = {}};
  std::vector<StageHolding> holdings(kNodes);
  for (int node = 0; node < kNodes; ++node)
    holdings[static_cast<std::size_t>(node)] = {.id = id, .node = node, .files = {}};
  for (int rank = 0; rank < kRanks; ++rank) {
    generation.files.push_back(file_of(rank));
    if (rank % 5 == 0) generation.home.push_back(file_of(rank));
    // Ranks were dealt differently when it was written; some files lie in two stages.
    const auto node = static_cast<std::size_t>((rank * 7) % kNodes);
    holdings[node].files.push_back(file_of(rank));
    if (rank % 3 == 0) holdings[(node + 1) % kNodes].files.push_back(file_of(rank));
  }
  const auto recoveries = plan_stage_recovery(std::span(&generation, 1), holdings);
  ASSERT_EQ(recoveries.size(), 1U);
  EXPECT_TRUE(recoveries[0].is_complete());
  std::set<StagedFile> copied;
  for (const StageCopies& part : recoveries[0].copies) {
    const auto& has = holdings[static_cast<std::size_t>(part.node)].files;
    for (const StagedFile& file : part.files) {
      EXPECT_TRUE(copied.insert(file).second);
      EXPECT_NE(std::find(has.begin(), has.end(), file), has.end());
    }
  }
  EXPECT_EQ(copied.size(), kRanks - generation.home.size());
  EXPECT_TRUE(std::is_sorted(recoveries[0].copies.begin(), recoveries[0].copies.end(),
                             [](const auto& a, const auto& b) { return a.node < b.node; }));
}

TEST(StagePlan, WhatIsNowhereInItsFullLengthIsMissing) {
  const GenerationId id{.epoch = 1, .sequence = 1};
  const GenerationId other{.epoch = 1, .sequence = 2};
  const StagedGeneration wanted[] = {
      {.id = id, .files = {{"a", 10}, {"b", 20}, {"c", 30}}, .home = {{"c", 29}}},
      {.id = other, .files = {{"a", 10}}, .home = {}}};
  const StageHolding holdings[] = {{.id = id, .node = 3, .files = {{"a", 10}, {"b", 19}}},
                                   {.id = id, .node = 1, .files = {{"a", 10}, {"c", 31}}}};
  const auto recoveries = plan_stage_recovery(wanted, holdings);
  ASSERT_EQ(recoveries.size(), 2U);
  EXPECT_EQ(recoveries[0].missing, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(recoveries[0].copies, (std::vector<StageCopies>{{.node = 1, .files = {{"a", 10}}}}));
  EXPECT_EQ(recoveries[1].missing, (std::vector<std::string>{"a"}));
}

}  // namespace
}  // namespace stratalog
