// SPDX-License-Identifier: Apache-2.0
// Bounds that comparisons set to the column behind the prefix of a scan or search: rows are read in
// the order of that column, between the bounds. See pipeline.h.
#include <algorithm>
#include <array>
#include <ranges>
#include <span>
#include <utility>

#include "datalog/evaluate/bounded_rows.h"
#include "datalog/evaluate/number_ranges.h"
#include "datalog/evaluate/pipeline_stage.h"
#include "datalog/rule_variables.h"

namespace stratalog::datalog {
namespace {

// Of fewer rows all are visited just as quickly.
constexpr std::size_t kWorthBounds = 8;
constexpr std::size_t kWorthTests = 8;
// Of what lies between bounds, one of so many parts is taken for close to them.
constexpr std::uint64_t kNearParts = 8;

}  // namespace

// If the filter compares that column with what is known before the step.
void Pipeline::note_row_filter(Stage& stage, const Literal& literal) {
  const auto& columns = stage.step->columns;
  const ColumnUse& next = columns[stage.step->prefix_length];
  if (next.role != ColumnRole::kBind || stage.source.index == nullptr) return;
  // A carried variable is a whole set.
  if (definition_.carries && mentions(literal, definition_.carried)) return;
  auto compared = bound_of_numbers(literal, next.variable);
  if (!compared) return;
  const bool is_known = std::ranges::none_of(columns, [&](const ColumnUse& use) {
    return use.role == ColumnRole::kBind && use.variable != next.variable &&
           mentions(literal, use.variable);
  });
  if (is_known) stage.row_filters.push_back(*std::move(compared));
}

void Pipeline::note_row_test(Stage& stage, const Literal& literal) {
  const Step& step = *stage.step;
  if (step.kind == StepKind::kScanDelta || stage.source.index == nullptr ||
      (definition_.carries && mentions(literal, definition_.carried)))
    return;
  std::optional<std::uint32_t> tested;
  for (std::uint32_t i = 0; i < step.columns.size(); ++i) {
    if (step.columns[i].role != ColumnRole::kBind || !mentions(literal, step.columns[i].variable))
      continue;
    if (tested) return;  // compares two columns of the row
    tested = i;
  }
  const bool is_bounded = step.bounds_next && tested == step.prefix_length;
  if (!tested || is_bounded) return;
  if (auto compared = bound_of_numbers(literal, step.columns[*tested].variable))
    stage.row_tests.push_back({.place = *tested, .compared = *std::move(compared)});
}

bool Pipeline::lies_within(Cell cell, ValueKind kind, const PlaceRanges& places) const {
  const auto place = place_of_value(kind, evaluator_.bits_of(cell));
  return place && std::ranges::any_of(places.ranges(), [&](const PlaceRange& range) {
           return range.first <= *place && *place <= range.last;
         });
}

// For one binding.
void Pipeline::find_tested_ranges(Stage& stage, const Batch& in, std::uint32_t in_row) {
  for (Stage::RowTest& test : stage.row_tests) {
    const SetComparison& compared = test.compared;
    test.places.reset();
    keep_places(compared, evaluator_.bits(*compared.other, in, in_row), in, in_row, test.places);
    test.ranges.clear();
    if (compared.kind != ValueKind::kFloat) test.places.append_cells(compared.kind, test.ranges);
  }
}

// Of the rows in the stage's list. Larger sets of last cells are compared when they are bound.
void Pipeline::test_rows(Stage& stage, const Index& index) const {
  if (stage.rows.size() < kWorthTests) return;
  for (const Stage::RowTest& test : stage.row_tests) {
    // What the loop needs most stays in registers.
    const auto is_small = [ranges = std::span<const CellRange>(test.ranges)](Cell cell) {
      return std::ranges::any_of(ranges, [cell](const CellRange& range) {
        return range.lowest <= cell && cell <= range.highest;
      });
    };
    const Cell valued = test.compared.kind == ValueKind::kFloat ? 0 : kWideBase;
    const auto passes = [this, is_small, valued, &test](Cell cell) {
      return is_small(cell) ||
             (cell >= valued && lies_within(cell, test.compared.kind, test.places));
    };
    const std::uint32_t place = test.place;
    if (place + 1 < stage.step->columns.size()) {
      std::erase_if(stage.rows, [&](RowId row) { return !passes(index.prefix(row)[place]); });
      continue;
    }
    std::erase_if(stage.rows, [&](RowId row) {
      const IntSet& cells = index.total(row);
      return cells.form() == IntSet::Form::kInline && std::ranges::none_of(cells.array(), passes);
    });
  }
}

// Of the values that a filter looks at, those that pass: `other` are the bits that they are
// compared with, the rest is computed for one row.
void Pipeline::keep_places(const SetComparison& filter, std::uint64_t other, const Batch& in,
                           std::uint32_t in_row, PlaceRanges& places) {
  const auto place = place_of_value(filter.kind, other);
  if (filter.steps.empty()) return places.keep(filter.comparison, place);
  std::vector<PlaceRange> ranges;
  if (const auto range = places_where(filter.comparison, *place)) ranges.push_back(*range);
  for (const ElementStep& step : filter.steps | std::views::reverse)
    ranges = undo_step(step.kind, filter.kind,
                       step.by == nullptr ? 0 : evaluator_.bits(*step.by, in, in_row), ranges);
  places.keep(ranges);
}

// Where the filters let the column's values lie, and the cells of those that are small.
void Pipeline::find_row_ranges(Stage& stage, const Batch& in, std::uint32_t in_row) {
  stage.row_places.reset();
  for (const SetComparison& filter : stage.row_filters)
    keep_places(filter, evaluator_.bits(*filter.other, in, in_row), in, in_row, stage.row_places);
  const ValueKind kind = stage.row_filters.front().kind;
  stage.row_ranges.clear();
  if (kind != ValueKind::kFloat) stage.row_places.append_cells(kind, stage.row_ranges);
}

// Of each index that a scan reads, the rows that are found by value: of numbers those that are not
// small, and those that were not made in order. Rows that this very rule adds meanwhile hold
// nothing before the round ends.
void Pipeline::order_rows(Stage& stage) const {
  if (std::exchange(stage.are_rows_ordered, true)) return;
  const ValueKind kind = stage.row_filters.front().kind;
  const auto order = [&](std::size_t i, const Index& index) {
    if (i == stage.valued_rows.size()) stage.valued_rows.emplace_back();
    Stage::OrderedRows& ordered = stage.valued_rows[i];
    // The index has got its first rows.
    if (std::exchange(ordered.made_in_order, index.ordered_rows()) != index.ordered_rows())
      ordered.runs = {};
    ordered.runs.grow(index.row_count(), [&](RowId row, RowId end, std::vector<ValuedRow>& rows) {
      for (; row < end; ++row) {
        const Cell cell = index.prefix(row)[0];
        if (kind != ValueKind::kFloat && !is_wide_cell(cell) && row < index.ordered_rows())
          continue;
        if (const auto place = place_of_value(kind, evaluator_.bits_of(cell)))
          rows.push_back({.place = *place, .row = row});
      }
    });
  };
  if (stage.source.joint.empty()) return order(0, *stage.source.index);
  for (std::size_t i = 0; i < stage.source.joint.size(); ++i) order(i, *stage.source.joint[i]);
}

// The rows for one binding.
void Pipeline::find_between(Stage& stage, const Batch& in, std::uint32_t in_row) {
  const StepSource& source = stage.source;
  order_rows(stage);
  find_row_ranges(stage, in, in_row);
  stage.between.clear();
  for (std::size_t i = 0; i < stage.valued_rows.size(); ++i) {
    const Index& index = source.joint.empty() ? *source.index : *source.joint[i];
    stage.between.begin(index);
    add_between(index, stage.row_ranges, stage.between);
    stage.valued_rows[i].runs.add_between(stage.row_places, stage.between);
  }
  if (stage.takes_extreme_row) stage.between.keep_extremes(definition_.extreme->is_least);
}

// A copy, because the rule may add rows to this very index while it walks them.
void Pipeline::find_under(Stage& stage, const Batch& in, std::uint32_t in_row, const Index& index,
                          const Cell* key) {
  const std::uint32_t length = stage.step->prefix_length;
  const FoundRows under = index.rows_under(length, key);
  stage.rows.clear();
  if (stage.row_filters.empty() || under.size() < kWorthBounds) {
    for (const RowId row : under) stage.rows.push_back(row);
  } else {
    find_row_ranges(stage, in, in_row);
    list_between(stage, index, under);
  }
  if (stage.row_tests.empty() || stage.rows.size() < kWorthTests) return;
  find_tested_ranges(stage, in, in_row);
  test_rows(stage, index);
}

// Of the rows under a key those between the bounds; or, if only one value counts, those that may
// have it.
void Pipeline::list_between(Stage& stage, const Index& index, const FoundRows& under) const {
  const std::uint32_t length = stage.step->prefix_length;
  stage.rows.clear();
  if (stage.takes_extreme_row)
    append_extremes(index, under, length, stage.row_ranges, definition_.extreme->is_least,
                    stage.rows);
  else
    append_between(index, under, length, stage.row_ranges, stage.rows);
  append_valued(stage, index, under);
}

// Of the rows whose cells do not tell the order, those whose values lie between the bounds; or, if
// only one value counts, the one that has it.
void Pipeline::append_valued(Stage& stage, const Index& index, const FoundRows& under) const {
  const std::uint32_t length = stage.step->prefix_length;
  const ValueKind kind = stage.row_filters.front().kind;
  const std::array<CellRange, 1> valued{
      {{.lowest = kind == ValueKind::kFloat ? 0 : kWideBase, .highest = ~Cell{0}}}};
  const auto listed = static_cast<std::ptrdiff_t>(stage.rows.size());
  append_between(index, under, length, valued, stage.rows);
  const auto end = std::remove_if(stage.rows.begin() + listed, stage.rows.end(), [&](RowId row) {
    return !lies_within(index.prefix(row)[length], kind, stage.row_places) ||
           (stage.takes_extreme_row && index.total(row).empty());
  });
  stage.rows.erase(end, stage.rows.end());
  if (!stage.takes_extreme_row || stage.rows.begin() + listed == stage.rows.end()) return;
  const auto place_of = [&](RowId row) {
    return *place_of_value(kind, evaluator_.bits_of(index.prefix(row)[length]));
  };
  const std::span<const RowId> found =
      std::span(stage.rows).subspan(static_cast<std::size_t>(listed));
  const RowId best = definition_.extreme->is_least ? *std::ranges::min_element(found, {}, place_of)
                                                   : *std::ranges::max_element(found, {}, place_of);
  stage.rows.resize(static_cast<std::size_t>(listed));
  stage.rows.push_back(best);
}

Status Pipeline::scan_between(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    find_between(stage, in, r);
    if (stage.between.size() >= kWorthTests) find_tested_ranges(stage, in, r);
    STRATALOG_RETURN_IF_ERROR(
        stops_early(s, stage.between.size(), in, r)
            ? visit_between_until_found(s, in, r)
            : stage.between.for_each_index(stage.rows, [&](const Index& index) {
                test_rows(stage, index);
                return visit_found(s, in, r, r + 1, index);
              }));
  }
  return evaluator_.status();
}

