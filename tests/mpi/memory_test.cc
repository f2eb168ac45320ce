// SPDX-License-Identifier: Apache-2.0
// Want of memory on one of several processes: nobody waits for ever.
#include "mpi/mpi_main.h"
#include "unit/comm/want_of_memory.h"

namespace stratalog {
namespace {

TEST(MpiCommMemory, WantOfItIsTheSameOnAllRanks) {
  Comm& comm = mpi_test_world();
  if (comm.size() == 1) return;
  for (const int poor : {0, comm.size() - 1}) {
    const Status status = check_want_of_memory(comm, poor);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  }
}

}  // namespace
}  // namespace stratalog
