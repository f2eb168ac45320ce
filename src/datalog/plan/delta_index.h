// SPDX-License-Identifier: Apache-2.0
// Which index a rule reads new tuples from: one that is dealt like the next search in a growing
// relation, where the stratum keeps such an index anyway. Then dealt relations are joined where the
// tuples lie, and bindings with the same search prefix come one after the other. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "datalog/plan/program_plan.h"

namespace stratalog::datalog {

// The columns that every search in the index binds, ascending; for an index that is only scanned,
// all but the last. The index is dealt to the ranks by them.
std::vector<std::uint32_t> columns_of_all_searches(const IndexPlan& index);

// Changes the first steps of the recursive rules of a stratum's plan.
void choose_delta_indices(const Program& program, std::uint32_t stratum, ProgramPlan& plan);

}  // namespace stratalog::datalog
