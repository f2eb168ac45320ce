// SPDX-License-Identifier: Apache-2.0
// Topology: which ranks share a node. Planners that aggregate within nodes take it as a value; it
// comes from the shared-memory split of MPI (Comm::topology) or is made up, because one machine
// must be able to test many nodes. Pure values; no MPI. Local.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace stratalog {

struct Topology {
  // Per rank, its node; nodes are numbered 0, 1, ... in the order of their lowest ranks.
  std::vector<int> node_of_rank;
  int nodes = 0;

  int ranks() const { return static_cast<int>(node_of_rank.size()); }
  // The ranks of one node, ascending. O(ranks).
  std::vector<int> ranks_of(int node) const;
};

// Ranks with equal keys share a node; keys are any numbers (lowest rank on the node, host hash).
Topology topology_of_keys(std::span<const std::uint64_t> key_of_rank);

// Nodes of `ranks_per_node` consecutive ranks, the last one possibly smaller. InvalidArgument
// unless both are positive.
Result<Topology> uniform_topology(int ranks, int ranks_per_node);

}  // namespace stratalog
