// SPDX-License-Identifier: Apache-2.0
// NumberInterval: small numbers between two bounds, as ranges of cells, and what of a set lies in a
// range: so that comparisons with a column's values look at those that pass only. Pure; local.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "datalog/program.h"
#include "model/cell.h"
#include "model/tuple_filter.h"
#include "model/tuple_group.h"
#include "relation/int_set.h"

namespace stratalog::datalog {

// Small numbers ascend as their cells do once the negative ones, which stand above the others, come
// first: by so much they are moved. `kind` is that of numbers or of unsigned ones.
constexpr Cell place_shift(ValueKind kind) {
  return kind == ValueKind::kNumber ? kWideBase - kNegativeBase : 0;
}
// Where a small number stands then.
constexpr Cell place_of_number(Cell cell, Cell shift) { return (cell + shift) & ~kWideBase; }

class NumberInterval {
 public:
  // All small numbers (cells below kWideBase).
  explicit NumberInterval(ValueKind kind) : shift_(place_shift(kind)) {}

  // Of these the x with x `comparison` other. Requires an order, and that `other` is small.
  void keep(Comparison comparison, Cell other);
  // Requires that `cell` is small.
  bool holds(Cell cell) const {
    const Cell place = place_of_number(cell, shift_);
    return first_ <= place && place <= last_;
  }
  // Ascending and disjoint; two at most.
  std::vector<CellRange> cells() const;

 private:
  Cell shift_;
  Cell first_ = 0;  // places
  Cell last_ = kWideBase - 1;
};

// A view of all elements that lie in the range. Of a bitmap it has whole words, with other elements
// at both ends, and `count` stays that of the set. Takes time by the logarithm of the set at most.
// Requires an array or a bitmap.
SetView part_around(const SetView& set, const CellRange& range);

// The lowest and the highest element in the range. Likewise.
std::optional<Cell> first_within(const SetView& set, const CellRange& range);
std::optional<Cell> last_within(const SetView& set, const CellRange& range);

// All cells but one, ascending.
std::vector<CellRange> ranges_without(Cell cell);

// Replaces `kept` by the elements of the set that lie in any of the ranges, which ascend and are
// disjoint. Requires an array or a bitmap.
void keep_within(const SetView& set, std::span<const CellRange> ranges, IntSet& kept);

}  // namespace stratalog::datalog
