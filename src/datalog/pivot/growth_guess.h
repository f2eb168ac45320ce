// SPDX-License-Identifier: Apache-2.0
// Whether a recursion is worth a sweep, guessed before it runs: a sweep moves many pivots along an
// edge at once, so it pays where many tuples are derived, and where many of them have a slot in
// common. Deterministic; local.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "datalog/pivot/pivot_space.h"
#include "datalog/pivot/slot_graph.h"

namespace stratalog {

struct GrowthGuess {
  std::uint64_t walks = 0;
  std::uint64_t derived = 0;  // by all of them
};

// How many tuples are derived: from some of the first ones random walks follow the slot graph, and
// a walk stands for as many as there were ways to go (Knuth, "Estimating the efficiency of
// backtrack programs", 1975). It counts each way that leads to a tuple, and what masks hold back,
// so that it rather guesses too much. A walk from each of `starts`, the slots of first tuples. Ends
// when `enough` are derived. Expands the slots that it comes by.
Result<GrowthGuess> guess_growth(SlotGraph& graph, std::span<const SlotId> starts,
                                 std::uint64_t enough);

// How many tuples there are to each slot of a graph that is known in part: as many as pivots get
// there from `starts`, the slots of all first tuples, by what is known. Looks at some of them.
double guess_tuples_per_slot(const SlotGraph& graph, std::span<const SlotId> starts);

}  // namespace stratalog
