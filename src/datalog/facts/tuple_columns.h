// SPDX-License-Identifier: Apache-2.0
// TupleColumns: one rank's tuples of a relation as plain columns of cells, in declared column
// order, in no particular order of rows. Repetitions are allowed where facts are read and forbidden
// where relations are written. A value.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/cell.h"

namespace stratalog::datalog {

struct TupleColumns {
  std::uint64_t rows = 0;  // also for arity 0, where there are no columns
  std::vector<std::vector<Cell>> columns;
};

// Both have as many columns, or `tuples` is empty.
inline void append_tuples(TupleColumns more, TupleColumns& tuples) {
  if (tuples.rows == 0) {
    tuples = std::move(more);
    return;
  }
  tuples.rows += more.rows;
  for (std::size_t c = 0; c < more.columns.size(); ++c)
    tuples.columns[c].insert(tuples.columns[c].end(), more.columns[c].begin(),
                             more.columns[c].end());
}

}  // namespace stratalog::datalog
