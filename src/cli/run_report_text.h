// SPDX-License-Identifier: Apache-2.0
// What a finished run looks like: the results on standard output, the time breakdown as a table,
// and all of it as JSON. Pure; local.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "datalog/evaluate/engine.h"

namespace stratalog::cli {

// ".printsize": one "name<TAB>rows" a line, as Soufflé prints it.
std::string print_sizes_text(const datalog::Program& program, const datalog::RunReport& report);

// Where the time went, with shares, then checkpoints and memory. Checkpoint stations that took no
// time are left out.
std::string breakdown_text(const datalog::RunReport& report);

// The newest generation that the run has written or come from; empty: none.
std::string newest_generation(const datalog::RunReport& report);
// Where missing_checkpoint(): what is lost, and what there is, the newest in a folder that
// may be that of the stage. `signal` counts where it stopped the
// run.
std::string missing_checkpoint_text(const datalog::RunReport& report, std::string_view folder,
                                    std::string_view newest_in, int signal);

// Everything. Keys are documented in docs/command.md; numbers are seconds, rows or bytes as the key
// says.
nlohmann::json report_json(const datalog::RunReport& report, std::string_view program);

// "once", "semi-naive" or "pivot", as JSON says it.
std::string_view strategy_name(datalog::Strategy strategy);

// Sum of the checkpoint stations, and how much of it is packing; 0 where there were none.
double checkpoint_seconds(const datalog::TimeBreakdown& times);
double pack_share(const std::vector<SaveReport>& checkpoints);

}  // namespace stratalog::cli
