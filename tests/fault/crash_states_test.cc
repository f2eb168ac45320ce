// SPDX-License-Identifier: Apache-2.0
// Power failure at every point of the commit protocol: every prefix of several orders of a recorded
// run, with unsynced operations lost and torn in every way the model knows. STRATALOG_CRASH_STATES
// raises the number of states.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <sstream>

#include "checkpoint/compact.h"
#include "fault/crash_explorer.h"
#include "fault/overlap_ways.h"

namespace stratalog {
namespace {

using sample::campaign_factor;
using sample::Chaining;
using sample::CrashExplorer;
using sample::ExplorerSettings;
using sample::RunPlan;
using sample::states_wanted;

// Orders of one run; one rank has one. The order in which threads happened to run is not used: it
// would not come again.
void explore_orders(CrashExplorer& explorer, const RunPlan& plan, std::uint64_t orders,
                    FileSystemKind kind = FileSystemKind::kMemory) {
  const auto disk = std::make_shared<MemoryDisk>();
  disk->file_system.kind = kind;
  const MemoryDisk empty;
  const auto log = sample::record_run(disk, plan);
  ASSERT_GT(log.size(), 50U);
  for (std::uint64_t seed = 1; seed <= (plan.ranks == 1 ? 1 : orders) && !explorer.is_over();
       ++seed) {
    const auto merged = reorder_ranks(log, plan.ranks, seed);
    ASSERT_EQ(merged.size(), log.size());
    explorer.explore(empty, merged, 0);
  }
}

// At least so many generations of `disk` have blocks that are pools.
void expect_pools(const std::shared_ptr<MemoryDisk>& disk, std::size_t least) {
  const auto store = open_memory_store(disk);
  const auto listed = list_generations(*store);
  ASSERT_TRUE(listed.is_ok());
  std::size_t pooled = 0;
  for (const GenerationSummary& generation : listed.value()) {
    if (generation.condition != GenerationCondition::kValid) continue;
    const Bytes& data = disk->node(disk->find(generation.name + "/MANIFEST").value()).data;
    const std::string text(reinterpret_cast<const char*>(data.data()), data.size());
    if (text.find("\"run_pools\"") != std::string::npos) ++pooled;
  }
  EXPECT_GE(pooled, least);
}

// One test for each mode and number of ranks, so that long campaigns run in small chunks.
class EveryPrefix : public ::testing::TestWithParam<std::tuple<CheckpointMode, int>> {};

TEST_P(EveryPrefix, SurvivesPowerFailure) {
  const auto [mode, ranks] = GetParam();
  // Images of HDF5 files are larger, and so are their states.
  const bool is_large = mode == CheckpointMode::kHdf5Direct || mode == CheckpointMode::kHdf5Streams;
  ExplorerSettings settings;
  settings.most_states = states_wanted() / (is_large ? 16 : 5);
  CrashExplorer explorer(settings);
  explore_orders(explorer, {.ranks = ranks, .mode = mode, .steps = {}}, 40);
  report(std::string(mode_name(mode)) + ", " + std::to_string(ranks) + " ranks", explorer);
  // All together over 50,000. Files that one rank writes for all have few orders of their calls.
  const bool has_one_writer = mode == CheckpointMode::kShared;
  // And streams are so small that each rank writes once.
  const bool has_few_writes = mode == CheckpointMode::kHdf5Streams;
  const std::size_t least = has_few_writes   ? 350
                            : ranks == 1     ? 500
                            : is_large       ? 2500
                            : has_one_writer ? 1800
                                             : 15000;
  EXPECT_GE(explorer.states(), least);
}

INSTANTIATE_TEST_SUITE_P(
    CrashStates, EveryPrefix,
    ::testing::Combine(::testing::Values(CheckpointMode::kFilePerProcess, CheckpointMode::kShared,
                                         CheckpointMode::kHdf5Direct, CheckpointMode::kHdf5Streams),
                       ::testing::Values(1, 2, 3, 4)));

// The other layouts as they really are: padded extents of tuned shared files; HDF5 files that all
// ranks create, that rank 0 creates and all fill, or that rank 0 writes alone; several groups of
// ranks and several relations in a file; blocks that ranks must not share.
struct OtherLayout {
  // For test names in failures.
  friend std::ostream& operator<<(std::ostream& out, const OtherLayout& layout) {
    return out << layout.what;
  }

