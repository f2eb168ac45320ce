// SPDX-License-Identifier: Apache-2.0
// Every step of the protocol is needed, and the tests see it: each step is left out in turn, and
// the search for bad states, which finds none with all steps, must find one. A mutant that survives
// fails this test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>

#include "fault/crash_explorer.h"
#include "write/faulty_store.h"

namespace stratalog {
namespace {

using sample::Chaining;
using sample::CrashExplorer;
using sample::ExplorerSettings;

ProtocolSteps without(ProtocolStep step) { return {.left_out = static_cast<std::uint32_t>(step)}; }

// The first problem that power failure shows in runs with these steps, or nothing.
std::string first_crash_problem(const ProtocolSteps& steps) {
  const MemoryDisk empty;
  ExplorerSettings settings;
  settings.most_states = 6000;
  settings.most_variants_per_prefix = 100;
  for (const CheckpointMode mode : {CheckpointMode::kFilePerProcess, CheckpointMode::kShared}) {
    CrashExplorer explorer(settings);
    const auto disk = std::make_shared<MemoryDisk>();
    explorer.explore(empty, sample::record_run(disk, {.ranks = 2, .mode = mode, .steps = steps}),
                     0);
    if (!explorer.problems().empty()) return explorer.problems().front();
  }
  // A job dies right after the renaming of its second manifest; the next one goes on from what it
  // sees.
  CrashExplorer explorer(settings);
  const auto disk = std::make_shared<MemoryDisk>();
  const auto first = sample::record_run(disk, {.ranks = 1, .saves = 2, .steps = steps});
  for (std::size_t cut = first.size() / 2; cut <= first.size() && !explorer.is_over(); ++cut) {
    if (first[cut - 1].kind != OperationKind::kRename) continue;
    std::vector<Operation> both(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(cut));
    const auto seen = crash_image(empty, both, {}, {});
    const auto second =
        sample::record_run(seen, {.ranks = 1, .saves = 2, .first_iteration = 10, .steps = steps});
    both.insert(both.end(), second.begin(), second.end());
    explorer.explore(empty, both, cut);
  }
  if (!explorer.problems().empty()) return explorer.problems().front();
  // Generations that build on each other.
  ExplorerSettings of_chains = settings;
  of_chains.chaining = Chaining::kGrowth;
  CrashExplorer chains(of_chains);
  const auto chain_disk = std::make_shared<MemoryDisk>();
  chains.explore(
      empty,
      sample::record_run(chain_disk,
                         {.ranks = 2, .saves = 5, .steps = steps, .chaining = Chaining::kGrowth}),
      0);
  return chains.problems().empty() ? "" : chains.problems().front();
}

struct Mutant {
  ProtocolStep step;
  const char* name;
};

class CrashMutants : public ::testing::TestWithParam<Mutant> {};

TEST_P(CrashMutants, IsCaught) {
  const std::string problem = first_crash_problem(without(GetParam().step));
  EXPECT_FALSE(problem.empty()) << "leaving out " << GetParam().name << " goes unnoticed";
  std::printf("[ CAUGHT   ] without %s: %.150s\n", GetParam().name, problem.c_str());
}

INSTANTIATE_TEST_SUITE_P(
    All, CrashMutants,
    ::testing::Values(Mutant{ProtocolStep::kSyncStoreFile, "SyncStoreFile"},
                      Mutant{ProtocolStep::kSyncEpoch, "SyncEpoch"},
                      Mutant{ProtocolStep::kSyncNewGeneration, "SyncNewGeneration"},
                      Mutant{ProtocolStep::kSyncShards, "SyncShards"},
                      Mutant{ProtocolStep::kSyncSections, "SyncSections"},
                      Mutant{ProtocolStep::kSyncGenerationFiles, "SyncGenerationFiles"},
                      Mutant{ProtocolStep::kSyncManifest, "SyncManifest"},
                      Mutant{ProtocolStep::kRenameManifest, "RenameManifest"},
                      Mutant{ProtocolStep::kSyncRename, "SyncRename"},
                      Mutant{ProtocolStep::kHideBeforeDelete, "HideBeforeDelete"},
                      Mutant{ProtocolStep::kSyncHidden, "SyncHidden"},
                      Mutant{ProtocolStep::kSyncAdopted, "SyncAdopted"},
                      Mutant{ProtocolStep::kKeepTwo, "KeepTwo"},
                      Mutant{ProtocolStep::kKeepLinked, "KeepLinked"}),
    [](const auto& about) { return std::string(about.param.name); });

// A checkpoint whose outcome is unknown (its last fsync failed), then one more. A kernel that
// reported a failed fsync may have dropped what was to be written and report success the next time,
// so no replay of calls can show what a file system does then: the rule itself is checked, that
// nothing builds on such a generation. The first offence, for every place where an fsync can fail.
std::string problem_after_an_unknown_outcome(const ProtocolSteps& steps, std::size_t& unknown) {
  const sample::RunPlan plan{.steps = steps, .chaining = Chaining::kGrowth};
  for (std::uint64_t at = 0;; ++at) {
    const auto disk = std::make_shared<MemoryDisk>();
    const auto comm = make_self_comm();
    const auto memory = open_memory_store(disk);
    const auto counter =
        std::make_shared<FaultCounter>(FaultPlan{.fail_at = at, .error_number = EIO});
    const auto store = open_faulty_store(*memory, counter);
    const auto writer = open_checkpoint_writer(*comm, *store, sample::crash_options(plan));
    if (!writer.is_ok()) continue;
    std::map<std::string, std::uint64_t> iteration_of;  // of committed generations
    std::vector<std::string> committed{""};
    for (const std::uint64_t iteration : {1, 2, 3}) {
      const std::string base = writer.value()->base();
      if (std::find(committed.begin(), committed.end(), base) == committed.end())
        return fmt::format("checkpoint {} is to build on {}, whose outcome is unknown", iteration,
                           base);
      const auto saved = writer.value()->save(sample::grown_request(
          iteration, base.empty() ? 0 : iteration_of[base], base, sample::kCrashTestSize, 0, 1));
      if (saved.is_ok()) {
        committed.push_back(saved.value().generation);
        iteration_of[saved.value().generation] = iteration;
      }
      unknown += writer.value()->last_outcome() == SaveOutcome::kUnknown ? 1 : 0;
    }
    if (!counter->has_fired()) return {};
  }
}

TEST(UnknownOutcome, NothingBuildsOnIt) {
  std::size_t unknown = 0;
  EXPECT_EQ(problem_after_an_unknown_outcome({}, unknown), "");
  EXPECT_GE(unknown, 3U);
  const std::string problem =
      problem_after_an_unknown_outcome(without(ProtocolStep::kBuildOnCommitted), unknown);
  EXPECT_FALSE(problem.empty()) << "building on an unknown outcome goes unnoticed";
  std::printf("[ CAUGHT   ] without BuildOnCommitted: %.150s\n", problem.c_str());
}

}  // namespace
}  // namespace stratalog
