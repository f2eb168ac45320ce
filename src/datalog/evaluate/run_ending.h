// SPDX-License-Identifier: Apache-2.0
// What a run ends with: its relations go to files and to the console as .output and .printsize say,
// and the report gets warnings, sizes and times of all ranks. Collective.
#pragma once

#include <vector>

#include "base/status.h"
#include "datalog/evaluate/engine_state.h"

namespace stratalog::datalog {

// Notes in the report of the state what was written and printed. Errors: those of write_facts().
Status write_outputs(EngineState& state);

// Completes the report of the state; times of phases are those of the slowest rank.
Status finish_report(EngineState& state, const std::vector<StratumReport>& strata);

}  // namespace stratalog::datalog