  const char* what;
  CheckpointMode mode;
  const char* ladder = "all";
  std::uint32_t files = 0;
  std::uint32_t relations_per_file = 0;
  FileSystemKind kind = FileSystemKind::kMemory;
  OverlapWay overlap = OverlapWay::kNone;
};

const OtherLayout kOtherLayouts[] = {
    {.what = "shared-opt", .mode = CheckpointMode::kSharedOpt},
    {.what = "hdf5", .mode = CheckpointMode::kHdf5},
    {.what = "hdf5-opt", .mode = CheckpointMode::kHdf5Opt},
    {.what = "hdf5-opt without O1", .mode = CheckpointMode::kHdf5Opt, .ladder = "O2,O3,O6,O7"},
    {.what = "fpp, 3 relations a file",
     .mode = CheckpointMode::kFilePerProcess,
     .relations_per_file = 3},
    {.what = "shared-opt, 2 groups, 2 relations a file",
     .mode = CheckpointMode::kSharedOpt,
     .files = 2,
     .relations_per_file = 2},
    {.what = "hdf5-opt, 2 groups", .mode = CheckpointMode::kHdf5Opt, .files = 2},
    {.what = "hdf5-streams, 2 groups, 2 relations a file",
     .mode = CheckpointMode::kHdf5Streams,
     .files = 2,
     .relations_per_file = 2},
    {.what = "hdf5-direct on a network",
     .mode = CheckpointMode::kHdf5Direct,
     .kind = FileSystemKind::kNetwork},
    // Of files with one writer only there are few states.
    {.what = "hdf5-streams on a network, 2 groups, 2 relations a file",
     .mode = CheckpointMode::kHdf5Streams,
     .files = 2,
     .relations_per_file = 2,
     .kind = FileSystemKind::kNetwork},
    {.what = "hdf5-direct on a network, beside the caller",
     .mode = CheckpointMode::kHdf5Direct,
     .kind = FileSystemKind::kNetwork,
     .overlap = OverlapWay::kPack},
    {.what = "shared, 2 groups, 2 relations a file, beside the caller",
     .mode = CheckpointMode::kShared,
     .files = 2,
     .relations_per_file = 2,
     .overlap = most_overlap(CheckpointMode::kShared)},
    {.what = "hdf5-streams, 2 groups, 2 relations a file, beside the caller",
     .mode = CheckpointMode::kHdf5Streams,
     .files = 2,
     .relations_per_file = 2,
     .overlap = most_overlap(CheckpointMode::kHdf5Streams)},
    {.what = "hdf5-direct, 2 groups, 2 relations a file, beside the caller",
     .mode = CheckpointMode::kHdf5Direct,
     .files = 2,
     .relations_per_file = 2,
     .overlap = OverlapWay::kPack},
};

RunPlan plan_of(const OtherLayout& layout, int ranks, const ProtocolSteps& steps) {
  RunPlan plan{.ranks = ranks, .mode = layout.mode, .steps = steps, .overlap = layout.overlap};
  plan.layout.ladder = parse_ladder(layout.ladder).value();
  plan.layout.files = layout.files;
  plan.layout.relations_per_file = layout.relations_per_file;
  return plan;
}

class OtherLayouts : public ::testing::TestWithParam<std::tuple<OtherLayout, int>> {};

TEST_P(OtherLayouts, SurvivePowerFailure) {
  const auto& [layout, ranks] = GetParam();
  ExplorerSettings settings;
  settings.most_states = states_wanted() / 80;
  CrashExplorer explorer(settings);
  explore_orders(explorer, plan_of(layout, ranks, {}), 40, layout.kind);
  report(std::string(layout.what) + ", " + std::to_string(ranks) + " ranks", explorer);
  EXPECT_GE(explorer.states(), 500U);
}

INSTANTIATE_TEST_SUITE_P(CrashStates, OtherLayouts,
                         ::testing::Combine(::testing::ValuesIn(kOtherLayouts),
                                            ::testing::Values(2, 3)));

// The search sees these layouts: without the fsync of data files it finds something in each.
TEST(CrashStates, OtherLayoutsNeedTheirSyncs) {
  const ProtocolSteps steps{.left_out = static_cast<std::uint32_t>(ProtocolStep::kSyncShards)};
  for (const OtherLayout& layout : kOtherLayouts) {
    CrashExplorer explorer(ExplorerSettings{});
    explore_orders(explorer, plan_of(layout, 2, steps), 4, layout.kind);
    EXPECT_FALSE(explorer.problems().empty()) << layout.what;
  }
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
      report(std::string(encoding_name(encoding)) + ", " + std::string(mode_name(mode)), explorer);
      EXPECT_GE(explorer.states(), 1000U);
    }
}

// One rank holds the caller up, two write beside it, three pack beside it, as far as the mode can.
OverlapWay overlap_of(CheckpointMode mode, int ranks) {
  constexpr OverlapWay kOverlapOfRanks[] = {OverlapWay::kNone, OverlapWay::kWrite,
                                            OverlapWay::kPack};
  return std::min(kOverlapOfRanks[ranks - 1], most_overlap(mode));
}

// What each rank did, without the order between ranks. Where a file is all ranks', they meet at
// other times if writing goes on beside the caller.
std::vector<std::string> operations_of_ranks(const RunPlan& plan) {
  std::vector<std::string> all(static_cast<std::size_t>(plan.ranks));
  for (const Operation& o : sample::record_run(std::make_shared<MemoryDisk>(), plan)) {
    if (o.kind == OperationKind::kMeet && plan.mode != CheckpointMode::kFilePerProcess) continue;
    all[static_cast<std::size_t>(o.rank)] +=
        std::to_string(static_cast<int>(o.kind)) + " " + o.name + " " + o.to_name + " " +
        std::to_string(o.offset) + " " + std::to_string(o.data.size()) + "\n";
  }
  return all;
}

// However a checkpoint is begun, a rank asks the file system for the same things in the same order,
// fsyncs included: what the search says of one way holds for the others.
// Where ranks find places for their bytes together, a file is created while others wait to be
// written, and who has nothing for it does not fsync it: those are searched by themselves, below.
class EveryOverlap : public ::testing::TestWithParam<sample::OverlapCase> {};
INSTANTIATE_TEST_SUITE_P(
    CrashStates, EveryOverlap,
    ::testing::Values(sample::OverlapCase{CheckpointMode::kFilePerProcess, OverlapWay::kWrite},
                      sample::OverlapCase{CheckpointMode::kFilePerProcess, OverlapWay::kPack},
                      sample::OverlapCase{CheckpointMode::kHdf5Direct, OverlapWay::kWrite},
                      sample::OverlapCase{CheckpointMode::kHdf5Direct, OverlapWay::kPack}),
    [](const auto& about) { return about.param.name(); });

TEST_P(EveryOverlap, DoesTheSame) {
  const auto [mode, way] = GetParam();
  for (const int ranks : {1, 2, 3})
    for (const Chaining chaining : {Chaining::kNone, Chaining::kGrowth}) {
      RunPlan plan{.ranks = ranks, .mode = mode, .saves = 4, .steps = {}, .chaining = chaining};
      const auto held = operations_of_ranks(plan);
      EXPECT_GT(held[0].size(), 1000U);
      plan.overlap = way;
      const auto beside = operations_of_ranks(plan);
      for (std::size_t r = 0; r < held.size(); ++r) {
        std::istringstream expected(held[r]);
        std::istringstream found(beside[r]);
        std::string operation;
        std::string other;
        while (std::getline(expected, operation)) {
          ASSERT_TRUE(std::getline(found, other)) << "nothing where there was " << operation;
          // Rank 0's manifest says how it was written, which takes some bytes.
          const auto shown = [r](const std::string& o) {
            return r == 0 ? o.substr(0, o.rfind(' ')) : o;
          };
          ASSERT_EQ(shown(other), shown(operation));
        }
        EXPECT_FALSE(std::getline(found, other)) << other;
      }
    }
}

// Files of several ranks, begun and finished later.
class BesideTheCaller : public ::testing::TestWithParam<std::tuple<sample::OverlapCase, int>> {};
INSTANTIATE_TEST_SUITE_P(
    CrashStates, BesideTheCaller,
    ::testing::Combine(::testing::ValuesIn(sample::overlap_cases(OverlapWay::kWrite)),
                       ::testing::Values(1, 2, 3)));

TEST_P(BesideTheCaller, SurvivesPowerFailure) {
  const auto& [c, ranks] = GetParam();
  ExplorerSettings settings;
  settings.most_states = states_wanted() / 40;
  settings.most_variants_per_prefix = 200;
  CrashExplorer explorer(settings);
  explore_orders(explorer, {.ranks = ranks, .mode = c.mode, .steps = {}, .overlap = c.way}, 40);
  report("beside, " + c.name() + ", " + std::to_string(ranks) + " ranks", explorer);
  EXPECT_GE(explorer.states(), 300U);
}

// And the search would see it if their fsyncs were missing.
TEST(CrashStates, WhatIsWrittenBesideNeedsItsSyncs) {
  const ProtocolSteps steps{.left_out = static_cast<std::uint32_t>(ProtocolStep::kSyncShards)};
  for (const sample::OverlapCase& c : sample::overlap_cases(OverlapWay::kWrite)) {
    CrashExplorer explorer(ExplorerSettings{});
    explore_orders(explorer, {.ranks = 2, .mode = c.mode, .steps = steps, .overlap = c.way}, 4);
    EXPECT_FALSE(explorer.problems().empty()) << c.name();
  }
}

// Generations that build on each other, with retention that must keep parts of retired ones.
class Chains : public ::testing::TestWithParam<std::tuple<CheckpointMode, int>> {};

TEST_P(Chains, SurvivePowerFailure) {
  const auto [mode, ranks] = GetParam();
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
                  .overlap = overlap_of(mode, ranks)},
                 40);
  report("chains, " + std::string(mode_name(mode)) + ", " + std::to_string(ranks) + " ranks",
         explorer);
  // A link of one small file for all ranks is written in few calls.
  EXPECT_GE(explorer.states(), stores_blocks(mode) ? 2500U : 1000U);
}

