// SPDX-License-Identifier: Apache-2.0
// Power failure at every point of the commit protocol: every prefix of several orders of a recorded
// run, with unsynced operations lost and torn in every way the model knows. STRATALOG_CRASH_STATES
// raises the number of states.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "checkpoint/compact.h"
#include "fault/crash_explorer.h"

namespace stratalog {
namespace {

using sample::Chaining;
using sample::CrashExplorer;
using sample::ExplorerSettings;
using sample::RunPlan;

std::size_t states_wanted() {
  const char* text = std::getenv("STRATALOG_CRASH_STATES");
  return text == nullptr ? 80000 : std::strtoull(text, nullptr, 10);
}

// Orders of one run. The order in which threads happened to run is not used: it would not come
// again.
void explore_orders(CrashExplorer& explorer, const RunPlan& plan, std::uint64_t orders) {
  const auto disk = std::make_shared<MemoryDisk>();
  const MemoryDisk empty;
  const auto log = sample::record_run(disk, plan);
  ASSERT_GT(log.size(), 50U);
  for (std::uint64_t seed = 1; seed <= orders && !explorer.is_over(); ++seed) {
    const auto merged = reorder_ranks(log, plan.ranks, seed);
    ASSERT_EQ(merged.size(), log.size());
    explorer.explore(empty, merged, 0);
  }
}

void report(const char* what, const CrashExplorer& explorer) {
  std::printf("[ STATES   ] %s: %zu distinct states, %zu problems\n", what, explorer.states(),
              explorer.problems().size());
  for (const std::string& problem : explorer.problems()) ADD_FAILURE() << problem;
}

TEST(CrashStates, EveryPrefixOfEveryMode) {
  std::size_t total = 0;
  for (const CheckpointMode mode :
       {CheckpointMode::kFilePerProcess, CheckpointMode::kShared, CheckpointMode::kHdf5Direct})
    for (const int ranks : {1, 2, 3, 4}) {
      ExplorerSettings settings;
      // Images of HDF5 files are larger, and so are their states.
      settings.most_states = states_wanted() / (mode == CheckpointMode::kHdf5Direct ? 16 : 5);
      CrashExplorer explorer(settings);
      explore_orders(explorer, {.ranks = ranks, .mode = mode, .steps = {}}, 40);
      report((std::string(mode_name(mode)) + ", " + std::to_string(ranks) + " ranks").c_str(),
             explorer);
      total += explorer.states();
    }
  std::printf("[ STATES   ] total %zu\n", total);
  EXPECT_GE(total, 50000U);
}

// The protocol does not look at encodings; a sample of the states is enough.
TEST(CrashStates, OtherEncodings) {
  for (const ShardEncoding encoding : {ShardEncoding::kStreams, ShardEncoding::kAuto})
    for (const CheckpointMode mode : {CheckpointMode::kFilePerProcess, CheckpointMode::kShared}) {
      ExplorerSettings settings;
      settings.most_states = states_wanted() / 40;
      settings.most_variants_per_prefix = 100;
      CrashExplorer explorer(settings);
      explore_orders(explorer, {.ranks = 2, .mode = mode, .encoding = encoding, .steps = {}}, 10);
      report((std::string(encoding_name(encoding)) + ", " + std::string(mode_name(mode))).c_str(),
             explorer);
      EXPECT_GE(explorer.states(), 1000U);
    }
}

// Generations that build on each other, with retention that must keep parts of retired ones.
TEST(CrashStates, ChainsOfGenerations) {
  std::size_t total = 0;
  for (const CheckpointMode mode : {CheckpointMode::kFilePerProcess, CheckpointMode::kShared})
    for (const int ranks : {1, 2, 3}) {
      ExplorerSettings settings;
      settings.most_states = states_wanted() / 20;
      settings.most_variants_per_prefix = 120;
      settings.chaining = Chaining::kGrowth;
      CrashExplorer explorer(settings);
      explore_orders(explorer,
                     {.ranks = ranks,
                      .mode = mode,
                      .saves = 6,
                      .steps = {},
                      .chaining = Chaining::kGrowth,
                      .is_overlapped = mode == CheckpointMode::kFilePerProcess && ranks > 1},
                     40);
      report((std::string("chains, ") + std::string(mode_name(mode)) + ", " +
              std::to_string(ranks) + " ranks")
                 .c_str(),
             explorer);
      total += explorer.states();
    }
  std::printf("[ STATES   ] chains, total %zu\n", total);
  EXPECT_GE(total, 15000U);
}

// The process dies somewhere in its second save, a second job goes on from what it sees, then power
// fails.
TEST(CrashStates, PowerFailsAfterASecondJobTookOver) {
  const MemoryDisk empty;
  ExplorerSettings settings;
  settings.most_states = states_wanted() / 4;
  settings.most_variants_per_prefix = 60;
  CrashExplorer explorer(settings);
  for (const CheckpointMode mode : {CheckpointMode::kFilePerProcess, CheckpointMode::kShared}) {
    const auto disk = std::make_shared<MemoryDisk>();
    const auto first =
        reorder_ranks(sample::record_run(disk, {.ranks = 2, .mode = mode, .steps = {}}), 2, 1);
    // The first job's order as one of the merges, so that it is the same in every run.
    for (std::size_t cut = first.size() / 3; cut < first.size(); cut += 3) {
      std::vector<Operation> both(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(cut));
      const auto seen = crash_image(empty, both, {}, {});
      const auto second = sample::record_run(
          seen, {.ranks = 3, .mode = mode, .saves = 2, .first_iteration = 10, .steps = {}});
      const auto merged = reorder_ranks(second, 3, cut);
      both.insert(both.end(), merged.begin(), merged.end());
      explorer.explore(empty, both, cut);
      if (explorer.is_over()) break;
    }
  }
  report("second job", explorer);
}

std::vector<Operation> record_compaction(const std::shared_ptr<MemoryDisk>& disk,
                                         const RunPlan& plan) {
  const auto listed = list_generations(*open_memory_store(disk));
  EXPECT_TRUE(listed.is_ok() && !listed.value().empty());
  if (!listed.is_ok() || listed.value().empty()) return {};
  OperationLog log(*disk);
  const Status status = sim_run(plan.ranks, [&](Comm& inner) -> Status {
    const auto comm = make_recording_comm(inner, log);
    const auto memory = open_memory_store(disk);
    const auto store = open_recording_store(*memory, log, inner.rank());
    return compact_generation(
               *comm, *store,
               {.generation = listed.value()[0].name, .mode = plan.mode, .column_names = {}},
               sample::crash_options(plan))
        .status();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return log.take();
}

// Power fails while the newest link of a chain is written anew, whole and in another layout, by as
// many ranks as before or by others: what was acknowledged stays.
TEST(CrashStates, CompactionOfAChain) {
  const MemoryDisk empty;
  for (const CheckpointMode mode :
       {CheckpointMode::kFilePerProcess, CheckpointMode::kShared, CheckpointMode::kHdf5Direct})
    for (const int ranks : {1, 2}) {
      ExplorerSettings settings;
      settings.most_states = states_wanted() / 40;
      settings.most_variants_per_prefix = 60;
      settings.chaining = Chaining::kGrowth;
      CrashExplorer explorer(settings);
      const auto disk = std::make_shared<MemoryDisk>();
      std::vector<Operation> both = sample::record_run(
          disk, {.ranks = 2, .saves = 5, .steps = {}, .chaining = Chaining::kGrowth});
      const std::size_t cut = both.size();
      const auto seen = crash_image(empty, both, {}, {});
      const auto compaction = record_compaction(seen, {.ranks = ranks, .mode = mode, .steps = {}});
      both.insert(both.end(), compaction.begin(), compaction.end());
      explorer.explore(empty, both, cut);
      report((std::string("compaction, ") + std::string(mode_name(mode)) + ", " +
              std::to_string(ranks) + " ranks")
                 .c_str(),
             explorer);
      EXPECT_GE(explorer.states(), 100U);
      // Without a failure the generation stands by itself and holds the same tuples.
      const auto store = open_memory_store(seen);
      const auto listed = list_generations(*store);
      ASSERT_TRUE(listed.is_ok());
      EXPECT_TRUE(listed.value()[0].builds_on.empty());
      EXPECT_EQ(listed.value()[0].mode, mode);
      EXPECT_EQ(listed.value()[0].iteration, 5U);
      const auto verified =
          verify_generation(*store, listed.value()[0].name, VerifyDepth::kContent);
      ASSERT_TRUE(verified.is_ok());
      EXPECT_TRUE(verified.value().problems.empty()) << verified.value().problems.front();
    }
}

}  // namespace
}  // namespace stratalog
