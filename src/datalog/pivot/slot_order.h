// SPDX-License-Identifier: Apache-2.0
// Orders of slots and pivots for the sweep. Slots that follow each other along edges get numbers
// close to each other, and so do the pivots that start there: then the rows that a step moves lie
// close together in memory, and the lanes of a block take mostly the same way, so that one row
// operation moves many of them (round_skew.h). On road networks this is worth a factor of three,
// and it makes the time independent of how a data set numbers its nodes. Orders never change
// results. Pure; local.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "datalog/pivot/pivot_space.h"
#include "datalog/pivot/slot_graph.h"

namespace stratalog {

// Slots by a depth-first walk that goes along edges in both directions, from the lowest slot of
// each component: order[i] is the i-th slot. Every slot comes once.
std::vector<SlotId> depth_first_order(const SlotGraph& graph);

struct PivotStart {
  SlotId slot = 0;
  Cell pivot = 0;
};

// The slot whose key is a pivot, where there is one.
using OwnSlot = std::function<std::optional<SlotId>(Cell pivot)>;

// Where most pivots are keys themselves, with an edge to where they start (as in a closure, whose
// first tuples are the edges): lets those pivots start at their own slots instead. A pivot then has
// one place in the walk, and not that of whichever neighbour was walked first: the tails of a loop
// would all go to where its head lies. Quickest where the starts of a pivot follow each other.
void begin_at_own_slots(const SlotGraph& graph, const OwnSlot& own_slot,
                        std::vector<PivotStart>& starts);

// The distinct pivots by the lowest slot at which each starts, then by cell.
std::vector<Cell> order_pivots(std::vector<PivotStart> starts);

}  // namespace stratalog