INSTANTIATE_TEST_SUITE_P(
    CrashStates, Chains,
    ::testing::Combine(::testing::Values(CheckpointMode::kFilePerProcess, CheckpointMode::kShared,
                                         CheckpointMode::kHdf5Direct, CheckpointMode::kHdf5Streams),
                       ::testing::Values(1, 2, 3)));

// Chains that end by being read back and written as one, in a thread beside the run or not.
class Folds : public ::testing::TestWithParam<std::tuple<CheckpointMode, OverlapWay, int>> {};

TEST_P(Folds, SurvivePowerFailure) {
  const auto [mode, overlap, ranks] = GetParam();
  ExplorerSettings settings;
  settings.most_states = states_wanted() / 20;
  settings.most_variants_per_prefix = 60;
  settings.chaining = Chaining::kFolded;
  CrashExplorer explorer(settings);
  const RunPlan plan{.ranks = ranks,
                     .mode = mode,
                     .saves = 6,
                     .steps = {},
                     .chaining = Chaining::kFolded,
                     .overlap = overlap};
  const auto disk = std::make_shared<MemoryDisk>();
  sample::record_run(disk, plan);
  const auto listed = list_generations(*open_memory_store(disk));
  ASSERT_TRUE(listed.is_ok());
  EXPECT_TRUE(listed.value()[0].builds_on.empty()) << "the sixth was folded";
  EXPECT_FALSE(listed.value()[1].builds_on.empty());
  explore_orders(explorer, plan, std::min<std::uint64_t>(campaign_factor(), 40));
  report("folds, " + std::string(mode_name(mode)) + ", overlap " +
             std::string(overlap_name(overlap)) + ", " + std::to_string(ranks) + " ranks",
         explorer);
  EXPECT_GE(explorer.states(), 1000U);
}

