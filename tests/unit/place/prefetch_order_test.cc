// SPDX-License-Identifier: Apache-2.0
// Every range but the first is asked for once, in order, and before the one in front of it is read;
// and never more than the window, save the one that comes next. Local.
#include "place/prefetch_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace stratalog {
namespace {

// Bytes asked for beyond the range that is read, at most.
std::uint64_t most_ahead(const std::vector<std::uint64_t>& bytes) {
  PrefetchOrder order(bytes);
  std::size_t next = 1;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const PrefetchOrder::Part part = order.before(i);
    EXPECT_EQ(part.begin, next);
    EXPECT_GE(part.end, std::min(bytes.size(), i + 2));
    next = part.end;
    std::uint64_t ahead = 0;
    for (std::size_t k = i + 2; k < next; ++k) ahead += order.asked(k);
    most = std::max(most, ahead);
  }
  EXPECT_EQ(next, std::max<std::size_t>(1, bytes.size()));
  return most;
}

TEST(PrefetchOrder, NothingToRead) {
  PrefetchOrder order({});
  const PrefetchOrder::Part part = order.before(0);
  EXPECT_EQ(part.begin, part.end);
}

TEST(PrefetchOrder, ManySmallRangesFillTheWindow) {
  PrefetchOrder order(std::vector<std::uint64_t>(100, 1 << 20));
  EXPECT_EQ(order.before(0).end, 9U);
  EXPECT_EQ(order.before(1).end, 10U);
  EXPECT_EQ(order.asked(3), 1U << 20U);
}

TEST(PrefetchOrder, LargeRangesTakeNoRoom) {
  PrefetchOrder order(std::vector<std::uint64_t>(5, std::uint64_t{1} << 40));
  EXPECT_EQ(order.before(0).end, 5U);
  EXPECT_EQ(order.asked(3), 0U);
}

TEST(PrefetchOrder, AnyRanges) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> bytes(random() % 60);
    for (std::uint64_t& b : bytes) b = random() >> (36 + (random() % 28));
    EXPECT_LE(most_ahead(bytes), PrefetchOrder::kWindow);
  }
}

}  // namespace
}  // namespace stratalog
