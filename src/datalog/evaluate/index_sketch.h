// SPDX-License-Identifier: Apache-2.0
// Looks at some of the tuples of an index for what the planner wants to know of their columns.
// Local.
#pragma once

#include <cstdint>

#include "datalog/evaluate/column_sketches.h"
#include "datalog/evaluate/tuple_sample.h"
#include "relation/index.h"

namespace stratalog::datalog {

// The declared columns are sketched from `first` on, and some of the tuples go into `sample`. Of
// many rows one in some is looked at, and all that hold a good part of the tuples, which are
// `all_rows` on all ranks together.
void sketch_index(const Index& home, std::uint64_t all_rows, std::size_t first,
                  ColumnSketches& sketches, TupleSample& sample);

}  // namespace stratalog::datalog
