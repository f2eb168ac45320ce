// SPDX-License-Identifier: Apache-2.0
// Comparisons of a Pipeline that look at many values at once: those of a carried set, and those of
// a row's last column, of which only what passes is bound. See pipeline.h.
#include <algorithm>
#include <array>
#include <set>

#include "datalog/evaluate/number_ranges.h"
#include "datalog/evaluate/pipeline_stage.h"
#include "datalog/plan/literal_order.h"

namespace stratalog::datalog {
namespace {

// Fewer cells are looked at one by one just as quickly.
constexpr std::uint64_t kWorthRanges = 16;
// The same where a bound has to be computed.
constexpr std::uint64_t kWorthComputing = 64;

// Of small numbers, where the comparison is an order.
bool passes_alone(const SetComparison& compared, Cell cell, Cell other) {
  const Cell a = place_of_number(cell, compared.kind);
  const Cell b = place_of_number(other, compared.kind);
  switch (compared.comparison) {
    case Comparison::kLess:
      return a < b;
    case Comparison::kLessEqual:
      return a <= b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kGreaterEqual:
      return a >= b;
    default:
      return cell != other;
  }
}

bool is_plain_side(const Expression& e) { return e.kind != ExpressionKind::kFunctor; }

bool reads_variable(const Literal& comparison, VariableId variable) {
  std::set<VariableId> read;
  collect_variables(comparison, read);
  return read.contains(variable);
}

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
  const ColumnUse& last = step.columns.back();
  // What compares a set from further back knows no values of it.
  if (definition_.steps[s].filters_carried && last.role != ColumnRole::kCarry) return;
  const bool names_last = last.role == ColumnRole::kBind || last.role == ColumnRole::kCarry;
  if (stage.source.swept != nullptr && step.kind == StepKind::kScan &&
      is_plain_side(literal.left) && is_plain_side(literal.right) &&
      !(names_last && reads_variable(literal, last.variable)))
    stage.key_filters.push_back(&literal);
  const auto compared = names_last ? bound_of_values(literal, last.variable) : std::nullopt;
  if (!compared) return;
  const LastFilter filter = last_filter(stage, *compared);
  const bool is_constant = filter.other && filter.other->from == GuardPart::From::kConstant;
  if (stage.source.swept != nullptr && is_constant && !is_wide_cell(filter.constant)) {
    if (!stage.pivot_interval) stage.pivot_interval.emplace(compared->kind);
    stage.pivot_interval->keep(compared->comparison, filter.constant);
  }
  if (last.role == ColumnRole::kBind) stage.last_filters.push_back(filter);
}

LastFilter Pipeline::last_filter(const Stage& stage, const SetComparison& compared) {
  LastFilter filter{.compared = compared, .other = {}};
  const Expression& other = *compared.other;
  const auto& columns = stage.step->columns;
  if (other.kind == ExpressionKind::kConstant) {
    static const Batch kNoBindings;
    filter.other = GuardPart{};
    filter.constant = evaluator_.evaluate(other, kNoBindings, 0);
  } else if (other.kind == ExpressionKind::kVariable) {
    const auto column = std::ranges::find_if(columns, [&](const ColumnUse& use) {
      return use.role == ColumnRole::kBind && use.variable == other.variable;
    });
    filter.other = column == columns.end()
                       ? GuardPart{.from = GuardPart::From::kArriving, .at = other.variable}
                       : GuardPart{.from = GuardPart::From::kBound,
                                   .at = static_cast<std::uint32_t>(column - columns.begin())};
  }
  return filter;
}

// Nothing where it is no small number.
std::optional<Cell> Pipeline::small_bound(Stage& stage, const LastFilter& filter, const Batch& in,
                                          std::uint32_t in_row) {
  if (!filter.other) {
    const std::uint64_t bits = evaluator_.bits(*filter.compared.other, stage.one, 0);
    return is_narrow(bits) ? std::optional(narrow_cell(bits)) : std::nullopt;
  }
  const Cell cell = filter.other->from == GuardPart::From::kConstant ? filter.constant
                    : filter.other->from == GuardPart::From::kArriving
                        ? in.columns[filter.other->at][in_row]
                        : stage.bound[filter.other->at];
  return is_wide_cell(cell) ? std::nullopt : std::optional(cell);
}

// Cells of the row's set that the filters after it would drop need not be bound. What is left is
// looked at again there: whole words of bitmaps come, and all numbers that are not small.
Status Pipeline::bind_compared(std::size_t s, const Batch& in, std::uint32_t in_row,
                               std::uint32_t first, const IntSet& cells) {
  Stage& stage = *stages_[s];
  const SetView view = cells.view();
  if (cells.size() < kWorthRanges) return bind_each(s, in, in_row, first, view);
  const auto is_computed = [](const LastFilter& filter) { return !filter.other; };
  if (std::ranges::any_of(stage.last_filters, is_computed)) {
    if (cells.size() < kWorthComputing) return bind_each(s, in, in_row, first, view);
    fill_one(stage, in, in_row, stage.bound);
  }
  NumberInterval interval(stage.last_filters.front().compared.kind);
  for (const LastFilter& filter : stage.last_filters)
    if (const auto bound = small_bound(stage, filter, in, in_row))
      interval.keep(filter.compared.comparison, *bound);
  for (const CellRange& range : interval.cells())
    STRATALOG_RETURN_IF_ERROR(bind_each(s, in, in_row, first, part_around(view, range)));
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
      if (kept.size() < set->size()) set = &stage.made_sets.emplace_back(std::move(kept));
    }
    const std::uint32_t to = append(stage, in, r);
    stage.out.sets[to] = set;
    if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(settle_made_sets(s));
  }
  return evaluator_.status();
}

// True if all elements pass; else those that do are kept.
bool Pipeline::pass_whole(std::size_t s, const Batch& in, std::uint32_t row, const IntSet& set,
                          IntSet& kept) {
  Stage& stage = *stages_[s];
  const SetComparison& compared = *stage.set_comparison;
  const Cell other = compared.other->kind == ExpressionKind::kVariable
                         ? in.columns[compared.other->variable][row]
                         : stage.compared_constant;
  const SetView view = set.view();
  const bool is_order = compared.comparison != Comparison::kNotEqual;
  if (!is_order && !set.contains(other)) return true;
  if (is_order && (is_wide_cell(other) || is_wide_cell(last_of(view)))) {
    compare_each(s, in, row, set, kept);
    return false;
  }
  if (set.size() < kWorthRanges && view.kind == SetKind::kArray) {
    std::array<Cell, kWorthRanges> cells;
    const auto end = std::ranges::copy_if(view.values, cells.begin(), [&](Cell cell) {
                       return passes_alone(compared, cell, other);
                     }).out;
    const auto count = static_cast<std::size_t>(end - cells.begin());
    if (count < view.values.size()) kept.assign_sorted(std::span(cells).first(count));
    return count == view.values.size();
  }
  if (!is_order) {
    keep_within(view, ranges_without(other), kept);
    return false;
  }
  NumberInterval interval(compared.kind);
  interval.keep(compared.comparison, other);
  const std::vector<CellRange> ranges = interval.cells();
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
