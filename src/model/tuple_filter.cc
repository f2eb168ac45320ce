// SPDX-License-Identifier: Apache-2.0
#include "model/tuple_filter.h"

#include <algorithm>

#include "model/set_walk.h"

namespace stratalog {

CellSet::CellSet(std::vector<CellRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CellRange& a, const CellRange& b) { return a.lowest < b.lowest; });
  for (const CellRange& range : ranges) {
    // Neighbours become one range.
    if (!ranges_.empty() && range.lowest <= std::uint64_t{ranges_.back().highest} + 1)
      ranges_.back().highest = std::max(ranges_.back().highest, range.highest);
    else
      ranges_.push_back(range);
  }
}

bool CellSet::contains(Cell cell) const { return meets(cell, cell); }

bool CellSet::meets(Cell lowest, Cell highest) const {
  // The first range that does not end before.
  const auto range =
      std::lower_bound(ranges_.begin(), ranges_.end(), lowest,
                       [](const CellRange& r, Cell cell) { return r.highest < cell; });
  return range != ranges_.end() && range->lowest <= highest;
}

bool TupleFilter::may_hold(std::span<const Cell> zone) const {
  return std::all_of(wanted_.begin(), wanted_.end(), [&](const Wanted& wanted) {
    const std::size_t at = std::size_t{wanted.column} * 2;
    return wanted.cells.meets(zone[at], zone[at + 1]);
  });
}

Status TupleFilter::pass(const TupleGroup& group, const GroupVisitor& visit) const {
  bool chooses_elements = false;
  for (const Wanted& wanted : wanted_) {
    const auto at = static_cast<std::size_t>(
        std::find(column_order_.begin(), column_order_.end(), wanted.column) -
        column_order_.begin());
    if (at + 1 == column_order_.size())
      chooses_elements = true;
    else if (!wanted.cells.contains(group.prefix[at]))
      return Status::ok();
  }
  if (!chooses_elements) return visit(group);
  std::vector<Cell> chosen;
  walk_set(group.set, [&](Cell cell) {
    for (const Wanted& wanted : wanted_)
      if (wanted.column == column_order_.back() && !wanted.cells.contains(cell)) return;
    chosen.push_back(cell);
  });
  if (chosen.empty()) return Status::ok();
  SetView set;
  set.values = chosen;
  set.count = chosen.size();
  return visit({.prefix = group.prefix, .set = set});
}

}  // namespace stratalog
