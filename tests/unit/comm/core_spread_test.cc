// SPDX-License-Identifier: Apache-2.0
// CoreSpread: threads that begin on one core come apart, and none stays bound.
#include "comm/core_spread.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <thread>

#include "comm/core_share.h"

namespace stratalog {
namespace {

TEST(CoreSpread, RanksOnOneCorePart) {
  cpu_set_t cores;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(cores), &cores), 0);
  if (CPU_COUNT(&cores) < 2) GTEST_SKIP() << "one core only";
  const CoreSet before = allowed_cores();
  CoreSpread spread(2, CoreSpread::Use::kSpread);
  std::thread other([&] {
    // Both ranks speak from this thread: wherever it runs, it is one core for both.
    spread.settle(0);
    const int first = ::sched_getcpu();
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<std::size_t>(first), &only);
    cpu_set_t allowed;
    ASSERT_EQ(::sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(only), &only), 0);
    spread.settle(0);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(allowed), &allowed), 0);
    spread.settle(1);
    EXPECT_EQ(allowed_cores(), before);
    // Where others fill the cores, it may have been put back before it said where it is.
    for (int again = 0; again < 50 && spread.is_crowded(1); ++again) {
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
      while (std::chrono::steady_clock::now() < until) {
      }
      spread.settle(1);
    }
    EXPECT_FALSE(spread.is_crowded(1));
    EXPECT_FALSE(spread.is_crowded(0));
  });
  other.join();
  EXPECT_EQ(allowed_cores(), before);
}

TEST(CoreSpread, WithoutACoreForEachNothingMoves) {
  const int many = static_cast<int>(std::thread::hardware_concurrency()) + 1;
  CoreSpread crowd(many, CoreSpread::Use::kSpread);
  crowd.settle(0);
  crowd.settle(1);
  EXPECT_FALSE(crowd.is_crowded(0));
  CoreSpread left(2, CoreSpread::Use::kLeave);
  left.settle(0);
  left.settle(1);
  EXPECT_FALSE(left.is_crowded(1));
}

}  // namespace
}  // namespace stratalog
