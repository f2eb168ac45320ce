// SPDX-License-Identifier: Apache-2.0
// Construction and lookup of pivot spaces. Pure; local.
#include "datalog/pivot/pivot_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace stratalog {
namespace {

// A table of lanes by cell may have so many entries for each pivot.
constexpr std::uint64_t kTableEntries = 4;

}  // namespace

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

Result<PivotSpace> PivotSpace::ordered(std::vector<Cell> cells, std::uint32_t lanes_in_block) {
  for (std::size_t at = 0; at < cells.size(); at += lanes_in_block)
    std::sort(cells.begin() + static_cast<std::ptrdiff_t>(at),
              cells.begin() + static_cast<std::ptrdiff_t>(
                                  std::min<std::size_t>(at + lanes_in_block, cells.size())));
  if (std::is_sorted(cells.begin(), cells.end(), std::less_equal<>()))
    return sparse(std::move(cells));
  PivotSpace space;
  space.lanes_ = static_cast<std::uint32_t>(cells.size());
  const auto [lowest, highest] = std::minmax_element(cells.begin(), cells.end());
  space.first_cell_ = *lowest;
  const std::uint64_t range = std::uint64_t{*highest} - *lowest + 1;
  const auto twice = [](Cell cell) {
    return Status::invalid_argument(fmt::format("the pivot dictionary has cell {} twice", cell));
  };
  if (range <= kTableEntries * cells.size()) {
    space.lane_at_.assign(range, space.lanes_);
    for (LaneId lane = 0; lane < space.lanes_; ++lane)
      if (std::exchange(space.lane_at_[cells[lane] - space.first_cell_], lane) != space.lanes_)
        return twice(cells[lane]);
  } else {
    space.by_cell_.resize(cells.size());
    std::iota(space.by_cell_.begin(), space.by_cell_.end(), LaneId{0});
    std::ranges::sort(space.by_cell_, {}, [&](LaneId lane) { return cells[lane]; });
    for (std::size_t i = 1; i < cells.size(); ++i)
      if (cells[space.by_cell_[i]] == cells[space.by_cell_[i - 1]])
        return twice(cells[space.by_cell_[i]]);
  }
  space.dictionary_ = std::move(cells);
  return space;
}

LaneId PivotSpace::lane_of(Cell cell) const {
  if (is_dense()) {
    const std::uint64_t lane = std::uint64_t{cell} - first_cell_;
    return cell >= first_cell_ && lane < lanes_ ? static_cast<LaneId>(lane) : lanes_;
  }
  if (!lane_at_.empty()) {
    const std::uint64_t at = std::uint64_t{cell} - first_cell_;
    return cell >= first_cell_ && at < lane_at_.size() ? lane_at_[at] : lanes_;
  }
  if (!by_cell_.empty()) {
    const auto at = std::ranges::lower_bound(by_cell_, cell, {},
                                             [&](LaneId lane) { return dictionary_[lane]; });
    return at == by_cell_.end() || dictionary_[*at] != cell ? lanes_ : *at;
  }
  const auto at = std::lower_bound(dictionary_.begin(), dictionary_.end(), cell);
  if (at == dictionary_.end() || *at != cell) return lanes_;
  return static_cast<LaneId>(at - dictionary_.begin());
}

}  // namespace stratalog
