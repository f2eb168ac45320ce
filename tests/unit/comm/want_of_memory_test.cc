// SPDX-License-Identifier: Apache-2.0
// Want of memory in collective calls of ranks that are threads, and outside of them.
#include "unit/comm/want_of_memory.h"

#include <gtest/gtest.h>

namespace stratalog {
namespace {

TEST(SimCommMemory, WantOfItIsTheSameOnAllRanks) {
  for (const int ranks : {2, 3, 7})
    for (const int poor : {0, ranks - 1}) {
      SCOPED_TRACE(fmt::format("rank {} of {}", poor, ranks));
      const Status status =
          sim_run(ranks, [&](Comm& comm) { return check_want_of_memory(comm, poor); });
      EXPECT_TRUE(status.is_ok()) << status.to_string();
    }
}

TEST(SimCommMemory, ARankThatThrowsHasReturned) {
  const Status status = sim_run(3, [](Comm& comm) {
    const FailingMemory end({.bytes = comm.rank() == 1 ? std::size_t{1} << 20 : ~std::size_t{0}});
    const Bytes large(std::size_t{2} << 20);
    return comm.barrier();
  });
  EXPECT_EQ(status.code(), StatusCode::kNoSpace) << status.to_string();
}

}  // namespace
}  // namespace stratalog
