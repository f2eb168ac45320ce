// SPDX-License-Identifier: Apache-2.0
// Memory at hand for a measurement: what is freed at once, what while it goes on, and that no more
// is asked for than there is.
#include "bench/warm_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>

namespace stratalog {
namespace {

constexpr std::uint64_t kSlice = std::uint64_t{64} << 20;

long faults() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

TEST(WarmMemory, TouchesWhatItIsAskedFor) {
  WarmMemory memory;
  const long before = faults();
  memory.warm(kSlice, 0, 1);
  EXPECT_GE(faults() - before, 16);  // huge pages, or small ones
  EXPECT_EQ(memory.held(), 0U);
  memory.warm(0, 0, 3);
  memory.warm(1, 1, 0);
  memory.warm(~std::uint64_t{0}, ~std::uint64_t{0}, 1 << 20);  // a small share of what there is
  EXPECT_EQ(memory.held(), 0U);
}

TEST(WarmMemory, FreesTheRestBitByBit) {
  WarmMemory memory;
  memory.warm(0, 2 * kSlice + 1, 1);
  while (memory.held() > kSlice) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  memory.clear();
  EXPECT_EQ(memory.held(), 0U);
  memory.warm(0, 4 * kSlice, 1);
  memory.warm(0, kSlice, 1);  // holds nothing of the call before
  EXPECT_LE(memory.held(), kSlice);
  memory.warm(0, kSlice, 1);
  while (memory.held() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace
}  // namespace stratalog
