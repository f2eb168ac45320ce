// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/edge_masks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "datalog/plan/set_comparison.h"
#include "datalog/rule_variables.h"
#include "model/set_walk.h"
#include "relation/set_algebra.h"

namespace stratalog::datalog {
namespace {

// Whether a comparison reads the pivot only.
bool is_alone(const Literal& comparison, VariableId pivot) {
  std::set<VariableId> variables;
  collect_variables(comparison, variables);
  return variables.size() == 1 && variables.contains(pivot);
}

}  // namespace

Result<std::size_t> EdgeMasks::add_rule(EngineState& state, const RulePlan& plan, VariableId pivot,
                                        std::span<const Cell> constants) {
  RuleMasks& rule = rules_.emplace_back();
  rule.constants.assign(constants.begin(), constants.end());
  rule.evaluator = &state.evaluator;
  rule.pivot = pivot;
  const Rule& source = state.program.rules[plan.rule];
  std::size_t width = 0;
  for (const Step& step : plan.masks) {
    const Literal& literal = source.body[step.literal];
    if (step.kind == StepKind::kFilter && is_alone(literal, pivot)) {
      rule.filters.push_back(&literal);
      rule.sense = MaskSense::kKeepMembers;
      continue;
    }
    STRATALOG_ASSIGN_OR_RETURN(Test test, test_of(state, step, literal, pivot));
    width += test.key.size();
    if (test.kind == TestKind::kHolds) rule.sense = MaskSense::kKeepMembers;
    rule.tests.push_back(std::move(test));
  }
  if (!rule.filters.empty()) {
    rule.one.columns.resize(source.variables.size());
    rule.one.allocate(pivot);
    rule.one.rows = 1;
  }
  rule.keys = PrefixMap(static_cast<std::uint32_t>(width));
  return rules_.size() - 1;
}

Result<EdgeMasks::Test> EdgeMasks::test_of(const EngineState& state, const Step& step,
                                           const Literal& literal, VariableId pivot) {
  Test test;
  if (step.kind == StepKind::kFilter) {
    test.kind = TestKind::kIsNot;
    test.key.push_back({.role = ColumnRole::kMatchVariable,
                        .variable = set_comparison(literal, pivot)->other->variable});
    return test;
  }
  test.kind = step.kind == StepKind::kExists ? TestKind::kHolds : TestKind::kHoldsNot;
  test.index = state.whole_index(step);
  if (test.index == nullptr || step.prefix_length != test.index->prefix_width())
    return Status::internal(fmt::format("a mask of relation `{}` has no index on every rank",
                                        state.program.relations[step.relation].name));
  test.key.assign(step.columns.begin(), step.columns.begin() + step.prefix_length);
  return test;
}

EdgeMask EdgeMasks::of_edge(std::size_t rule, const Batch& batch, std::uint32_t row) {
  RuleMasks& masks = rules_[rule];
  key_.clear();
  for (const Test& test : masks.tests)
    for (const ColumnUse& use : test.key)
      key_.push_back(use.role == ColumnRole::kMatchConstant ? masks.constants[use.constant]
                                                            : batch.columns[use.variable][row]);
  const std::uint32_t key = masks.keys.find_or_add(key_.data());
  if (key == masks.of_key.size()) masks.of_key.push_back(make(rule, key));
  return masks.of_key[key];
}

const IntSet* EdgeMasks::set_of(const Test& test, std::span<const Cell> key) {
  const RowId row = test.index->find_row(key.data());
  if (row == Index::kNoRow || test.index->total(row).empty()) return nullptr;
  return &test.index->total(row);
}

EdgeMask EdgeMasks::make(std::size_t rule, std::uint32_t key) {
  const RuleMasks& masks = rules_[rule];
  bool is_open = masks.filters.empty();
  std::span<const Cell> rest = masks.keys.key(key);
  for (const Test& test : masks.tests) {
    const bool has_members = test.kind == TestKind::kIsNot || set_of(test, rest) != nullptr;
    rest = rest.subspan(test.key.size());
    if (test.kind == TestKind::kHolds && !has_members)
      return {.passage = EdgePassage::kClosed, .mask = 0, .sense = masks.sense};
    is_open &= !has_members;
  }
  if (is_open) return {};
  masks_.push_back({.rule = static_cast<std::uint32_t>(rule), .key = key});
  return {.passage = EdgePassage::kMasked,
          .mask = static_cast<MaskId>(masks_.size() - 1),
          .sense = masks.sense};
}

void EdgeMasks::members(MaskId mask, const PivotSpace& space, std::vector<LaneId>& lanes) {
  RuleMasks& masks = rules_[masks_[mask].rule];
  const std::span<const Cell> key = masks.keys.key(masks_[mask].key);
  const auto take = [&](Cell cell) {
    const LaneId lane = space.lane_of(cell);
    if (lane < space.lanes()) lanes.push_back(lane);
  };
  if (masks.sense == MaskSense::kKeepMembers) {
    walk_set(passing(masks, key, space).view(), take);
    return;
  }
  std::span<const Cell> rest = key;
  for (const Test& test : masks.tests) {
    if (test.kind == TestKind::kIsNot)
      take(rest.front());
    else if (const IntSet* set = set_of(test, rest))
      walk_set(set->view(), take);
    rest = rest.subspan(test.key.size());
  }
}

// What all atoms have in common, without what must not be, as far as it passes the filters.
IntSet EdgeMasks::passing(RuleMasks& rule, std::span<const Cell> key, const PivotSpace& space) {
  std::vector<const IntSet*> holding;
  std::vector<const IntSet*> absent;
  std::vector<Cell> unlike;
  for (const Test& test : rule.tests) {
    if (test.kind == TestKind::kIsNot)
      unlike.push_back(key.front());
    else if (const IntSet* set = set_of(test, key))
      (test.kind == TestKind::kHolds ? holding : absent).push_back(set);
    key = key.subspan(test.key.size());
  }
  std::vector<Cell> cells;
  if (holding.empty()) {
    for (LaneId lane = 0; lane < space.lanes(); ++lane) cells.push_back(space.cell_of(lane));
    std::sort(cells.begin(), cells.end());
  } else {
    walk_set(holding.front()->view(), [&](Cell cell) { cells.push_back(cell); });
    holding.erase(holding.begin());
  }
  IntSet result;
  result.assign_sorted(cells);
  const auto change = [&](auto&& operation, const IntSet& set) {
    cells.clear();
    operation(result, set, cells);
    result.assign_sorted(cells);
  };
  for (const IntSet* set : holding) change(intersect_sets, *set);
  for (const IntSet* set : absent) change(subtract_sets, *set);
  const auto erased = std::erase_if(cells, [&](Cell cell) {
    return std::ranges::find(unlike, cell) != unlike.end() || !passes_filters(rule, cell);
  });
  if (erased > 0) result.assign_sorted(cells);
  return result;
}

bool EdgeMasks::passes_filters(RuleMasks& rule, Cell pivot) {
  if (rule.filters.empty()) return true;
  rule.one.columns[rule.pivot][0] = pivot;
  return std::ranges::all_of(rule.filters, [&](const Literal* filter) {
    return rule.evaluator->compare(filter->comparison, filter->left, filter->right, rule.one, 0);
  });
}

std::uint64_t EdgeMasks::memory_bytes() const {
  std::uint64_t bytes = masks_.capacity() * sizeof(Mask);
  for (const RuleMasks& rule : rules_)
    bytes += rule.keys.heap_bytes() + rule.of_key.capacity() * sizeof(EdgeMask);
  return bytes;
}

}  // namespace stratalog::datalog
