// SPDX-License-Identifier: Apache-2.0
// ValueOrder: numbers cells so that comparing the numbers compares the values: order codes, 32 bits
// like cells. Output sorts codes, never strings or 64-bit values. Numbers are ordered by their
// kind, symbols by their bytes, records by how deep they nest and then field by field (nil first,
// so lists come by length), floats from -NaN over -inf and -0 < 0 to NaN. Built from the dictionary
// on first need and kept for the next relation. Local.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "datalog/program.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

using OrderCode = std::uint32_t;

// Both directions for the columns of one kind. Borrows from a ValueOrder.
class ColumnOrder {
 public:
  OrderCode code(Cell cell) const {
    if (is_table_) return code_of_[cell];
    if (cell < kNegativeBase) return first_nonnegative_ + cell;
    if (cell < kWideBase)
      return first_negative_ + (is_reversed_ ? kWideBase - 1 - cell : cell - kNegativeBase);
    return code_of_[cell - kWideBase];
  }
  // Requires a code that code() gives.
  Cell cell(OrderCode code) const;

 private:
  friend class ValueOrder;
  bool is_table_ = false;  // symbols and records: cells are indices
  bool is_reversed_ = false;  // floats: negative NaNs, descending
  OrderCode first_negative_ = 0;
  OrderCode first_nonnegative_ = 0;
  std::array<OrderCode, 2> first_wide_ = {0, 0};  // wide values lie in two runs of codes
  std::uint32_t wides_in_first_run_ = 0;
  std::span<const OrderCode> code_of_;  // by symbol or wide id
  std::span<const Cell> sorted_;  // symbol or wide ids, or record cells, in order
};

class ValueOrder {
 public:
  // `dictionary` must outlive this object.
  explicit ValueOrder(const ValueDictionary& dictionary) : dictionary_(&dictionary) {}

  // Sorts the dictionary's values of that kind, unless that was done since it last grew; then
  // earlier results for the kind are no longer valid.
  const ColumnOrder& for_kind(ValueKind kind);
  std::vector<ColumnOrder> for_relation(const Relation& relation);

  // Codes of the cells of some tuples of `relation`, one tuple after the other, that can be
  // compared with each other only. Where there are fewer than the dictionary has values, only they
  // are sorted.
  std::vector<OrderCode> codes_of(const Relation& relation, std::span<const Cell> tuples);

  const ValueDictionary& dictionary() const { return *dictionary_; }
  std::uint64_t memory_bytes() const;

 private:
  struct Sorted {
    std::vector<OrderCode> code_of;
    std::vector<Cell> sorted;
    std::uint64_t size = ~std::uint64_t{0};  // the table's when this was built
    ColumnOrder order;
  };

  std::uint64_t values_of(ValueKind kind) const;
  std::vector<std::pair<Cell, OrderCode>> ranks_of(ValueKind kind,
                                                   const std::vector<Cell>& cells) const;
  void sort_symbols(Sorted& sorted) const;
  void sort_wides(ValueKind kind, Sorted& sorted) const;
  void sort_records(Sorted& sorted);

  const ValueDictionary* dictionary_;
  std::array<Sorted, 5> by_kind_;
};

}  // namespace stratalog::datalog
