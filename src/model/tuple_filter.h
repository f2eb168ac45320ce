// SPDX-License-Identifier: Apache-2.0
// CellSet and TupleFilter: which tuples a reader wants, as sets of cells for some columns. A filter
// looks at the zones of blocks first, so that most need not be read, and then at groups. Knows no
// values: whoever asks turns them into cells. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "model/cell.h"
#include "model/tuple_group.h"

namespace stratalog {

// Both ends included.
struct CellRange {
  Cell lowest = 0;
  Cell highest = 0;
  friend bool operator==(const CellRange&, const CellRange&) = default;
};

class CellSet {
 public:
  CellSet() = default;  // empty
  // In any order; may overlap. Requires lowest <= highest.
  explicit CellSet(std::vector<CellRange> ranges);

  bool contains(Cell cell) const;
  // Whether some cell of [lowest, highest] is in the set.
  bool meets(Cell lowest, Cell highest) const;
  std::span<const CellRange> ranges() const { return ranges_; }

 private:
  std::vector<CellRange> ranges_;  // ascending, disjoint
};

class TupleFilter {
 public:
  // `column_order`: group column i is declared column column_order[i], as in images and manifests.
  explicit TupleFilter(std::span<const std::uint32_t> column_order)
      : column_order_(column_order.begin(), column_order.end()) {}

  // Tuples must have one of `cells` in the declared column; all that is asked must hold.
  void want(std::uint32_t column, CellSet cells) {
    wanted_.push_back({.column = column, .cells = std::move(cells)});
  }
  bool wants_all() const { return wanted_.empty(); }
  // `zone`: lowest and highest cell of each declared column. False: no tuple there is wanted.
  bool may_hold(std::span<const Cell> zone) const;
  // Hands on what is wanted of a group, if anything.
  Status pass(const TupleGroup& group, const GroupVisitor& visit) const;

 private:
  struct Wanted {
    std::uint32_t column = 0;
    CellSet cells;
  };

  std::vector<std::uint32_t> column_order_;
  std::vector<Wanted> wanted_;
};

}  // namespace stratalog
