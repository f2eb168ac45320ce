// SPDX-License-Identifier: Apache-2.0
// Bodies of aggregates of which only the least or the greatest value counts, as in
// `b = min t : { event(u, t), t > a }`: of all that lies between the bounds of one column, one row
// or one element is bound. See pipeline.h.
#include <algorithm>

#include "datalog/evaluate/bounded_rows.h"
#include "datalog/evaluate/number_ranges.h"
#include "datalog/evaluate/pipeline_stage.h"

namespace stratalog::datalog {

namespace {

bool is_free(const ColumnUse& use) {
  return use.role == ColumnRole::kBind || use.role == ColumnRole::kIgnore;
}

// What is computed of the column may leave ranges that hold more than what passes.
bool is_as_it_is(const SetComparison& compared) { return compared.steps.empty(); }

}  // namespace

// The atom that the body ends with, where nothing comes behind it but comparisons, of which there
// are some, and its tuples lie in indices.
Pipeline::Stage* Pipeline::last_atom() const {
  const std::size_t filters = filters_at_end();
  if (filters == 0 || filters == stages_.size()) return nullptr;
  Stage& stage = *stages_[stages_.size() - filters - 1];
  const Step& step = *stage.step;
  const bool is_atom = (step.kind == StepKind::kScan || step.kind == StepKind::kSearch) &&
                       step.prefix_length < step.columns.size();
  return is_atom && stage.source.index != nullptr && stage.source.swept == nullptr && !stage.guard
             ? &stage
             : nullptr;
}

// Whether all those comparisons bound the column behind the prefix, which is not the last one.
bool Pipeline::is_bounded_by_rows(const Stage& stage) const {
  const std::span<const ColumnUse> found =
      std::span(stage.step->columns).subspan(stage.step->prefix_length);
  return found.size() > 1 && std::ranges::all_of(found, is_free) &&
         stage.row_filters.size() == filters_at_end() && stage.row_tests.empty() &&
         std::ranges::all_of(stage.row_filters, is_as_it_is);
}

// Whether they bound the last column.
bool Pipeline::is_bounded_by_cells(const Stage& stage) const {
  return stage.last_filters.size() == filters_at_end() &&
         std::ranges::all_of(stage.last_filters, [](const KnownComparison& known) {
           return is_as_it_is(known.compared);
         });
}

std::size_t Pipeline::filters_at_end() const {
  const auto is_other = [](const Step& step) { return step.kind != StepKind::kFilter; };
  const auto steps = definition_.steps;
  return static_cast<std::size_t>(std::find_if(steps.rbegin(), steps.rend(), is_other) -
                                  steps.rbegin());
}

void Pipeline::prepare_extreme() {
  if (!definition_.extreme) return;
  Stage* const last = last_atom();
  if (last == nullptr) return;
  const std::span<const ColumnUse> columns = last->step->columns;
  const auto is_extreme = [&](const ColumnUse& use) {
    return use.role == ColumnRole::kBind && use.variable == definition_.extreme->variable;
  };
  last->takes_extreme_row =
      is_extreme(columns[last->step->prefix_length]) && is_bounded_by_rows(*last);
  last->takes_extreme_cell = is_extreme(columns.back()) && is_bounded_by_cells(*last);
}

std::optional<Cell> Pipeline::only_extreme(std::size_t s, const SetView& cells) const {
  const auto& extreme = definition_.extreme;
  const Stage& stage = *stages_[s];
  if (!extreme || s + 1 != stages_.size() || !stage.last_filters.empty() ||
      stage.step->columns.back().variable != extreme->variable)
    return {};
  const Cell first = first_of(cells);
  const Cell last = last_of(cells);
  // Numbers below zero stand above the others, large ones anywhere above those.
  const bool ascends = !is_wide_cell(last) && (first >= kNegativeBase || last < kNegativeBase);
  if (!ascends) return {};
  return extreme->is_least ? first : last;
}

// Of cells that ascend with their values.
Status Pipeline::bind_extreme(std::size_t s, const Batch& in, std::uint32_t in_row,
                              std::uint32_t first, const SetView& set, const CellRange& range) {
  const std::optional<Cell> cell =
      definition_.extreme->is_least ? first_within(set, range) : last_within(set, range);
  if (!cell) return {};
  return bind_each(s, in, in_row, first,
                   {.kind = SetKind::kArray,
                    .base = 0,
                    .values = std::span(&*cell, 1),
                    .offsets = {},
                    .words = {},
                    .count = 1});
}

}  // namespace stratalog::datalog
