// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/bounded_rows.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace stratalog::datalog {
namespace {

// Each run of rows is so many times as long as the next one, at most.
constexpr std::uint64_t kRunGrowth = 8;

// `visit(from, to)` the positions in each range, of rows that ascend by their cells at `place`.
template <typename Visit>
void for_each_range(const Index& index, const FoundRows& rows, std::uint32_t place,
                    std::span<const CellRange> ranges, const Visit& visit) {
  std::size_t at = 0;
  const auto first_where = [&](const auto& is_there) {
    std::size_t rest = rows.size() - at;
    while (rest > 0) {
      const std::size_t half = rest / 2;
      const bool is_before = !is_there(index.prefix(rows[at + half])[place]);
      at += is_before ? half + 1 : 0;
      rest = is_before ? rest - half - 1 : half;
    }
    return at;
  };
  for (const CellRange& range : ranges) {
    const std::size_t from = first_where([&](Cell cell) { return cell >= range.lowest; });
    const std::size_t to = first_where([&](Cell cell) { return cell > range.highest; });
    if (from < to) visit(from, to);
  }
}

bool lies_within(Cell cell, std::span<const CellRange> ranges) {
  return std::ranges::any_of(ranges, [&](const CellRange& range) {
    return range.lowest <= cell && cell <= range.highest;
  });
}

// Whether all rows were made in order, one after the other.
bool ascend(const Index& index, const FoundRows& rows) {
  const RowId last = rows[rows.size() - 1];
  return last < index.ordered_rows() && last - rows[0] + 1 == rows.size();
}

// Of positions from `from` to before `to`: the first or the last whose row holds anything.
template <typename RowAt>
std::optional<RowId> extreme_row(const Index& index, std::uint64_t from, std::uint64_t to,
                                 bool is_first, const RowAt& row_at) {
  for (std::uint64_t i = 0; i < to - from; ++i) {
    const RowId row = row_at(is_first ? from + i : to - 1 - i);
    if (!index.total(row).empty()) return row;
  }
  return std::nullopt;
}

}  // namespace

void append_between(const Index& index, const FoundRows& rows, std::uint32_t place,
                    std::span<const CellRange> ranges, std::vector<RowId>& found) {
  if (rows.empty()) return;
  if (ascend(index, rows))
    return for_each_range(index, rows, place, ranges, [&](std::size_t from, std::size_t to) {
      for (; from < to; ++from) found.push_back(rows[from]);
    });
  for (const RowId row : rows)
    if (lies_within(index.prefix(row)[place], ranges)) found.push_back(row);
}

void append_extremes(const Index& index, const FoundRows& rows, std::uint32_t place,
                     std::span<const CellRange> ranges, bool is_first, std::vector<RowId>& found) {
  if (rows.empty()) return;
  if (ascend(index, rows))
    return for_each_range(index, rows, place, ranges, [&](std::size_t from, std::size_t to) {
      const auto row =
          extreme_row(index, from, to, is_first, [&](std::uint64_t at) { return rows[at]; });
      if (row) found.push_back(*row);
    });
  for (const CellRange& range : ranges) {
    std::optional<RowId> best;
    for (const RowId row : rows) {
      const Cell cell = index.prefix(row)[place];
      if (!lies_within(cell, {&range, 1}) || index.total(row).empty()) continue;
      if (!best || (cell < index.prefix(*best)[place]) == is_first) best = row;
    }
    if (best) found.push_back(*best);
  }
}

void add_between(const Index& index, std::span<const CellRange> ranges, FoundSpans& found) {
  const FoundRows rows(0, index.ordered_rows());
  for_each_range(index, rows, 0, ranges, [&](std::size_t from, std::size_t to) {
    found.add(static_cast<RowId>(from), to - from);
  });
}

void FoundSpans::clear() {
  spans_.clear();
  size_ = 0;
}

void FoundSpans::add(RowId first, std::uint64_t count) {
  size_ += count;
  spans_.push_back({.index = index_, .rows = nullptr, .first = first, .end = size_});
}

void FoundSpans::add(std::span<const ValuedRow> rows) {
  size_ += rows.size();
  spans_.push_back({.index = index_, .rows = rows.data(), .first = 0, .end = size_});
}

void FoundSpans::keep_extremes(bool is_first) {
  const std::vector<Span> all = std::exchange(spans_, {});
  std::uint64_t begin = 0;
  size_ = 0;
  for (const Span& span : all) {
    const auto row = extreme_row(*span.index, 0, span.end - begin, is_first,
                                 [&](std::uint64_t at) { return row_of(span, at); });
    begin = span.end;
    if (!row) continue;
    index_ = span.index;
    add(*row, 1);
  }
}

FoundSpans::Found FoundSpans::at(std::uint64_t which) const {
  std::size_t s = 0;
  while (spans_[s].end <= which) ++s;
  return {.index = spans_[s].index, .row = row_of(spans_[s], which - begin_of(s))};
}

void FoundSpans::append(std::size_t span, std::uint64_t first, std::uint64_t end,
                        std::vector<RowId>& rows) const {
  const std::uint64_t begin = begin_of(span);
  const std::uint64_t from = std::max(first, begin);
  const std::uint64_t to = std::min(end, spans_[span].end);
  if (from >= to) return;
  const Span of = spans_[span];
  const std::size_t listed = rows.size();
  rows.resize(listed + (to - from));
  for (std::uint64_t i = from; i < to; ++i) rows[listed + (i - from)] = row_of(of, i - begin);
}

// The digits of the number, each of them a run.
std::vector<RowId> ValuedRuns::ends_of_runs(RowId rows) {
  std::uint64_t step = 1;
  while (step * kRunGrowth <= rows) step *= kRunGrowth;
  std::vector<RowId> ends;
  for (std::uint64_t end = 0; end < rows; step /= kRunGrowth) {
    const std::uint64_t next = rows / step * step;
    if (next > end) ends.push_back(static_cast<RowId>(next));
    end = next;
  }
  return ends;
}

void ValuedRuns::sort_by_place(std::vector<ValuedRow>& rows) {
  std::ranges::sort(rows, {}, [](const ValuedRow& row) { return std::pair(row.place, row.row); });
}

void ValuedRuns::add_between(const PlaceRanges& places, FoundSpans& found) const {
  for (const Run& run : runs_)
    for (const PlaceRange& range : places.ranges()) {
      const auto from = std::ranges::lower_bound(run.rows, range.first, {}, &ValuedRow::place);
      const auto to =
          std::ranges::upper_bound(from, run.rows.end(), range.last, {}, &ValuedRow::place);
      if (from < to) found.add({from, to});
    }
}

}  // namespace stratalog::datalog
