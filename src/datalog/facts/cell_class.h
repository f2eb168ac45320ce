// SPDX-License-Identifier: Apache-2.0
// What the cells of a column stand for, by the kind of its values; and the shapes that a program's
// records have, made known to a dictionary. Local.
#pragma once

#include "datalog/program.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

constexpr CellClass cell_class(ValueKind kind) {
  if (kind == ValueKind::kSymbol) return CellClass::kSymbol;
  return kind == ValueKind::kRecord ? CellClass::kRecord : CellClass::kNumber;
}

// Shapes get the numbers that they have in Program::shapes; call it before any other use of
// records. Does nothing where they are known.
inline void announce_shapes(const Program& program, ValueDictionary& dictionary) {
  for (const std::vector<ValueKind>& fields : program.shapes) {
    Shape shape;
    for (const ValueKind kind : fields) shape.push_back(cell_class(kind));
    dictionary.records().shape(shape);
  }
}

}  // namespace stratalog::datalog
