// SPDX-License-Identifier: Apache-2.0
// What a generation says about the program that wrote it: the sections "program" and "dictionary"
// and the engine's state. resume, inspect and export read it. Local; for rank 0.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "commit/staged_store.h"
#include "datalog/program.h"
#include "model/value_dictionary.h"
#include "write/store.h"

namespace stratalog::cli {

// NotFound if the generation has no program; Corruption if it does not compile. `name` is what
// messages call the program; empty: after the generation.
Result<datalog::Program> stored_program(const StoredState& state, const std::string& name = {});
// NotFound or Corruption.
Result<ValueDictionary> stored_dictionary(const StoredState& state);

// Why a checkpoint folder cannot be used, or which of its generations is used. `wanted` names one;
// empty: the newest valid. NotFound: no generation (of that name). Corruption: there are some, none
// is valid; the message says why.
Result<std::string> choose_generation(Store& store, const std::string& wanted);

// How often another generation is looked at because a running job has removed the one before.
inline constexpr int kMostChosenGenerations = 50;

// IoError: what to do where that does not help.
Status tell_removed(const std::string& generation, const std::string& wanted);

// What `use` makes of the name of that generation; of the newest by then where a running job has
// removed it meanwhile, unless it was named. `use` returns a Result, and can be called again.
template <typename Use>
auto use_generation(Store& store, const std::string& wanted, const Use& use)
    -> decltype(use(wanted)) {
  for (int looks = 1;; ++looks) {
    STRATALOG_ASSIGN_OR_RETURN(const std::string generation, choose_generation(store, wanted));
    auto used = use(generation);
    if (used.is_ok() || !was_removed(store, generation)) return used;
    if (!wanted.empty() || looks == kMostChosenGenerations) return tell_removed(generation, wanted);
  }
}

// A folder that must exist already; NotFound says so. Together with its staging directory: `stage`,
// or the one that its options file names.
Result<std::unique_ptr<Store>> open_checkpoint_folder(const std::string& directory,
                                                      const std::string& stage = {});
// Rank 0, before a job goes on or begins: AlreadyExists where a newer generation than any in the
// folder and in `stage` (empty: none) waits in the staging directory of the job before,
// which nobody would look into any more.
Status check_no_other_stage(const std::string& directory, const std::string& stage);
// `home` with the staging directory `stage`, as the rank in `seat` sees it: "{node}" in `stage` is
// the number of its node.
std::unique_ptr<StagedStore> with_stage(std::unique_ptr<Store> home, const std::string& stage,
                                        const StageSeat& seat = {});
// The folder that with_stage uses.
std::string stage_of_node(std::string stage, int node);

}  // namespace stratalog::cli
