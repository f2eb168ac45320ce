// SPDX-License-Identifier: Apache-2.0
// Variables have a kind but no type. The columns that they stand in have one, so do the fields of
// records whose type is known, and what is equal to them. Pure; local.
#pragma once

#include <vector>

#include "datalog/program.h"

namespace stratalog::datalog {

// By variable; kNoStructure where nothing says more than the kind.
std::vector<StructureId> structures_of_variables(const Program& program, const Rule& rule);

}  // namespace stratalog::datalog
