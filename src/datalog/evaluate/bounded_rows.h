// SPDX-License-Identifier: Apache-2.0
// append_between: the rows of an index whose cells at one place lie in some ranges, found by
// halving where rows ascend by the cells at that place. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/tuple_filter.h"
#include "relation/index.h"

namespace stratalog::datalog {

// Of `rows`, which agree in all places before `place` (place < prefix_width). `ranges` ascend and
// are disjoint.
void append_between(const Index& index, const FoundRows& rows, std::uint32_t place,
                    std::span<const CellRange> ranges, std::vector<RowId>& found);

// Of rows that ascend by their prefixes and agree as above, wherever they lie.
void append_between(const Index& index, std::span<const RowId> rows, std::uint32_t place,
                    std::span<const CellRange> ranges, std::vector<RowId>& found);

// The rows that were not made in order, ascending by their prefixes.
std::vector<RowId> late_rows_in_order(const Index& index);

}  // namespace stratalog::datalog
