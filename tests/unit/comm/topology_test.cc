// SPDX-License-Identifier: Apache-2.0
// Topology as a value: numbering of nodes, uniform nodes, and what groups without MPI answer.
#include "comm/topology.h"

#include <gtest/gtest.h>

#include <array>

#include "comm/comm.h"

namespace stratalog {
namespace {

TEST(Topology, NodesAreNumberedByTheirLowestRank) {
  const std::array<std::uint64_t, 6> keys{90, 7, 90, 3, 7, 90};
  const Topology topology = topology_of_keys(keys);
  EXPECT_EQ(topology.node_of_rank, (std::vector<int>{0, 1, 0, 2, 1, 0}));
  EXPECT_EQ(topology.nodes, 3);
  EXPECT_EQ(topology.ranks_of(0), (std::vector<int>{0, 2, 5}));
  EXPECT_EQ(topology.ranks_of(2), (std::vector<int>{3}));
}

TEST(Topology, UniformNodesEndWithASmallerOne) {
  const auto topology = uniform_topology(7, 3);
  ASSERT_TRUE(topology.is_ok());
  EXPECT_EQ(topology.value().nodes, 3);
  EXPECT_EQ(topology.value().node_of_rank, (std::vector<int>{0, 0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(uniform_topology(4, 4).value().nodes, 1);
  EXPECT_EQ(uniform_topology(4, 100).value().nodes, 1);
}

TEST(Topology, RefusesGroupsOfNobody) {
  EXPECT_EQ(uniform_topology(0, 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(uniform_topology(1, 0).status().code(), StatusCode::kInvalidArgument);
}

TEST(Topology, GroupsWithoutMpiLieOnOneNode) {
  EXPECT_EQ(make_self_comm()->topology().value().nodes, 1);
  const Status status = sim_run(3, [](Comm& comm) {
    STRATALOG_ASSIGN_OR_RETURN(const Topology topology, comm.topology());
    return topology.nodes == 1 && topology.ranks() == 3 ? Status::ok() : Status::internal("nodes");
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace stratalog
