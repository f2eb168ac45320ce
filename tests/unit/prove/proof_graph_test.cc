// SPDX-License-Identifier: Apache-2.0
// Heights in the graph of proofs against their definition by rounds, on random graphs.
#include "datalog/prove/proof_graph.h"

#include <gtest/gtest.h>

#include <random>

namespace stratalog::datalog {
namespace {

// Heights by rounds: the definition.
std::vector<std::uint32_t> heights_by_rounds(
    std::size_t nodes, const std::vector<bool>& facts,
    const std::vector<std::vector<NodeId>>& instances) {  // [0] is the head
  std::vector<std::uint32_t> height(nodes, ProofGraph::kUnproved);
  for (std::size_t n = 0; n < nodes; ++n)
    if (facts[n]) height[n] = 0;
  for (std::uint32_t round = 1; round <= nodes + 1; ++round) {
    std::vector<std::uint32_t> next = height;
    for (const auto& instance : instances) {
      bool holds = true;
      for (std::size_t i = 1; i < instance.size(); ++i)
        holds &= height[instance[i]] != ProofGraph::kUnproved;
      if (holds && next[instance[0]] == ProofGraph::kUnproved) next[instance[0]] = round;
    }
    height = next;
  }
  return height;
}

TEST(ProofGraph, HeightsAreThoseOfRoundsWhateverTheOrderOfDiscovery) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const std::size_t count = 2 + random() % 25;
    std::vector<bool> facts(count, false);
    for (std::size_t n = 0; n < count; ++n) facts[n] = random() % 5 == 0;
    std::vector<std::vector<NodeId>> instances;
    for (std::size_t i = 0; i < 3 * count; ++i) {
      std::vector<NodeId> instance(1 + random() % 4);
      for (NodeId& n : instance) n = static_cast<NodeId>(random() % count);
      instances.push_back(instance);
    }
    ProofGraph graph;
    for (NodeId n = 0; n < count; ++n) {
      const Cell tuple[] = {n / 5, n % 5};
      ASSERT_EQ(graph.node(3, tuple), n);
    }
    // Facts come to light in between.
    std::size_t next_fact = 0;
    for (const auto& instance : instances) {
      if (random() % 2 == 0 && next_fact < count) {
        if (facts[next_fact]) graph.mark_fact(static_cast<NodeId>(next_fact));
        ++next_fact;
      }
      graph.add_instance(instance[0], 7, std::span(instance).subspan(1));
    }
    for (; next_fact < count; ++next_fact)
      if (facts[next_fact]) graph.mark_fact(static_cast<NodeId>(next_fact));
    const auto expected = heights_by_rounds(count, facts, instances);
    for (NodeId n = 0; n < count; ++n) {
      ASSERT_EQ(graph.height(n), expected[n]) << "seed " << seed << ", node " << n;
      if (graph.height(n) == ProofGraph::kUnproved || graph.height(n) == 0) continue;
      const InstanceId best = graph.best(n);
      ASSERT_NE(best, ProofGraph::kNone);
      std::uint32_t highest = 0;
      for (const NodeId premise : graph.premises(best))
        highest = std::max(highest, graph.height(premise));
      EXPECT_EQ(highest + 1, graph.height(n)) << "the best instance is one of that height";
    }
  }
}

TEST(ProofGraph, RelationsWithoutColumns) {
  ProofGraph graph;
  const NodeId holds = graph.node(0, {});
  EXPECT_EQ(graph.node(0, {}), holds);
  const Cell tuple[] = {1};
  EXPECT_NE(graph.node(1, tuple), holds);
  graph.add_instance(holds, 0, {});
  EXPECT_EQ(graph.height(holds), 1U);
}

}  // namespace
}  // namespace stratalog::datalog
