// SPDX-License-Identifier: Apache-2.0
// number_tuples: fills a relation with numbering (program.h). The tuples of its source are sorted
// by value over all ranks, range by range, so numbers depend neither on the number of ranks nor on
// restarts. Collective.
#pragma once

#include "base/status.h"
#include "datalog/evaluate/engine_state.h"

namespace stratalog::datalog {

// Queues the numbered tuples at their owners. All strata before the relation's own are finished.
// Errors, equal on all ranks: NoSpace if a number would not fit into a cell.
Status number_tuples(EngineState& state, RelationId relation);

}  // namespace stratalog::datalog
