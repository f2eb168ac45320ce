// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/bounded_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "datalog/evaluate/value_bits.h"

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

std::optional<std::uint64_t> place_of_value(ValueKind kind, std::uint64_t bits) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  if (kind == ValueKind::kUnsigned) return bits;
  if (kind != ValueKind::kFloat) return bits ^ kSign;
  const double value = as_float(bits);
  if (std::isnan(value)) return {};
  if (value == 0) return kSign;  // -0 as well
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

void PlaceInterval::keep(Comparison comparison, std::optional<std::uint64_t> other) {
  is_empty_ |= !other;
  if (!other) return;
  const bool is_strict = comparison == Comparison::kLess || comparison == Comparison::kGreater;
  if (comparison == Comparison::kLess || comparison == Comparison::kLessEqual) {
    is_empty_ |= is_strict && *other == 0;
    last_ = std::min(last_, is_strict ? *other - 1 : *other);
  } else {
    is_empty_ |= is_strict && *other == ~std::uint64_t{0};
    first_ = std::max(first_, is_strict ? *other + 1 : *other);
  }
}

void append_valued(std::span<const ValuedRow> rows, const PlaceInterval& interval,
                   std::vector<RowId>& found) {
  if (interval.is_empty()) return;
  auto row = std::ranges::lower_bound(rows, interval.first(), {}, &ValuedRow::place);
  for (; row != rows.end() && row->place <= interval.last(); ++row) found.push_back(row->row);
}

}  // namespace stratalog::datalog
