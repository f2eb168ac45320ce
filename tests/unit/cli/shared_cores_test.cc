// SPDX-License-Identifier: Apache-2.0
// When ranks that share cores are told to sleep between tries.
#include "cli/shared_cores.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/allowed_cores.h"

namespace stratalog::cli {
namespace {

constexpr const char* kThrottle = "MPIR_CVAR_CH4_PROGRESS_THROTTLE";
constexpr const char* kTries = "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT";
constexpr const char* kRanksHere = "MPI_LOCALNRANKS";

class SharedCores : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {kThrottle, kTries, kRanksHere}) unsetenv(name);
  }
  void TearDown() override { SetUp(); }

  static std::string value(const char* name) {
    const char* set = std::getenv(name);
    return set == nullptr ? "none" : set;
  }
};

TEST_F(SharedCores, RanksThatFillTheCoresGiveWay) {
  give_way_on_shared_cores(static_cast<int>(allowed_core_count()) + 1);
  EXPECT_EQ(value(kThrottle), "1");
  EXPECT_EQ(value(kTries), "10");
}

TEST_F(SharedCores, RanksWithCoresToSpareSpin) {
  for (const int ranks : {0, 1, static_cast<int>(allowed_core_count()) - 1}) {
    give_way_on_shared_cores(ranks);
    EXPECT_EQ(value(kThrottle), "none") << ranks;
  }
}

TEST_F(SharedCores, WhatIsSetStays) {
  setenv(kThrottle, "0", 1);
  give_way_on_shared_cores(1 << 20);
  EXPECT_EQ(value(kThrottle), "0");
}

TEST_F(SharedCores, TheLauncherSaysHowManyRanksAreHere) {
  EXPECT_EQ(ranks_here_by_environment(), 0);
  setenv(kRanksHere, "7", 1);
  EXPECT_EQ(ranks_here_by_environment(), 7);
}

}  // namespace
}  // namespace stratalog::cli
