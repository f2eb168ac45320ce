// SPDX-License-Identifier: Apache-2.0
// Construction and lookup of pivot spaces. Pure; local.
#include "datalog/pivot/pivot_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stratalog {

Result<PivotSpace> PivotSpace::dense(Cell first_cell, std::uint32_t lanes) {
  constexpr std::uint64_t kCells = std::uint64_t{1} << 32;
  if (std::uint64_t{first_cell} + lanes > kCells)
    return Status::invalid_argument(
        fmt::format("{} pivots from cell {} on leave the range of cells", lanes, first_cell));
  PivotSpace space;
  space.first_cell_ = first_cell;
  space.lanes_ = lanes;
  return space;
}

Result<PivotSpace> PivotSpace::sparse(std::vector<Cell> dictionary) {
  for (std::size_t i = 1; i < dictionary.size(); ++i)
    if (dictionary[i - 1] >= dictionary[i])
      return Status::invalid_argument(
          fmt::format("the pivot dictionary does not ascend strictly at entry {}", i));
  PivotSpace space;
  space.lanes_ = static_cast<std::uint32_t>(dictionary.size());
  space.dictionary_ = std::move(dictionary);
  return space;
}

LaneId PivotSpace::lane_of(Cell cell) const {
  if (is_dense()) {
    const std::uint64_t lane = std::uint64_t{cell} - first_cell_;
    return cell >= first_cell_ && lane < lanes_ ? static_cast<LaneId>(lane) : lanes_;
  }
  const auto at = std::lower_bound(dictionary_.begin(), dictionary_.end(), cell);
  if (at == dictionary_.end() || *at != cell) return lanes_;
  return static_cast<LaneId>(at - dictionary_.begin());
}

}  // namespace stratalog
