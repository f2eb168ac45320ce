// SPDX-License-Identifier: Apache-2.0
// BestCells: which values of a row stay where only the least (or greatest) is wanted. Cells are
// compared by the values they stand for. Values that do not differ in that order, as the zeros of
// floats, stay side by side, and so do NaNs, which nothing beats and which beat nothing; unless the
// order is one of all floats, in which -0 comes before 0, and NaN stays where there is nothing else
// (of several NaNs the one whose bits are a smaller number). Local.
#pragma once

#include <cstdint>
#include <vector>

#include "model/value_dictionary.h"
#include "relation/int_set.h"

namespace stratalog {

enum class NumberOrder : std::uint8_t { kSigned, kUnsigned, kFloat, kAllFloats };
enum class Wanted : std::uint8_t { kLeast, kGreatest };

class BestCells {
 public:
  // `values` outlives the object. Cells must be final ones.
  BestCells(const ValueDictionary& values, NumberOrder order, Wanted wanted)
      : values_(&values), order_(order), wanted_(wanted) {}

  bool beats(Cell a, Cell b) const;
  // Takes out of `cells` those that another of them or one of `present` beats.
  void keep_best(std::vector<Cell>& cells, const IntSet& present) const;

 private:
  bool less(Cell a, Cell b) const;
  bool beats_equal(Cell a, Cell b) const;
  bool is_nan(Cell cell) const;

  const ValueDictionary* values_;
  NumberOrder order_;
  Wanted wanted_;
};

}  // namespace stratalog
