// SPDX-License-Identifier: Apache-2.0
// Comparisons of a Pipeline that look at many values at once: those of a carried set, and those of
// a row's last column, of which only what passes is bound. See pipeline.h.
#include <algorithm>
#include <array>

#include "datalog/evaluate/number_ranges.h"
#include "datalog/evaluate/pipeline_stage.h"
#include "datalog/plan/literal_order.h"

namespace stratalog::datalog {
namespace {

// Fewer cells are looked at one by one just as quickly.
constexpr std::uint64_t kWorthRanges = 16;
// The same where a bound has to be computed.
constexpr std::uint64_t kWorthComputing = 64;

}  // namespace

// Of a filter with no other step than filters between it and the atom that it looks at.
void Pipeline::prepare_early_filters(std::size_t s) {
  std::size_t from = s;
  while (from > 0 && definition_.steps[from].kind == StepKind::kFilter) --from;
  Stage& stage = *stages_[from];
  const Step& step = *stage.step;
  if ((step.kind != StepKind::kScan && step.kind != StepKind::kScanDelta &&
       step.kind != StepKind::kSearch) ||
      step.columns.empty())
    return;
  const Literal& literal = (*definition_.body)[definition_.steps[s].literal];
  if (step.bounds_next) note_row_filter(stage, literal);
  note_row_test(stage, literal);
  const ColumnUse& last = step.columns.back();
  // What compares a set from further back knows no values of it.
  if (definition_.steps[s].filters_carried && last.role != ColumnRole::kCarry) return;
  const bool names_last = last.role == ColumnRole::kBind || last.role == ColumnRole::kCarry;
  if (stage.source.swept != nullptr && step.kind == StepKind::kScan &&
      literal.left.kind != ExpressionKind::kFunctor &&
      literal.right.kind != ExpressionKind::kFunctor &&
      !(names_last && mentions(literal, last.variable)))
    stage.key_filters.push_back(&literal);
  const auto compared = names_last ? bound_of_values(literal, last.variable) : std::nullopt;
  if (!compared) return;
  const KnownComparison filter = known_comparison(stage, *compared);
  const bool is_constant =
      filter.other && compared->steps.empty() && filter.other->from == KnownCell::From::kConstant;
  if (stage.source.swept != nullptr && is_constant && !is_wide_cell(filter.other->at)) {
    if (!stage.pivot_interval) stage.pivot_interval.emplace(compared->kind);
    stage.pivot_interval->keep(compared->comparison, filter.other->at);
  }
  if (last.role == ColumnRole::kBind) stage.last_filters.push_back(filter);
}

KnownComparison Pipeline::known_comparison(const Stage& stage, const SetComparison& compared) {
  KnownComparison known{.compared = compared, .other = {}};
  const Expression& other = *compared.other;
  static const Batch kNoBindings;
  if (other.kind == ExpressionKind::kConstant)
    known.other = KnownCell{.from = KnownCell::From::kConstant,
                            .at = evaluator_.evaluate(other, kNoBindings, 0)};
  else if (other.kind == ExpressionKind::kVariable)
    known.other = known_cell(stage, other.variable);
  return known;
}

KnownCell Pipeline::known_cell(const Stage& stage, VariableId variable) {
  const auto& columns = stage.step->columns;
  const auto column = std::ranges::find_if(columns, [&](const ColumnUse& use) {
    return use.role == ColumnRole::kBind && use.variable == variable;
  });
  if (column == columns.end()) return {.from = KnownCell::From::kArriving, .at = variable};
  return {.from = KnownCell::From::kBound,
          .at = static_cast<std::uint32_t>(column - columns.begin())};
}

std::uint64_t Pipeline::compared_bits(const Stage& stage, const KnownComparison& filter,
                                      const Batch& in, std::uint32_t in_row) {
  return filter.other ? evaluator_.bits_of(cell_of(*filter.other, stage, in, in_row))
                      : evaluator_.bits(*filter.compared.other, stage.one, 0);
}

// Cells of the row's set that the filters after it would drop need not be bound. What is left is
// looked at again there: whole words of bitmaps come, and all numbers that are not small.
Status Pipeline::bind_compared(std::size_t s, const Batch& in, std::uint32_t in_row,
                               std::uint32_t first, const IntSet& cells) {
  Stage& stage = *stages_[s];
  const SetView view = cells.view();
  if (cells.size() < kWorthRanges) return bind_each(s, in, in_row, first, view);
  const auto is_computed = [](const KnownComparison& filter) {
    return !filter.other || !filter.compared.steps.empty();
  };
  if (std::ranges::any_of(stage.last_filters, is_computed)) {
    if (cells.size() < kWorthComputing) return bind_each(s, in, in_row, first, view);
    fill_one(stage, in, in_row, stage.bound);
  }
  stage.row_places.reset();
  for (const KnownComparison& filter : stage.last_filters)
    keep_places(filter.compared, compared_bits(stage, filter, in, in_row), stage.one, 0,
                stage.row_places);
  stage.last_ranges.clear();
  stage.row_places.append_cells(stage.last_filters.front().compared.kind, stage.last_ranges);
  for (const CellRange& range : stage.last_ranges)
    STRATALOG_RETURN_IF_ERROR(stage.takes_extreme_cell
                                  ? bind_extreme(s, in, in_row, first, view, range)
                                  : bind_each(s, in, in_row, first, part_around(view, range)));
  if (!is_wide_cell(last_of(view))) return {};
  return bind_each(s, in, in_row, first,
                   part_around(view, {.lowest = kWideBase, .highest = ~Cell{0}}));
}

bool Pipeline::admits_key(std::size_t s, const Batch& in, std::uint32_t in_row,
                          std::span<const Cell> prefix) {
  Stage& stage = *stages_[s];
  if (stage.key_filters.empty()) return true;
  fill_one(stage, in, in_row, prefix);
  return std::ranges::all_of(stage.key_filters, [&](const Literal* filter) {
    return evaluator_.compare(filter->comparison, filter->left, filter->right, stage.one, 0);
  });
}

// Makes a row by itself of what arrives and what all columns but the last bind.
void Pipeline::fill_one(Stage& stage, const Batch& in, std::uint32_t in_row,
                        std::span<const Cell> prefix) {
  Batch& one = stage.one;
  one.columns.resize(in.columns.size());
  one.rows = 1;
  for (const VariableId v : stage.arriving) one.columns[v].assign(1, in.columns[v][in_row]);
  const auto& columns = stage.step->columns;
  for (std::size_t i = 0; i + 1 < columns.size(); ++i)
    if (columns[i].role == ColumnRole::kBind) one.columns[columns[i].variable].assign(1, prefix[i]);
}

// Each carried set is left with those of its elements that pass; one that loses none goes on as it
// is.
Status Pipeline::filter_sets(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  evaluator_.set_place(&(*definition_.body)[stage.step->literal].place);
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    const IntSet* set = in.sets[r];
    IntSet kept;
    if (!pass_whole(s, in, r, *set, kept)) {
      if (kept.empty()) continue;
      if (kept.size() < set->size()) {
        stage.out.has_brief_sets = true;
        set = &stage.made_sets.emplace_back(std::move(kept));
      }
    }
    STRATALOG_RETURN_IF_ERROR(pass_set(s, in, r, set));
  }
  return evaluator_.status();
}

