// SPDX-License-Identifier: Apache-2.0
// How many rows the fact files of a program have, for `explain -F`: the planner orders literals by
// it. Local.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "datalog/program.h"

namespace stratalog::cli {

// By relation; relations without .input count as 0 rows, which the planner reads as unknown. Reads
// the files with the run's own reader, so it fails where a run would.
Result<std::vector<std::uint64_t>> count_fact_rows(const datalog::Program& program,
                                                   const std::string& directory);

}  // namespace stratalog::cli