INSTANTIATE_TEST_SUITE_P(CrashStates, Folds,
                         ::testing::Combine(::testing::Values(CheckpointMode::kFilePerProcess),
                                            ::testing::Values(OverlapWay::kNone, OverlapWay::kPack),
                                            ::testing::Values(1, 2, 3)));
INSTANTIATE_TEST_SUITE_P(CrashStatesOfSharedFiles, Folds,
                         ::testing::Combine(::testing::Values(CheckpointMode::kShared,
                                                              CheckpointMode::kHdf5Direct,
                                                              CheckpointMode::kHdf5Streams),
                                            ::testing::Values(OverlapWay::kPack),
                                            ::testing::Values(2)));

// As pivot strata are written: pools whole and as growth, in chains, by a thread beside the run or
// not. Every generation really has pools.
class Pools : public ::testing::TestWithParam<std::tuple<CheckpointMode, int>> {};

TEST_P(Pools, SurvivePowerFailure) {
  const auto [mode, ranks] = GetParam();
  ExplorerSettings settings;
  settings.most_states = states_wanted() / 4;
  // Few, so that a whole order is seen, growth of pools included.
  settings.most_variants_per_prefix = 12;
  settings.chaining = Chaining::kGrowth;
  CrashExplorer explorer(settings);
  const RunPlan plan{.ranks = ranks,
                     .mode = mode,
                     .saves = 5,
                     .steps = {},
                     .chaining = Chaining::kGrowth,
                     .overlap = overlap_of(mode, ranks),
                     .is_pooled = true};
  const auto disk = std::make_shared<MemoryDisk>();
  sample::record_run(disk, plan);
  expect_pools(disk, 2);  // the newest and the one that it builds on
  // Campaigns take more orders.
  explore_orders(explorer, plan, std::min<std::uint64_t>(campaign_factor(), 40));
  report("pools, " + std::string(mode_name(mode)) + ", " + std::to_string(ranks) + " ranks",
         explorer);
  EXPECT_FALSE(explorer.is_over());  // for want of states
  EXPECT_GE(explorer.states(), 500U);
}

