// SPDX-License-Identifier: Apache-2.0
#include "comm/topology.h"

#include <fmt/format.h>

#include <unordered_map>

namespace stratalog {

std::vector<int> Topology::ranks_of(int node) const {
  std::vector<int> members;
  for (int r = 0; r < ranks(); ++r)
    if (node_of_rank[static_cast<std::size_t>(r)] == node) members.push_back(r);
  return members;
}

Topology topology_of_keys(std::span<const std::uint64_t> key_of_rank) {
  Topology topology;
  topology.node_of_rank.reserve(key_of_rank.size());
  std::unordered_map<std::uint64_t, int> node_of_key;
  for (const std::uint64_t key : key_of_rank) {
    const auto found = node_of_key.try_emplace(key, topology.nodes);
    if (found.second) ++topology.nodes;
    topology.node_of_rank.push_back(found.first->second);
  }
  return topology;
}

Result<Topology> uniform_topology(int ranks, int ranks_per_node) {
  if (ranks < 1 || ranks_per_node < 1)
    return Status::invalid_argument(
        fmt::format("a topology needs at least one rank and one rank per node, not {} and {}",
                    ranks, ranks_per_node));
  Topology topology;
  topology.nodes = ((ranks - 1) / ranks_per_node) + 1;
  for (int r = 0; r < ranks; ++r) topology.node_of_rank.push_back(r / ranks_per_node);
  return topology;
}

}  // namespace stratalog
