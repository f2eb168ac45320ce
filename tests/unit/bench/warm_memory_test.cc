// SPDX-License-Identifier: Apache-2.0
// Memory at hand before a measurement: nothing stays, and no more is asked for than there is.
#include "bench/warm_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace stratalog {
namespace {

long faults() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

TEST(WarmMemory, TouchesWhatItIsAskedFor) {
  const long before = faults();
  warm_memory(std::uint64_t{64} << 20, 1);
  EXPECT_GE(faults() - before, 16);  // huge pages, or small ones
  warm_memory(0, 3);
  warm_memory(1, 0);
  warm_memory(~std::uint64_t{0}, 1 << 20);  // a small share of what there is
}

}  // namespace
}  // namespace stratalog
