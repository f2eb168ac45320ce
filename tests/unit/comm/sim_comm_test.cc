// SPDX-License-Identifier: Apache-2.0
// The contract of Comm on the implementations without MPI. tests/mpi/comm_test.cc asks MpiComm the
// same questions.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>

#include "comm/comm.h"
#include "unit/comm/comm_contract.h"

namespace stratalog {
namespace {

class SimCommTest : public testing::TestWithParam<int> {};

TEST_P(SimCommTest, KeepsTheContract) {
  const Status status = sim_run(GetParam(), [](Comm& comm) {
    for (int round = 0; round < 3; ++round)
      STRATALOG_RETURN_IF_ERROR(check_comm_contract(comm, static_cast<std::uint64_t>(round)));
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(Ranks, SimCommTest, testing::Values(1, 2, 3, 7, 64, 256));

TEST(SelfComm, KeepsTheContract) {
  const auto comm = make_self_comm();
  const Status status = check_comm_contract(*comm, 7);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(SimComm, RefusesRankCountsItCannotRun) {
  const auto nothing = [](Comm&) { return Status::ok(); };
  EXPECT_EQ(sim_run(0, nothing).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(sim_run(16385, nothing).code(), StatusCode::kInvalidArgument);
}

TEST(SimComm, ARankThatLeavesBreaksTheOthersInsteadOfHangingThem) {
  std::atomic<int> broken = 0;
  const Status status = sim_run(4, [&](Comm& comm) {
    STRATALOG_RETURN_IF_ERROR(comm.barrier());
    if (comm.rank() == 2) return Status::ok();
    const Status waited = comm.barrier();
    if (waited.code() == StatusCode::kRanksDisagree) ++broken;
    // Also later calls fail at once.
    std::uint64_t one = 1;
    if (comm.allreduce(std::span(&one, 1), ReduceOp::kSum).code() == StatusCode::kRanksDisagree)
      ++broken;
    return waited;
  });
  EXPECT_EQ(broken, 6);
  EXPECT_EQ(status.code(), StatusCode::kRanksDisagree);
  EXPECT_NE(status.message().find("rank 2 has already returned"), std::string::npos)
      << status.to_string();
}

TEST(SimComm, TheCauseOfABreakIsReportedNotItsConsequences) {
  const Status status = sim_run(3, [](Comm& comm) {
    if (comm.rank() == 1) return Status::io_error("disk on fire");
    return comm.barrier();
  });
  EXPECT_EQ(status.to_string(), "IoError: rank 1: disk on fire");
}

TEST(SimComm, DifferentCallsAreRefusedOnAllRanks) {
  std::atomic<int> refused = 0;
  const Status status = sim_run(3, [&](Comm& comm) {
    const Status mixed = comm.rank() == 1 ? comm.allgather({}).status() : comm.barrier();
    if (mixed.code() == StatusCode::kRanksDisagree) ++refused;
    return comm.barrier();  // the group is still usable
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(refused, 3);
}

TEST(SimComm, DifferentLengthsRootsAndOperationsAreRefused) {
  std::atomic<int> refused = 0;
  const auto count = [&](const Status& status) {
    if (status.code() == StatusCode::kRanksDisagree) ++refused;
  };
  const Status status = sim_run(2, [&](Comm& comm) {
    std::array<std::uint64_t, 2> words{};
    const bool odd = comm.rank() == 1;
    count(comm.allreduce(std::span(words).first(odd ? 1 : 2), ReduceOp::kSum));
    count(comm.allreduce(words, odd ? ReduceOp::kMax : ReduceOp::kMin));
    Bytes data(3);
    count(comm.broadcast(data, comm.rank()));
    count(comm.gather(data, comm.rank()).status());
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(refused, 8);
}

TEST(Received, FromFindsPartsAmongEmptyOnes) {
  Received received;
  received.data = {std::byte{1}, std::byte{2}, std::byte{3}};
  received.counts = {0, 2, 0, 1, 0};
  EXPECT_TRUE(received.from(0).empty());
  ASSERT_EQ(received.from(1).size(), 2U);
  EXPECT_EQ(received.from(1)[1], std::byte{2});
  EXPECT_TRUE(received.from(2).empty());
  ASSERT_EQ(received.from(3).size(), 1U);
  EXPECT_EQ(received.from(3)[0], std::byte{3});
  EXPECT_TRUE(received.from(4).empty());
}

}  // namespace
}  // namespace stratalog