// What lies close to a bound is often what a rule looks for (intervals around a point, the next
// larger value): parts are counted from there.
Status Pipeline::visit_between_until_found(std::size_t s, const Batch& in, std::uint32_t in_row) {
  Stage& stage = *stages_[s];
  const std::uint64_t rows = stage.between.size();
  const std::uint64_t parts = (rows + kRowsOfAPart - 1) / kRowsOfAPart;
  const auto ranges = stage.row_places.ranges();
  const bool only_upper = !ranges.empty() && ranges.front().first == 0;
  const auto visit_part = [&](std::uint64_t part) {
    const std::uint64_t from = part * kRowsOfAPart;
    const std::uint64_t to = std::min(rows, from + kRowsOfAPart);
    return stage.between.for_each_index(
        only_upper ? rows - to : from, only_upper ? rows - from : to, stage.rows,
        [&](const Index& index) -> Status {
          test_rows(stage, index);
          for (const RowId row : stage.rows)
            STRATALOG_RETURN_IF_ERROR(
                visit_row(s, in, in_row, 0, index.prefix(row), index.total(row)));
          return {};
        });
  };
  return visit_until_found(s, parts, visit_part, parts / kNearParts);
}

Pipeline::Found Pipeline::count_between(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  Found found;
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    find_between(stage, in, r);
    for (std::uint64_t at = 0; at < stage.between.size(); ++at) {
      const auto [index, row] = stage.between.at(at);
      found.add(index->total(row));
    }
  }
  return found;
}

}  // namespace stratalog::datalog
