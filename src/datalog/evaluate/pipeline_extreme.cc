// SPDX-License-Identifier: Apache-2.0
// Bodies of aggregates of which only the least or the greatest value counts, as in
// `b = min t : { event(u, t), t > a }`: of all that lies between the bounds of one column, one row
// or one element is bound. See pipeline.h.
#include <algorithm>

#include "datalog/evaluate/bounded_rows.h"
#include "datalog/evaluate/number_ranges.h"
#include "datalog/evaluate/pipeline_stage.h"

namespace stratalog::datalog {

// Where nothing but the bounds themselves is asked of what the last atom finds.
void Pipeline::prepare_extreme() {
  if (!definition_.extreme) return;
  std::size_t s = stages_.size();
  while (s > 0 && definition_.steps[s - 1].kind == StepKind::kFilter) --s;
  if (s == 0 || s == stages_.size()) return;
  Stage& stage = *stages_[s - 1];
  const Step& step = *stage.step;
  if ((step.kind != StepKind::kScan && step.kind != StepKind::kSearch) || step.columns.empty() ||
      stage.source.index == nullptr || stage.source.swept != nullptr || stage.guard)
    return;
  const std::size_t filters = stages_.size() - s;
  const auto is_extreme = [&](const ColumnUse& use) {
    return use.role == ColumnRole::kBind && use.variable == definition_.extreme->variable;
  };
  const auto is_free = [](const ColumnUse& use) {
    return use.role == ColumnRole::kBind || use.role == ColumnRole::kIgnore;
  };
  const std::span<const ColumnUse> found = std::span(step.columns).subspan(step.prefix_length);
  if (found.empty()) return;
  // What is computed of the column may leave ranges that hold more than what passes.
  const auto is_plain = [](const SetComparison& compared) { return compared.steps.empty(); };
  const auto is_plain_last = [&](const KnownComparison& known) { return is_plain(known.compared); };
  stage.takes_extreme_row = found.size() > 1 && is_extreme(found.front()) &&
                            std::ranges::all_of(found, is_free) &&
                            stage.row_filters.size() == filters && stage.row_tests.empty() &&
                            std::ranges::all_of(stage.row_filters, is_plain);
  stage.takes_extreme_cell = is_extreme(found.back()) && stage.last_filters.size() == filters &&
                             std::ranges::all_of(stage.last_filters, is_plain_last);
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
