// SPDX-License-Identifier: Apache-2.0
// MpiComm on real ranks: the contract that SimComm keeps, also where every message is split,
// duplicates, topologies.
#include "comm/mpi_comm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "comm/topology.h"
#include "mpi/mpi_main.h"
#include "unit/comm/comm_contract.h"

namespace stratalog {
namespace {

TEST(MpiComm, KeepsTheContract) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Status status = check_comm_contract(mpi_test_world(), seed);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  }
}

TEST(MpiComm, KeepsTheContractWhereEveryMessageIsSplit) {
  for (const std::uint64_t limit : {8U, 13U, 64U}) {
    auto comm = duplicate_mpi_world({.bytes_per_message = limit});
    EXPECT_TRUE(comm.is_ok()) << comm.status().to_string();
    if (!comm.is_ok()) continue;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const Status status = check_comm_contract(*comm.value(), seed);
      EXPECT_TRUE(status.is_ok()) << limit << ": " << status.to_string();
    }
  }
}

TEST(MpiComm, KeepsTheContractWhereParcelsTravelAmongPartnersOnly) {
  for (const std::uint64_t limit : {std::uint64_t{8}, std::uint64_t{13}, std::uint64_t{1} << 30U}) {
    auto comm = duplicate_mpi_world({.bytes_per_message = limit, .sparse_from_ranks = 1});
    EXPECT_TRUE(comm.is_ok()) << comm.status().to_string();
    if (!comm.is_ok()) continue;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const Status status = check_comm_contract(*comm.value(), seed);
      EXPECT_TRUE(status.is_ok()) << limit << ": " << status.to_string();
    }
  }
}

TEST(MpiComm, RefusesALimitBelowOneWord) {
  const auto comm = duplicate_mpi_world({.bytes_per_message = 7});
  EXPECT_EQ(comm.status().code(), StatusCode::kInvalidArgument);
}

TEST(MpiComm, AnExchangeOfMebibytesArrivesWhole) {
  Comm& comm = mpi_test_world();
  const auto size = static_cast<std::size_t>(comm.size());
  // Rank r sends (to + 1) * 300,001 bytes of value r ^ to, rank 1 nothing.
  Bytes data;
  std::vector<std::uint64_t> counts;
  for (std::size_t to = 0; to < size; ++to) {
    const std::uint64_t count = comm.rank() == 1 ? 0 : (to + 1) * 300001;
    counts.push_back(count);
    data.insert(data.end(), count,
                static_cast<std::byte>(static_cast<std::size_t>(comm.rank()) ^ to));
  }
  const auto received = comm.exchange(data, counts);
  EXPECT_TRUE(received.is_ok()) << received.status().to_string();
  if (!received.is_ok()) return;
  for (int from = 0; from < comm.size(); ++from) {
    const auto part = received.value().from(from);
    EXPECT_EQ(part.size(), from == 1 ? 0U : (static_cast<std::uint64_t>(comm.rank()) + 1) * 300001);
    const auto expected = static_cast<std::byte>(from ^ comm.rank());
    EXPECT_TRUE(std::ranges::all_of(part, [&](std::byte b) { return b == expected; })) << from;
  }
}

TEST(MpiComm, PartsAroundTheInlineLimitArriveWhole) {
  Comm& comm = mpi_test_world();
  for (const std::uint64_t largest : {1U, 495U, 496U, 497U, 1000U}) {
    // Only the last rank has a part of that size, for rank 0; all others send one byte each.
    Bytes data;
    std::vector<std::uint64_t> counts;
    for (int to = 0; to < comm.size(); ++to) {
      counts.push_back(comm.rank() == comm.size() - 1 && to == 0 ? largest : 1);
      data.insert(data.end(), counts.back(), static_cast<std::byte>((16 * comm.rank()) + to));
    }
    const auto received = comm.exchange(data, counts);
    EXPECT_TRUE(received.is_ok()) << received.status().to_string();
    if (!received.is_ok()) continue;
    for (int from = 0; from < comm.size(); ++from) {
      const auto part = received.value().from(from);
      EXPECT_EQ(part.size(), comm.rank() == 0 && from == comm.size() - 1 ? largest : 1);
      const auto expected = static_cast<std::byte>((16 * from) + comm.rank());
      EXPECT_TRUE(std::ranges::all_of(part, [&](std::byte b) { return b == expected; })) << largest;
    }
  }
}

TEST(MpiComm, DuplicatesDoNotHearEachOther) {
  Comm& world = mpi_test_world();
  auto other = duplicate_mpi_comm(native_mpi_comm(world));
  EXPECT_TRUE(other.is_ok()) << other.status().to_string();
  if (!other.is_ok()) return;
  EXPECT_EQ(other.value()->rank(), world.rank());
  EXPECT_EQ(other.value()->size(), world.size());
  EXPECT_NE(native_mpi_comm(world), native_mpi_comm(*other.value()));
  EXPECT_EQ(native_mpi_comm(*make_self_comm()), nullptr);
  std::uint64_t one = 1;
  EXPECT_TRUE(other.value()->allreduce(std::span(&one, 1), ReduceOp::kSum).is_ok());
  EXPECT_EQ(one, static_cast<std::uint64_t>(world.size()));
}

TEST(MpiComm, ASecondSessionBorrowsTheRunningMpi) {
  {
    const auto inner = MpiSession::start();
    EXPECT_TRUE(inner.is_ok());
  }
  EXPECT_TRUE(mpi_test_world().barrier().is_ok());  // not finalized by the borrower
}

TEST(MpiComm, TopologyIsTheSameEverywhereAndCoversAllRanks) {
  Comm& comm = mpi_test_world();
  const auto topology = comm.topology();
  EXPECT_TRUE(topology.is_ok()) << topology.status().to_string();
  if (!topology.is_ok()) return;
  EXPECT_EQ(topology.value().ranks(), comm.size());
  EXPECT_GE(topology.value().nodes, 1);
  EXPECT_EQ(topology.value().node_of_rank[0], 0);
  std::vector<std::uint64_t> nodes(topology.value().node_of_rank.begin(),
                                   topology.value().node_of_rank.end());
  const std::vector<std::uint64_t> mine = nodes;
  EXPECT_TRUE(comm.allreduce(nodes, ReduceOp::kMax).is_ok());
  EXPECT_EQ(nodes, mine);
}

TEST(MpiComm, VirtualNodesOverrideTheMachine) {
  const auto comm = duplicate_mpi_world({.ranks_per_virtual_node = 2});
  EXPECT_TRUE(comm.is_ok()) << comm.status().to_string();
  if (!comm.is_ok()) return;
  const auto topology = comm.value()->topology();
  EXPECT_TRUE(topology.is_ok());
  if (!topology.is_ok()) return;
  EXPECT_EQ(topology.value().nodes, (comm.value()->size() + 1) / 2);
}

}  // namespace
}  // namespace stratalog
