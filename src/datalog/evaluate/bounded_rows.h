// SPDX-License-Identifier: Apache-2.0
// Rows of an index whose cells at one place lie in some ranges, found by halving where rows ascend
// by the cells at that place; and those whose values lie between two bounds, where cells do not
// tell the order (floats, and numbers that are not small) or rows came late. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "datalog/evaluate/place_ranges.h"
#include "model/tuple_filter.h"
#include "relation/index.h"

namespace stratalog::datalog {

// Of `rows`, which agree in all places before `place` (place < prefix_width). `ranges` ascend and
// are disjoint.
void append_between(const Index& index, const FoundRows& rows, std::uint32_t place,
                    std::span<const CellRange> ranges, std::vector<RowId>& found);

// Of these, the first or the last one in each range that holds anything.
void append_extremes(const Index& index, const FoundRows& rows, std::uint32_t place,
                     std::span<const CellRange> ranges, bool is_first, std::vector<RowId>& found);

// A row and the place of its value.
struct ValuedRow {
  std::uint64_t place = 0;
  RowId row = 0;
};

// Rows that were found in some indices, named by where they lie.
class FoundSpans {
 public:
  struct Found {
    const Index* index = nullptr;
    RowId row = 0;
  };
  void clear();
  // Of `index`, from now on.
  void begin(const Index& index) { index_ = &index; }
  void add(RowId first, std::uint64_t count);
  void add(std::span<const ValuedRow> rows);  // borrowed
  // Leaves the first or the last row of each span that holds anything.
  void keep_extremes(bool is_first);
  std::uint64_t size() const { return size_; }
  Found at(std::uint64_t which) const;  // which < size()
  // Those of one index at a time, in the order of begin(): `rows` is scratch space.
  template <typename Visit>
  Status for_each_index(std::vector<RowId>& rows, const Visit& visit) const {
    return for_each_index(0, size_, rows, visit);
  }
  // Likewise, of those from `first` to before `end`.
  template <typename Visit>
  Status for_each_index(std::uint64_t first, std::uint64_t end, std::vector<RowId>& rows,
                        const Visit& visit) const {
    for (std::size_t s = 0; s < spans_.size() && begin_of(s) < end;) {
      const Index* const index = spans_[s].index;
      rows.clear();
      for (; s < spans_.size() && spans_[s].index == index; ++s) append(s, first, end, rows);
      if (!rows.empty()) STRATALOG_RETURN_IF_ERROR(visit(*index));
    }
    return {};
  }

 private:
  struct Span {
    const Index* index = nullptr;
    const ValuedRow* rows = nullptr;  // null: `first` and those behind it
    RowId first = 0;
    std::uint64_t end = 0;  // of its rows, counted through all spans
  };
  std::uint64_t begin_of(std::size_t span) const { return span == 0 ? 0 : spans_[span - 1].end; }
  static RowId row_of(const Span& span, std::uint64_t offset) {
    return span.rows == nullptr ? static_cast<RowId>(span.first + offset) : span.rows[offset].row;
  }
  // Those of the span that are from `first` to before `end` of all.
  void append(std::size_t span, std::uint64_t first, std::uint64_t end,
              std::vector<RowId>& rows) const;

  const Index* index_ = nullptr;
  std::vector<Span> spans_;
  std::uint64_t size_ = 0;
};

// Of all rows that were made in order, by their first cells.
void add_between(const Index& index, std::span<const CellRange> ranges, FoundSpans& found);

// Rows by the places of their values, as an index grows: sorted runs, each of up to eight times as
// many rows as the next one has, so that every row is sorted anew but a few times. How rows are cut
// into runs follows from their number alone: whoever looks at the same index finds rows in the same
// order, whenever it has looked before.
class ValuedRuns {
 public:
  // The index now has so many rows. `append(begin, end, rows)` appends the valued ones of those
  // from `begin` to before `end`.
  template <typename Append>
  void grow(RowId rows, const Append& append) {
    const std::vector<RowId> ends = ends_of_runs(rows);
    std::size_t same = 0;
    while (same < runs_.size() && same < ends.size() && runs_[same].end == ends[same]) ++same;
    const RowId known = runs_.empty() ? 0 : runs_.back().end;
    std::vector<ValuedRow> loose;  // of runs that go into a larger one
    for (std::size_t i = same; i < runs_.size(); ++i)
      loose.insert(loose.end(), runs_[i].rows.begin(), runs_[i].rows.end());
    runs_.resize(same);
    for (RowId begin = known; runs_.size() < ends.size(); begin = runs_.back().end) {
      const RowId end = ends[runs_.size()];
      append(begin, end, loose);
      sort_by_place(loose);
      runs_.push_back({.end = end, .rows = std::exchange(loose, {})});
    }
  }
  void add_between(const PlaceRanges& places, FoundSpans& found) const;

 private:
  struct Run {
    RowId end = 0;  // of the rows that it looked at
    std::vector<ValuedRow> rows;
  };
  static std::vector<RowId> ends_of_runs(RowId rows);
  static void sort_by_place(std::vector<ValuedRow>& rows);

  std::vector<Run> runs_;
};

}  // namespace stratalog::datalog
