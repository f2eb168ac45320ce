// SPDX-License-Identifier: Apache-2.0
// Somebody else removes files of a running job's checkpoints: later ones do not build on them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

// Two relations that never grow, and one that grows in many rounds.
const std::string kChain =
    ".decl e(x: number, y: number)\n.input e\n.decl p(x: number, y: number)\n.output p\n"
    "p(x, y) :- e(x, y).\np(x, z) :- p(x, y), e(y, z), x < 4.\n";

FileTexts chain() {
  std::string edges;
  for (int i = 0; i < 40; ++i) edges += fmt::format("{}\t{}\n", i, i + 1);
  return {{"e.facts", edges}};
}

RunOptions saved_every_round(CheckpointMode mode) {
  RunOptions options;
  options.allow_pivot = false;
  options.mirror_limit_rows = 0;
  options.checkpoint.every_iterations = 1;
  options.checkpoint.mode = mode;
  return options;
}

// All files of generations that there are, or one of the oldest.
enum class Removed : std::uint8_t { kAll, kOneOfTheOldest };

void remove_files(MemoryDisk& disk, Removed removed) {
  const std::lock_guard lock(disk.mutex());
  bool is_done = false;
  for (const auto& [name, node] : std::map(disk.node(MemoryDisk::kRoot).entries)) {
    if (!name.starts_with("gen-") || is_done) continue;
    auto& entries = disk.change(node).entries;
    std::erase_if(entries, [&](const auto& entry) {
      const bool goes =
          removed == Removed::kAll || (!is_done && !entry.first.starts_with("MANIFEST"));
      is_done |= goes && removed == Removed::kOneOfTheOldest;
      return goes;
    });
    if (removed == Removed::kAll) disk.change(MemoryDisk::kRoot).entries.erase(name);
  }
}

TEST(CleanedUpCheckpoints, AreNotBuiltOn) {
  const Program program = compiled(kChain);
  const EngineOutcome whole = run_engine(program, chain(), 1, {});
  ASSERT_TRUE(whole.status.is_ok());
  for (const Removed removed : {Removed::kAll, Removed::kOneOfTheOldest})
    for (const CheckpointMode mode : {CheckpointMode::kFilePerProcess, CheckpointMode::kShared})
      for (const int ranks : {1, 3}) {
        const RunOptions options = saved_every_round(mode);
        const auto disk = std::make_shared<MemoryDisk>();
        RunHooks hooks;
        int asked = 0;
        hooks.stop_requested = [&] {
          if (++asked == 8) remove_files(*disk, removed);
          return asked == 30 ? StopRequest::kCheckpointAndStop : StopRequest::kNone;
        };
        int told = 0;
        hooks.notice = [&](const std::string& text) {
          if (text.starts_with("the next checkpoint is written whole, as older ones ")) ++told;
        };
        const EngineOutcome first = run_engine(program, chain(), ranks, options, hooks, disk);
        ASSERT_TRUE(first.status.is_ok()) << first.status.to_string();
        ASSERT_TRUE(first.report.stopped_early);
        // But for one that was being written.
        EXPECT_LE(first.report.failed_checkpoints.size(), 1U);
        EXPECT_EQ(told, 1);
        RunOptions resumed = options;
        resumed.checkpoint.resume = ResumePolicy::kResume;
        const EngineOutcome second = run_engine(program, chain(), 2, resumed, {}, disk);
        ASSERT_TRUE(second.status.is_ok()) << second.status.to_string();
        EXPECT_EQ(second.files, whole.files);
      }
}

}  // namespace
}  // namespace stratalog::datalog
