// SPDX-License-Identifier: Apache-2.0
// relation_image: this rank's home part of a relation as the rest of the house sees it
// (checkpoints, output files), wherever the engine keeps it. The image borrows the state. Local.
#pragma once

#include "datalog/evaluate/engine_state.h"
#include "model/tuple_group.h"

namespace stratalog::datalog {

// Rows and hash are left 0, except for arity 0, where rank 0 holds the one tuple.
RelationImage relation_image(const EngineState& state, RelationId relation,
                             RelationVersion version);

// The same as checkpoints hold it: equivalence relations as their classes (equivalence_run.h).
RelationImage stored_image(const EngineState& state, RelationId relation, RelationVersion version);

}  // namespace stratalog::datalog
