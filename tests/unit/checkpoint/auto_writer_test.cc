// SPDX-License-Identifier: Apache-2.0
// Mode auto through the writer: what it tries from checkpoint to checkpoint is carried out, valid,
// and written down in the manifest. The relations take their time, or nothing would be worth
// trying. Local.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "unit/checkpoint/long_runs.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

RelationImage slow_image(const std::string& name) {
  RelationImage image = image_of_runs(name, 0, 1, 20);
  image.for_each_group = [walk = std::move(image.for_each_group)](const GroupVisitor& visit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return walk(visit);
  };
  return image;
}

TEST(AutoWriter, TriesNeighboursAndSaysSo) {
  const auto store = open_memory_store(std::make_shared<MemoryDisk>());
  const auto comm = make_self_comm();
  const auto writer = open_checkpoint_writer(*comm, *store, {.keep_generations = 20});
  ASSERT_TRUE(writer.is_ok());
  SaveRequest request;
  request.mode = CheckpointMode::kAuto;
  request.encoding = ShardEncoding::kAuto;
  request.images = {slow_image("path"), slow_image("edge")};
  std::set<ShardEncoding> encodings;
  std::set<std::uint64_t> files;
  std::string choices;
  // As a rule nine saves; where the clock makes another way look cheaper, its neighbours come
  // first.
  constexpr int kMostSaves = 60;
  for (int save = 0; save < kMostSaves && (encodings.size() < 3 || files.size() < 2); ++save) {
    const auto report = writer.value()->save(request);
    ASSERT_TRUE(report.is_ok()) << report.status().to_string();
    files.insert(report.value().files);
    const auto state = inspect_generation(*store, report.value().generation);
    ASSERT_TRUE(state.is_ok());
    encodings.insert(state.value().encoding);
    if (save == 0) {
      EXPECT_EQ(state.value().encoding, ShardEncoding::kCompact);
    }
    for (const Reason& reason : state.value().layout_reasons)
      choices += reason.about + ": " + reason.text + "\n";
    const auto verified =
        verify_generation(*store, report.value().generation, VerifyDepth::kContent);
    ASSERT_TRUE(verified.is_ok());
    EXPECT_TRUE(verified.value().problems.empty()) << verified.value().problems.front();
  }
  EXPECT_EQ(encodings,
            (std::set{ShardEncoding::kCompact, ShardEncoding::kStreams, ShardEncoding::kAuto}));
  EXPECT_EQ(files, (std::set<std::uint64_t>{2, 3})) << "both relations in one file, or not";
  EXPECT_NE(choices.find("auto: choice: fpp, streams, to measure it"), std::string::npos)
      << choices;
  EXPECT_NE(choices.find("auto: measured: fpp, compact: "), std::string::npos);
}

}  // namespace
}  // namespace stratalog
