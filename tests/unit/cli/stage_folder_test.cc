// SPDX-License-Identifier: Apache-2.0
// The folder of a staging directory that belongs to a checkpoint folder, asked for by several at
// once: nodes that share a stage by mistake must meet in it, or the mistake stays unnoticed.
#include "cli/stage_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace stratalog::cli {
namespace {

TEST(StageFolder, IsOneForAllWhoOpenItAtOnce) {
  const std::filesystem::path top = std::filesystem::path(testing::TempDir()) / "stage-folder";
  std::filesystem::remove_all(top);
  std::filesystem::create_directories(top / "home");
  constexpr int kTurns = 200;
  constexpr int kAsking = 3;
  for (int turn = 0; turn < kTurns; ++turn) {
    const std::string stage = top / std::to_string(turn);
    std::filesystem::create_directory(stage);
    std::latch together(kAsking);
    std::vector<std::string> roots(kAsking);
    {
      std::vector<std::jthread> asking;
      for (int i = 0; i < kAsking; ++i)
        asking.emplace_back([&, i] {
          together.arrive_and_wait();
          const auto store =
              open_stage_folder(stage, "stratalog-1", top / "home", RootMode::kCreate);
          EXPECT_TRUE(store.is_ok()) << store.status().to_string();
          if (store.is_ok()) roots[i] = store.value()->root();
        });
    }
    for (const std::string& root : roots) EXPECT_EQ(root, roots.front()) << turn;
  }
  std::filesystem::remove_all(top);
}

}  // namespace
}  // namespace stratalog::cli
