// SPDX-License-Identifier: Apache-2.0
// Drainer: its thread copies what lies in a node's stage while the run says, with every generation,
// which epoch is its own. Under ThreadSanitizer this is a test of who touches what.
#include "commit/drainer.h"

#include <gtest/gtest.h>

#include "commit/store_file.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

constexpr std::uint32_t kGenerations = 50;

TEST(Drainer, CopiesWhileTheRunGoesOn) {
  const auto stage = open_memory_store(std::make_shared<MemoryDisk>());
  const auto home = open_memory_store(std::make_shared<MemoryDisk>());
  const StageSeat seat{.node = 1, .nodes = 2, .role = StageRole::kDrains};
  Drainer drainer(*home, Draining::kBeside, seat);
  for (std::uint32_t number = 1; number <= kGenerations; ++number) {
    const GenerationId id{.epoch = 1, .sequence = number};
    const std::string directory = generation_name(id);
    ASSERT_TRUE(stage->make_directory(directory).is_ok());
    ASSERT_TRUE(
        write_text_file(*stage, directory + "/0000-a.total.000001", "rows", Durability::kNone)
            .is_ok());
    drainer.set_epoch(1);
    drainer.add_generation(*stage, id);
    ASSERT_TRUE(drainer.wait_for(1).is_ok());
  }
  ASSERT_TRUE(drainer.wait_for(0).is_ok());
  for (const std::string& note : drainer.take_notes()) ADD_FAILURE() << note;
  for (std::uint32_t number = 1; number <= kGenerations; ++number)
    EXPECT_TRUE(
        home->info(generation_name({.epoch = 1, .sequence = number}) + "/0000-a.total.000001")
            .is_ok())
        << number;
}

}  // namespace
}  // namespace stratalog