// True if all elements pass; else those that do are kept.
bool Pipeline::pass_whole(std::size_t s, const Batch& in, std::uint32_t row, const IntSet& set,
                          IntSet& kept) {
  Stage& stage = *stages_[s];
  const KnownComparison& filter = *stage.set_filter;
  const Cell other = cell_of(*filter.other, stage, in, row);
  const SetView view = set.view();
  const bool is_order = filter.compared.comparison != Comparison::kNotEqual;
  if (!is_order && !set.contains(other)) return true;
  if (is_order && (is_wide_cell(other) || is_wide_cell(last_of(view)))) {
    compare_each(s, in, row, set, kept);
    return false;
  }
  NumberInterval interval(filter.compared.kind);
  if (is_order) interval.keep(filter.compared.comparison, other);
  if (set.size() < kWorthRanges && view.kind == SetKind::kArray) {
    std::array<Cell, kWorthRanges> cells;
    const auto end = std::ranges::copy_if(view.values, cells.begin(), [&](Cell cell) {
                       return is_order ? interval.holds(cell) : cell != other;
                     }).out;
    const auto count = static_cast<std::size_t>(end - cells.begin());
    if (count < view.values.size()) kept.assign_sorted(std::span(cells).first(count));
    return count == view.values.size();
  }
  const std::vector<CellRange> ranges = is_order ? interval.cells() : ranges_without(other);
  const bool passes = std::ranges::any_of(ranges, [&](const CellRange& range) {
    return range.lowest <= first_of(view) && last_of(view) <= range.highest;
  });
  if (!passes) keep_within(view, ranges, kept);
  return passes;
}

// Where numbers are not small.
void Pipeline::compare_each(std::size_t s, const Batch& in, std::uint32_t row, const IntSet& set,
                            IntSet& kept) {
  Stage& stage = *stages_[s];
  const Literal& literal = (*definition_.body)[stage.step->literal];
  fill_one(stage, in, row, {});
  std::vector<Cell>& carried = stage.one.columns[definition_.carried];
  carried.resize(1);
  stage.cells.clear();
  set.walk([&](Cell cell) {
    carried[0] = cell;
    if (evaluator_.compare(literal.comparison, literal.left, literal.right, stage.one, 0))
      stage.cells.push_back(cell);
  });
  kept.assign_sorted(stage.cells);
}

}  // namespace stratalog::datalog
