// SPDX-License-Identifier: Apache-2.0
// How many cores ranks have for themselves, bound and unbound, on one node and on several.
#include "comm/core_share.h"

#include <gtest/gtest.h>

#include <vector>

namespace stratalog {
namespace {

CoreSet cores(std::initializer_list<unsigned> numbers) {
  CoreSet set = {};
  for (const unsigned n : numbers) set[n / 64] |= std::uint64_t{1} << (n % 64);
  return set;
}

TEST(CoreShare, RanksThatRunAnywhereShareTheNode) {
  const std::vector<CoreSet> sets(3, cores({0, 1, 2, 900}));
  EXPECT_EQ(tightest_share(sets, {}), (CoreShare{.cores = 4, .ranks = 3}));
}

// A launcher that binds each rank to a core leaves it none to spare, whatever else is idle.
TEST(CoreShare, BoundRanksHaveTheirOwnCores) {
  const std::vector<CoreSet> bound{cores({0}), cores({5})};
  EXPECT_EQ(tightest_share(bound, {}), (CoreShare{.cores = 1, .ranks = 1}));
  const std::vector<CoreSet> sockets{cores({0, 1}), cores({0, 1}), cores({2, 3, 4})};
  EXPECT_EQ(tightest_share(sockets, {}), (CoreShare{.cores = 2, .ranks = 2}));
}

TEST(CoreShare, OverlapsCountAcrossOthers) {
  // The last set joins the first two.
  const std::vector<CoreSet> chain{cores({0, 1}), cores({2, 3}), cores({1, 2})};
  EXPECT_EQ(tightest_share(chain, {}), (CoreShare{.cores = 4, .ranks = 3}));
}

TEST(CoreShare, TheTightestNodeDecides) {
  const std::vector<CoreSet> sets(5, cores({0, 1, 2}));
  const std::vector<int> nodes{0, 0, 1, 1, 1};
  EXPECT_EQ(tightest_share(sets, nodes), (CoreShare{.cores = 3, .ranks = 3}));
}

TEST(CoreShare, EveryRankHearsTheSame) {
  for (const int ranks : {1, 3}) {
    const Status run = sim_run(ranks, [&](Comm& comm) -> Status {
      STRATALOG_ASSIGN_OR_RETURN(const CoreShare share, gather_core_share(comm, {}));
      EXPECT_EQ(share.ranks, static_cast<std::uint32_t>(comm.size()));
      EXPECT_GE(share.cores, 1U);
      return {};
    });
    EXPECT_TRUE(run.is_ok()) << run.to_string();
  }
}

}  // namespace
}  // namespace stratalog
