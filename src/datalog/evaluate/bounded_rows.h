// SPDX-License-Identifier: Apache-2.0
// append_between: the rows of an index whose cells at one place lie in some ranges, found by
// halving where rows ascend by the cells at that place; append_valued: those whose values lie
// between two bounds, where cells do not tell the order (floats, and numbers that are not small).
// Pure; local.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "datalog/program.h"
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

// 64 bits that are in the order of the numbers which `bits` mean; nothing for NaN.
std::optional<std::uint64_t> place_of_value(ValueKind kind, std::uint64_t bits);

// Places between two bounds.
class PlaceInterval {
 public:
  // Of these the x with x `comparison` other; nothing: of NaN, which no number is compared with.
  // Requires an order.
  void keep(Comparison comparison, std::optional<std::uint64_t> other);
  bool is_empty() const { return is_empty_ || first_ > last_; }
  std::uint64_t first() const { return first_; }
  std::uint64_t last() const { return last_; }

 private:
  std::uint64_t first_ = 0;
  std::uint64_t last_ = ~std::uint64_t{0};
  bool is_empty_ = false;
};

// A row and the place of its value.
struct ValuedRow {
  std::uint64_t place = 0;
  RowId row = 0;
};

// `rows` ascend by place.
void append_valued(std::span<const ValuedRow> rows, const PlaceInterval& interval,
                   std::vector<RowId>& found);

}  // namespace stratalog::datalog
