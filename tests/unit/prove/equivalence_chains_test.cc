// SPDX-License-Identifier: Apache-2.0
// Chains of pairs against all paths of a small class (Floyd and Warshall, with maxima for sums).
#include "datalog/prove/equivalence_chains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace stratalog::datalog {
namespace {

constexpr RelationId kPairs = 1;
constexpr RelationId kLadder = 2;
constexpr std::uint32_t kFar = 1000;

// The node of a ladder with this height; the rungs below are made with it.
NodeId rung(ProofGraph& graph, std::uint32_t height) {
  const Cell step[] = {height};
  const NodeId n = graph.node(kLadder, step);
  if (graph.height(n) != ProofGraph::kUnproved) return n;
  if (height == 0) {
    graph.mark_fact(n);
  } else {
    const NodeId below[] = {rung(graph, height - 1)};
    graph.add_instance(n, 0, below);
  }
  return n;
}

// Whether the premises of an instance lead from one element to the other.
bool leads(const ProofGraph& graph, InstanceId i, Cell from, Cell to) {
  if (from == to) {
    const auto pair = graph.tuple(graph.premises(i)[0]);
    return graph.premises(i).size() == 1 && (pair[0] == from || pair[1] == from);
  }
  Cell at = from;
  for (const NodeId n : graph.premises(i)) {
    const auto pair = graph.tuple(n);
    if (pair[0] != at && pair[1] != at) return false;
    at = pair[0] == at ? pair[1] : pair[0];
  }
  return at == to;
}

TEST(EquivalenceChains, AreAsLowAsCanBe) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const std::uint32_t size = 2 + random() % 7;
    std::vector<std::vector<std::uint32_t>> lowest(size, std::vector<std::uint32_t>(size, kFar));
    ProofGraph graph;
    EquivalenceChains chains(graph);
    const IntSet members;
    EXPECT_TRUE(chains.open(&members));
    EXPECT_FALSE(chains.open(&members));
    for (std::uint32_t i = 0; i < 2 * size; ++i) {
      const Cell pair[] = {static_cast<Cell>(random() % size), static_cast<Cell>(random() % size)};
      const auto height = static_cast<std::uint32_t>(1 + random() % 5);
      const NodeId n = graph.node(kPairs, pair);
      const NodeId premise[] = {rung(graph, height - 1)};
      graph.add_instance(n, 0, premise);
      chains.give(&members, n);
      for (const auto& [a, b] : {std::array{pair[0], pair[1]}, std::array{pair[1], pair[0]}}) {
        lowest[a][b] = std::min(lowest[a][b], height);
        lowest[a][a] = std::min(lowest[a][a], height);
      }
    }
    for (std::uint32_t k = 0; k < size; ++k)
      for (std::uint32_t a = 0; a < size; ++a)
        for (std::uint32_t b = 0; b < size; ++b)
          lowest[a][b] = std::min(lowest[a][b], std::max(lowest[a][k], lowest[k][b]));
    for (Cell a = 0; a < size; ++a) {
      for (Cell b = 0; b < size; ++b) {
        const Cell pair[] = {a, b};
        const NodeId n = graph.node(kPairs, pair);
        const std::uint32_t given = graph.height(n);
        chains.ask(&members, n);
        chains.connect();
        if (lowest[a][b] == kFar) {
          EXPECT_EQ(graph.height(n), given) << "seed " << seed;
          continue;
        }
        ASSERT_EQ(graph.height(n), std::min(given, lowest[a][b] + 1)) << "seed " << seed;
        if (graph.rule(graph.best(n)) == EquivalenceChains::kChain) {
          EXPECT_TRUE(leads(graph, graph.best(n), a, b)) << "seed " << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace stratalog::datalog
