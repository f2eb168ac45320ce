// SPDX-License-Identifier: Apache-2.0
// remap_columns: gives tuples that were read or handed over with provisional cells their final
// ones, after the ranks have agreed on new values (model/value_agreement.h). Local.
#pragma once

#include "datalog/facts/cell_class.h"
#include "datalog/facts/tuple_columns.h"
#include "datalog/program.h"
#include "model/value_agreement.h"

namespace stratalog::datalog {

inline void remap_columns(const Relation& relation, const CellRemapping& remapping,
                          TupleColumns& tuples) {
  if (remapping.empty()) return;
  for (std::size_t c = 0; c < tuples.columns.size(); ++c) {
    const CellClass column = cell_class(relation.attributes[c].kind);
    for (Cell& cell : tuples.columns[c]) cell = remapping.of(column, cell);
  }
}

}  // namespace stratalog::datalog
