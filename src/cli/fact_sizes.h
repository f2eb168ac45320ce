// SPDX-License-Identifier: Apache-2.0
// What the fact files of a program hold, for `explain -F`: the planner orders literals by it.
// Local.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "datalog/plan/program_plan.h"

namespace stratalog::cli {

// By relation. Reads the files with the run's own reader, so it fails where a run would.
Result<std::vector<datalog::RelationStatistics>> measure_facts(const datalog::Program& program,
                                                               const std::string& directory);

}  // namespace stratalog::cli