INSTANTIATE_TEST_SUITE_P(CrashStates, Pools,
                         ::testing::Combine(::testing::Values(CheckpointMode::kFilePerProcess,
                                                              CheckpointMode::kShared,
                                                              CheckpointMode::kSharedOpt),
                                            ::testing::Values(1, 2, 3)));

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
  const CompactRequest request{
      .generation = listed.value()[0].name, .mode = plan.mode, .labels = {}};
  return sample::record_ranks(
      disk, plan.ranks, [&](Comm& comm, const std::shared_ptr<Store>& store, OperationLog&) {
        return compact_generation(comm, *store, request, sample::crash_options(plan)).status();
      });
}

// Power fails while the newest link of a chain is written anew, whole and in another layout, by as
// many ranks as before or by others: what was acknowledged stays.
void explore_compactions(bool is_pooled, std::span<const CheckpointMode> modes) {
  const MemoryDisk empty;
  for (const CheckpointMode mode : modes)
    for (const int ranks : {1, 2}) {
      ExplorerSettings settings;
      settings.most_states = states_wanted() / 40;
      settings.most_variants_per_prefix = 60;
      settings.chaining = Chaining::kGrowth;
      CrashExplorer explorer(settings);
      const auto disk = std::make_shared<MemoryDisk>();
      std::vector<Operation> both = sample::record_run(disk, {.ranks = 2,
                                                              .saves = 5,
                                                              .steps = {},
                                                              .chaining = Chaining::kGrowth,
                                                              .is_pooled = is_pooled});
      const std::size_t cut = both.size();
      const auto seen = crash_image(empty, both, {}, {});
      const auto compaction = record_compaction(seen, {.ranks = ranks, .mode = mode, .steps = {}});
      both.insert(both.end(), compaction.begin(), compaction.end());
      explorer.explore(empty, both, cut);
      report((is_pooled ? "compaction of pools, " : "compaction, ") + std::string(mode_name(mode)) +
                 ", " + std::to_string(ranks) + " ranks",
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

TEST(CrashStates, CompactionOfAChain) {
  constexpr CheckpointMode kModes[] = {CheckpointMode::kFilePerProcess, CheckpointMode::kShared,
                                       CheckpointMode::kHdf5Direct, CheckpointMode::kHdf5Streams};
  explore_compactions(false, kModes);
}

TEST(CrashStates, CompactionOfAChainOfPools) {
  constexpr CheckpointMode kModes[] = {CheckpointMode::kFilePerProcess, CheckpointMode::kShared};
  explore_compactions(true, kModes);
}

}  // namespace
}  // namespace stratalog
