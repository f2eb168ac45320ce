// SPDX-License-Identifier: Apache-2.0
// Bounds that comparisons set to the column behind the prefix of a scan or search: rows are read in
// the order of that column, between the bounds. See pipeline.h.
#include <algorithm>

#include "datalog/evaluate/bounded_rows.h"
#include "datalog/evaluate/number_ranges.h"
#include "datalog/evaluate/pipeline_stage.h"
#include "datalog/rule_variables.h"

namespace stratalog::datalog {
namespace {

// Of fewer rows all are visited just as quickly.
constexpr std::size_t kWorthBounds = 8;

}  // namespace

// If the filter compares that column with what is known before the step.
void Pipeline::note_row_filter(Stage& stage, const Literal& literal) {
  const auto& columns = stage.step->columns;
  const ColumnUse& next = columns[stage.step->prefix_length];
  if (next.role != ColumnRole::kBind || stage.source.index == nullptr) return;
  // A carried variable is a whole set.
  if (definition_.carries && mentions(literal, definition_.carried)) return;
  const auto compared = bound_of_numbers(literal, next.variable);
  if (!compared || (compared->kind == ValueKind::kFloat && stage.step->prefix_length > 0)) return;
  const bool is_known = std::ranges::none_of(columns, [&](const ColumnUse& use) {
    return use.role == ColumnRole::kBind && mentions(*compared->other, use.variable);
  });
  if (is_known) stage.row_filters.push_back(*compared);
}

// Where the filters let the column's cells lie if those tell the order, and its values if not.
void Pipeline::find_row_ranges(Stage& stage, const Batch& in, std::uint32_t in_row) {
  const ValueKind kind = stage.row_filters.front().kind;
  NumberInterval interval(kind == ValueKind::kFloat ? ValueKind::kNumber : kind);
  stage.row_places = {};
  for (const SetComparison& filter : stage.row_filters) {
    const std::uint64_t bits = evaluator_.bits(*filter.other, in, in_row);
    stage.row_places.keep(filter.comparison, place_of_value(kind, bits));
    if (kind != ValueKind::kFloat && is_narrow(bits))
      interval.keep(filter.comparison, narrow_cell(bits));
  }
  stage.row_ranges.clear();
  if (kind != ValueKind::kFloat) stage.row_ranges = interval.cells();
}

// Those of an index that are found by value.
std::vector<ValuedRow> Pipeline::value_rows(const Index& index, ValueKind kind) const {
  std::vector<ValuedRow> rows;
  for (RowId row = 0; row < index.row_count(); ++row) {
    const Cell cell = index.prefix(row)[0];
    if (kind != ValueKind::kFloat && !is_wide_cell(cell)) continue;
    if (const auto place = place_of_value(kind, evaluator_.bits_of(cell)))
      rows.push_back({.place = *place, .row = row});
  }
  std::ranges::stable_sort(rows, {}, &ValuedRow::place);
  return rows;
}

void Pipeline::order_rows(Stage& stage) const {
  if (!stage.late_rows.empty()) return;
  const auto add = [&](const Index& index) {
    stage.late_rows.push_back(late_rows_in_order(index));
    stage.valued_rows.push_back(value_rows(index, stage.row_filters.front().kind));
  };
  if (stage.source.joint.empty()) return add(*stage.source.index);
  for (const Index* index : stage.source.joint) add(*index);
}

// Of a finished relation: the rows for one binding, those of each index by themselves.
template <typename Visit>
Status Pipeline::for_each_between(Stage& stage, const Batch& in, std::uint32_t in_row,
                                  const Visit& visit) {
  const StepSource& source = stage.source;
  order_rows(stage);
  find_row_ranges(stage, in, in_row);
  for (std::size_t i = 0; i < stage.late_rows.size(); ++i) {
    const Index& index = source.joint.empty() ? *source.index : *source.joint[i];
    stage.rows.clear();
    append_between(index, FoundRows(0, index.ordered_rows()), 0, stage.row_ranges, stage.rows);
    append_between(index, stage.late_rows[i], 0, stage.row_ranges, stage.rows);
    append_valued(stage.valued_rows[i], stage.row_places, stage.rows);
    STRATALOG_RETURN_IF_ERROR(visit(index));
  }
  return {};
}

// A copy, because the rule may add rows to this very index while it walks them.
void Pipeline::find_under(Stage& stage, const Batch& in, std::uint32_t in_row, const Index& index,
                          const Cell* key) {
  const std::uint32_t length = stage.step->prefix_length;
  const FoundRows under = index.rows_under(length, key);
  stage.rows.clear();
  if (stage.row_filters.empty() || under.size() < kWorthBounds) {
    for (const RowId row : under) stage.rows.push_back(row);
    return;
  }
  find_row_ranges(stage, in, in_row);
  // Those whose cells do not tell the order are compared behind this step.
  stage.row_ranges.push_back({.lowest = kWideBase, .highest = ~Cell{0}});
  append_between(index, under, length, stage.row_ranges, stage.rows);
}

Status Pipeline::scan_between(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  for (std::uint32_t r = 0; r < in.rows; ++r)
    STRATALOG_RETURN_IF_ERROR(for_each_between(
        stage, in, r, [&](const Index& index) { return visit_found(s, in, r, r + 1, index); }));
  return evaluator_.status();
}

Pipeline::Found Pipeline::count_between(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  Found found;
  for (std::uint32_t r = 0; r < in.rows; ++r)
    (void)for_each_between(stage, in, r, [&](const Index& index) -> Status {
      for (const RowId row : stage.rows) found.add(index.total(row));
      return {};
    });
  return found;
}

}  // namespace stratalog::datalog
