// SPDX-License-Identifier: Apache-2.0
// Equivalence relations in the engine. Small ones are whole on every rank: at the end of a round
// the ranks tell each other the pairs that united something, at most one for each element in a
// whole run, and so stay equal; joins find everything on their own rank. From
// RunOptions::deal_equivalence_from elements on they are dealt: a rank has its elements, by their
// hash, with the classes of these, and searches go to the rank of the element that they know. Where
// pairs are walked, each rank takes those of its elements. The pairs are only written out for
// outputs.
#pragma once

#include <span>

#include "datalog/evaluate/engine_state.h"
#include "model/tuple_group.h"

namespace stratalog::datalog {

// Makes the empty classes of all equivalence relations. Local.
void open_equivalences(EngineState& state);

// Collective. Unites what other ranks found.
Status share_equivalence(EngineState& state, RelationId relation);

// Deals those of `relations` that are equivalence relations, whole, and have so many elements that
// they should be; or, before there are any, are to be made of `rows` tuples. The same on all ranks;
// local. True if one was dealt.
bool deal_large_equivalences(EngineState& state, std::span<const RelationId> relations,
                             std::uint64_t rows);
// Collective. Puts a dealt one of a finished stratum back whole on every rank, for readers that
// have to find everything there.
Status replicate_equivalence(EngineState& state, RelationId relation);

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
