// SPDX-License-Identifier: Apache-2.0
// Every step of the protocol is needed, and the tests see it: each step is left out in turn, and
// the search for bad states, which finds none with all steps, must find one. A mutant that survives
// fails this test.
#include <gtest/gtest.h>

#include <cstdio>

#include "fault/crash_explorer.h"
#include "write/faulty_store.h"

namespace stratalog {
namespace {

using sample::CrashExplorer;
using sample::ExplorerSettings;
using sample::RunPlan;

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
  return explorer.problems().empty() ? "" : explorer.problems().front();
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
                      Mutant{ProtocolStep::kKeepTwo, "KeepTwo"}),
    [](const auto& about) { return std::string(about.param.name); });

}  // namespace
}  // namespace stratalog
