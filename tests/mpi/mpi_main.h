// SPDX-License-Identifier: Apache-2.0
// main() of a gtest program that runs on several MPI ranks: every rank runs every test in the same
// order; rank 0 prints as usual, the others print only their failures; the exit code is agreed, so
// that one failing rank fails the program. Include in exactly one file per program. Tests use
// EXPECT rather than ASSERT before a collective call: a rank that stops early leaves the others
// waiting.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "comm/comm.h"
#include "comm/mpi_comm.h"
#include "comm/mpi_session.h"

namespace stratalog {

// A group of its own for all ranks of the test program. Collective.
inline Result<std::unique_ptr<Comm>> duplicate_mpi_world(const MpiCommOptions& options = {}) {
  const MPI_Comm world = MPI_COMM_WORLD;
  return duplicate_mpi_comm(&world, options);
}

// The group that tests share.
inline std::unique_ptr<Comm>& mpi_test_world_slot() {
  static std::unique_ptr<Comm> world;
  return world;
}
inline Comm& mpi_test_world() { return *mpi_test_world_slot(); }

// Prints the failures of a rank other than 0.
class RankFailurePrinter final : public testing::EmptyTestEventListener {
 public:
  explicit RankFailurePrinter(int rank) : rank_(rank) {}

  void OnTestStart(const testing::TestInfo& test) override {
    // Remembered here, because gtest holds a lock while it reports a failure.
    test_ = fmt::format("{}.{}", test.test_suite_name(), test.name());
  }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    fmt::print(stderr, "[rank {}] {}: {}:{}: {}\n", rank_, test_,
               result.file_name() == nullptr ? "?" : result.file_name(), result.line_number(),
               result.message());
    std::fflush(stderr);
  }

 private:
  int rank_;
  std::string test_;
};

inline int run_mpi_tests() {
  auto session = MpiSession::start();
  if (!session.is_ok()) {
    fmt::print(stderr, "{}\n", session.status().to_string());
    return 1;
  }
  auto made = duplicate_mpi_world();
  if (!made.is_ok()) {
    fmt::print(stderr, "{}\n", made.status().to_string());
    return 1;
  }
  mpi_test_world_slot() = std::move(made).value();
  Comm& world = mpi_test_world();
  if (world.rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());  // NOLINT: gtest hands it over
    listeners.Append(new RankFailurePrinter(world.rank()));  // NOLINT: gtest owns it
  }
  const auto mine = static_cast<std::uint64_t>(RUN_ALL_TESTS() != 0);
  std::uint64_t failed = mine;
  const Status agreed = world.allreduce(std::span(&failed, 1), ReduceOp::kSum);
  if (world.rank() == 0 && failed != mine)
    fmt::print(stderr, "[  FAILED  ] on {} other ranks, see above\n", failed - mine);
  mpi_test_world_slot().reset();
  return agreed.is_ok() && failed == 0 ? 0 : 1;
}

}  // namespace stratalog

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return stratalog::run_mpi_tests();
}
