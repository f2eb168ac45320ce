// SPDX-License-Identifier: Apache-2.0
// Comparisons of a Pipeline that look at many values at once: those of a carried set, and those of
// a row's last column, of which only what passes is bound. See pipeline.h.
#include <algorithm>
#include <set>

#include "datalog/evaluate/number_ranges.h"
#include "datalog/evaluate/pipeline_stage.h"

namespace stratalog::datalog {
namespace {

// Fewer cells are bound and compared afterwards just as quickly.
constexpr std::uint64_t kWorthRanges = 16;

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
  const auto compared = names_last ? set_comparison(literal, last.variable) : std::nullopt;
  if (!compared || !is_order(compared->comparison)) return;
  LastFilter filter{.comparison = compared->comparison, .kind = compared->kind};
  if (compared->other->kind == ExpressionKind::kConstant) {
    static const Batch kNoBindings;
    filter.from = GuardPart::From::kConstant;
    filter.constant = evaluator_.evaluate(*compared->other, kNoBindings, 0);
    if (stage.source.swept != nullptr && !is_wide_cell(filter.constant)) {
      if (!stage.pivot_interval) stage.pivot_interval.emplace(filter.kind);
      stage.pivot_interval->keep(filter.comparison, filter.constant);
    }
  } else if (last.role == ColumnRole::kBind) {
    const VariableId other = compared->other->variable;
    const auto binds = [&](const ColumnUse& use) {
      return use.role == ColumnRole::kBind && use.variable == other;
    };
    const auto column = std::ranges::find_if(step.columns, binds);
    const bool is_bound_here = column != step.columns.end();
    filter.from = is_bound_here ? GuardPart::From::kBound : GuardPart::From::kArriving;
    filter.at = is_bound_here ? static_cast<std::uint32_t>(column - step.columns.begin()) : other;
  }
  if (last.role == ColumnRole::kBind) stage.last_filters.push_back(filter);
}

// Cells of the row's set that the filters after it would drop need not be bound. What is left is
// looked at again there: whole words of bitmaps come, and all numbers that are not small.
Status Pipeline::bind_compared(std::size_t s, const Batch& in, std::uint32_t in_row,
                               std::uint32_t first, const IntSet& cells) {
  Stage& stage = *stages_[s];
  const SetView view = cells.view();
  if (cells.size() < kWorthRanges) return bind_each(s, in, in_row, first, view);
  NumberInterval interval(stage.last_filters.front().kind);
  for (const LastFilter& filter : stage.last_filters) {
    const Cell other = filter.from == GuardPart::From::kConstant   ? filter.constant
                       : filter.from == GuardPart::From::kArriving ? in.columns[filter.at][in_row]
                                                                   : stage.bound[filter.at];
    if (!is_wide_cell(other)) interval.keep(filter.comparison, other);
  }
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
  Batch& one = stage.one;
  one.columns.resize(in.columns.size());
  one.rows = 1;
  for (const VariableId v : stage.arriving) one.columns[v].assign(1, in.columns[v][in_row]);
  for (std::size_t i = 0; i < prefix.size(); ++i)
    if (const ColumnUse& use = stage.step->columns[i]; use.role == ColumnRole::kBind)
      one.columns[use.variable].assign(1, prefix[i]);
  return std::ranges::all_of(stage.key_filters, [&](const Literal* filter) {
    return evaluator_.compare(filter->comparison, filter->left, filter->right, one, 0);
  });
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
  if (compared.comparison == Comparison::kNotEqual) {
    if (!set.contains(other)) return true;
    keep_within(view, ranges_without(other), kept);
    return false;
  }
  if (is_wide_cell(other) || is_wide_cell(last_of(view))) {
    compare_each(s, in, row, set, kept);
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
  Batch& one = stage.one;
  one.columns.resize(in.columns.size());
  one.rows = 1;
  for (const VariableId v : stage.arriving) one.columns[v].assign(1, in.columns[v][row]);
  std::vector<Cell>& carried = one.columns[definition_.carried];
  carried.resize(1);
  stage.cells.clear();
  set.walk([&](Cell cell) {
    carried[0] = cell;
    if (evaluator_.compare(literal.comparison, literal.left, literal.right, one, 0))
      stage.cells.push_back(cell);
  });
  kept.assign_sorted(stage.cells);
}

}  // namespace stratalog::datalog
