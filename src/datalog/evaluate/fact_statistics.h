// SPDX-License-Identifier: Apache-2.0
// gather_statistics: sizes of the relations that are read from files, how many distinct values
// their columns hold and which of them many rows have, for the planner. Counts of distinct values
// come from linear counting (Whang et al., 1990) on small bitmaps, so that they are the same at any
// number of ranks. Collective.
#pragma once

#include <vector>

#include "base/result.h"
#include "comm/comm.h"
#include "datalog/facts/tuple_columns.h"
#include "datalog/plan/program_plan.h"

namespace stratalog::datalog {

// `facts` by RelationId: this rank's part. Those that rules fill as well get what was read, and
// stay unknown.
Result<std::vector<RelationStatistics>> gather_statistics(Comm& comm, const Program& program,
                                                          const std::vector<TupleColumns>& facts);

}  // namespace stratalog::datalog
