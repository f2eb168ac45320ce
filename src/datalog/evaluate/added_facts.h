// SPDX-License-Identifier: Apache-2.0
// Facts that are added to a finished run: which files of a folder belong to which .input of the
// program, their tuples, and the position from which the run goes on. The folder has files for
// relations that get new facts only, named as the program names them. Which strata go on and which
// start over is decided elsewhere (plan/addition_plan.h). Collective where it says so.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "datalog/evaluate/checkpointing.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/program.h"
#include "write/store.h"

namespace stratalog::datalog {

// A file of the folder, as a directive of its own.
struct AddedFile {
  RelationId relation = 0;
  IoDirective directive;
};

struct AddedFiles {
  std::vector<AddedFile> files;  // in program order
  std::vector<std::string> strangers;  // files that belong to no .input, ascending
};

// Collective; rank 0 looks. A file that the program names absolutely or outside its folder of facts
// is looked for by its last part. NotFound if the folder has no fact file of the program.
Result<AddedFiles> find_added_files(Comm& comm, Store& folder, const Program& program);

std::set<RelationId> relations_of(const AddedFiles& added);

// Collective: load_facts (facts/fact_reader.h) for each file, with its errors. By relation; those
// without files have no columns.
Result<std::vector<TupleColumns>> load_added_files(EngineState& state, Store& folder,
                                                   const AddedFiles& added);

// Local. Turns the position of a finished run, in the generation `base`, into the one from which
// the strata of EngineState::addition go on: as one stratum with the lowest number of theirs, whose
// first delta are the added facts. Where their tuples lie is no longer what the plan says.
void begin_addition(const EngineState& state, const std::string& base, EnginePosition& position);
// The number of that stratum while facts are being added.
std::optional<std::uint32_t> continued_stratum(const EnginePosition& position);

// Local. For a person: what goes on, and what starts over, and why. One line each.
std::vector<std::string> describe_addition(const EngineState& state, const AddedFiles& added);

}  // namespace stratalog::datalog
