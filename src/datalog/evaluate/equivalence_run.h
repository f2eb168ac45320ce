// SPDX-License-Identifier: Apache-2.0
// Equivalence relations in the engine. Every rank keeps all classes; at the end of a round the
// ranks tell each other the pairs that united something, at most one for each element in a whole
// run, and so stay equal. Joins find everything on their own rank; where pairs are walked, each
// rank takes its part. The pairs are only written out for outputs.
#pragma once

#include <span>

#include "datalog/evaluate/engine_state.h"
#include "model/tuple_group.h"

namespace stratalog::datalog {

// Makes the empty classes of all equivalence relations. Local.
void open_equivalences(EngineState& state);

// Collective. Unites what other ranks found; then the next partition is equal on all ranks.
Status share_equivalence(EngineState& state, RelationId relation);

// This rank's part of an equivalence relation as its pairs, for outputs.
RelationImage pairs_image(const EngineState& state, RelationId relation);
// The same for checkpoints: pairs of the least element of a class and each of its elements. As
// kDelta the classes before the last round.
RelationImage classes_image(const EngineState& state, RelationId relation, RelationVersion version);

// Collective. Puts back what classes_image() gave; each rank has any part of it. `former` is used
// if there is a running round to go on with.
Status restore_equivalence(EngineState& state, RelationId relation,
                           std::span<const Equivalence::Pair> classes,
                           const std::vector<Equivalence::Pair>* former);

}  // namespace stratalog::datalog
