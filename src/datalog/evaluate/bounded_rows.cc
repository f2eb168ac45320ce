// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/bounded_rows.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace stratalog::datalog {
namespace {

// `row_at(i)` of `count` rows in order.
template <typename RowAt>
void append_by_halving(const Index& index, std::size_t count, const RowAt& row_at,
                       std::uint32_t place, std::span<const CellRange> ranges,
                       std::vector<RowId>& found) {
  // From `first` on, the first row whose cell is `cell` or more.
  const auto first_from = [&](std::size_t first, Cell cell) {
    std::size_t rest = count - first;
    while (rest > 0) {
      const std::size_t half = rest / 2;
      const bool is_before = index.prefix(row_at(first + half))[place] < cell;
      first += is_before ? half + 1 : 0;
      rest = is_before ? rest - half - 1 : half;
    }
    return first;
  };
  std::size_t at = 0;
  for (const CellRange& range : ranges) {
    for (at = first_from(at, range.lowest);
         at < count && index.prefix(row_at(at))[place] <= range.highest; ++at)
      found.push_back(row_at(at));
  }
}

bool lies_within(Cell cell, std::span<const CellRange> ranges) {
  return std::ranges::any_of(ranges, [&](const CellRange& range) {
    return range.lowest <= cell && cell <= range.highest;
  });
}

}  // namespace

void append_between(const Index& index, const FoundRows& rows, std::uint32_t place,
                    std::span<const CellRange> ranges, std::vector<RowId>& found) {
  if (rows.empty()) return;
  const RowId last = rows[rows.size() - 1];
  if (last < index.ordered_rows() && last - rows[0] + 1 == rows.size())
    return append_by_halving(
        index, rows.size(), [&](std::size_t i) { return rows[i]; }, place, ranges, found);
  for (const RowId row : rows)
    if (lies_within(index.prefix(row)[place], ranges)) found.push_back(row);
}

void append_between(const Index& index, std::span<const RowId> rows, std::uint32_t place,
                    std::span<const CellRange> ranges, std::vector<RowId>& found) {
  append_by_halving(
      index, rows.size(), [&](std::size_t i) { return rows[i]; }, place, ranges, found);
}

std::vector<RowId> late_rows_in_order(const Index& index) {
  std::vector<RowId> rows(index.row_count() - index.ordered_rows());
  std::iota(rows.begin(), rows.end(), index.ordered_rows());
  std::ranges::sort(rows, [&](RowId a, RowId b) {
    return std::ranges::lexicographical_compare(index.prefix(a), index.prefix(b));
  });
  return rows;
}

}  // namespace stratalog::datalog
