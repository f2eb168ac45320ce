// SPDX-License-Identifier: Apache-2.0
// Usable cores: limits of control groups are read as the kernel writes them, and what a thread is
// bound to counts.
#include "read/usable_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

namespace stratalog {
namespace {

TEST(UsableCores, QuotasAreRoundedUp) {
  EXPECT_EQ(cores_of_quota("200000 100000\n"), 2U);
  EXPECT_EQ(cores_of_quota("150000 100000\n"), 2U);
  EXPECT_EQ(cores_of_quota("100001 100000"), 2U);
  EXPECT_EQ(cores_of_quota("5000 100000"), 1U);
  EXPECT_EQ(cores_of_quota("18446744073709551615 1"), 18446744073709551615U);
}

TEST(UsableCores, NoLimitIsNone) {
  for (const char* text : {"max 100000\n", "", "max", "0 100000", "100000 0", "1 2 3", "-1 100000",
                           "99999999999999999999 100000", "1000", " 1000", "1000 "})
    EXPECT_EQ(cores_of_quota(text), std::nullopt) << text;
}

TEST(UsableCores, TheTightestGroupOnTheWayUpCounts) {
  const std::filesystem::path root =
      std::filesystem::path(testing::TempDir()) / "usable_cores_groups";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root / "a" / "b");
  const auto limit = [&](const std::filesystem::path& group, const std::string& text) {
    std::ofstream(root / group / "cpu.max") << text << "\n";
  };
  EXPECT_EQ(cores_of_group(root, "/a/b"), std::nullopt);
  limit("a", "300000 100000");
  limit("a/b", "max 100000");
  EXPECT_EQ(cores_of_group(root, "/a/b"), 3U);
  EXPECT_EQ(cores_of_group(root, "/a"), 3U);
  EXPECT_EQ(cores_of_group(root, "/"), std::nullopt);
  limit("a/b", "500000 100000");
  EXPECT_EQ(cores_of_group(root, "/a/b"), 3U);
  limit("a/b", "100000 100000");
  EXPECT_EQ(cores_of_group(root, "/a/b"), 1U);
  EXPECT_EQ(cores_of_group(root, "/gone/b"), std::nullopt);
  std::filesystem::remove_all(root);
}

TEST(UsableCores, ABoundThreadHasOne) {
  const std::uint32_t before = usable_cores();
  EXPECT_GE(before, 1U);
  EXPECT_LE(before, std::max(1U, std::thread::hardware_concurrency()));
  std::uint32_t bound = 0;
  std::thread([&bound] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    if (::sched_setaffinity(0, sizeof(one), &one) == 0) bound = usable_cores();
  }).join();
  EXPECT_EQ(bound, 1U);
  EXPECT_EQ(usable_cores(), before);
}

}  // namespace
}  // namespace stratalog
