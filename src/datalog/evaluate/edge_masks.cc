// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/edge_masks.h"

#include <fmt/format.h>

#include <utility>

#include "model/set_walk.h"
#include "relation/set_algebra.h"

namespace stratalog::datalog {

Result<std::size_t> EdgeMasks::add_rule(const EngineState& state, const RulePlan& plan,
                                        std::span<const Cell> constants) {
  RuleMasks& rule = rules_.emplace_back();
  rule.constants.assign(constants.begin(), constants.end());
  std::uint32_t width = 0;
  for (const Step& step : plan.masks) {
    const Index* const index = state.whole_index(step);
    if (index == nullptr || step.prefix_length != index->prefix_width())
      return Status::internal(fmt::format("a mask of relation `{}` has no index on every rank",
                                          state.program.relations[step.relation].name));
    rule.tests.push_back({&step, index});
    width += step.prefix_length;
    if (step.kind == StepKind::kExists) rule.sense = MaskSense::kKeepMembers;
  }
  rule.keys = PrefixMap(width);
  return rules_.size() - 1;
}

EdgeMask EdgeMasks::of_edge(std::size_t rule, const Batch& batch, std::uint32_t row) {
  RuleMasks& masks = rules_[rule];
  key_.clear();
  for (const Test& test : masks.tests)
    for (std::uint32_t i = 0; i < test.step->prefix_length; ++i) {
      const ColumnUse& use = test.step->columns[i];
      key_.push_back(use.role == ColumnRole::kMatchConstant ? masks.constants[use.constant]
                                                            : batch.columns[use.variable][row]);
    }
  const std::uint32_t key = masks.keys.find_or_add(key_.data());
  if (key == masks.of_key.size()) masks.of_key.push_back(make(rule, key));
  return masks.of_key[key];
}

const IntSet* EdgeMasks::set_of(const Test& test, std::span<const Cell>& key) {
  const RowId row = test.index->find_row(key.data());
  key = key.subspan(test.step->prefix_length);
  if (row == Index::kNoRow || test.index->total(row).empty()) return nullptr;
  return &test.index->total(row);
}

EdgeMask EdgeMasks::make(std::size_t rule, std::uint32_t key) {
  const RuleMasks& masks = rules_[rule];
  std::span<const Cell> rest = masks.keys.key(key);
  bool holds_back = false;
  for (const Test& test : masks.tests) {
    const bool has_members = set_of(test, rest) != nullptr;
    if (test.step->kind == StepKind::kExists && !has_members)
      return {.passage = EdgePassage::kClosed, .mask = 0, .sense = masks.sense};
    holds_back |= has_members;
  }
  if (!holds_back) return {};
  masks_.push_back({.rule = static_cast<std::uint32_t>(rule), .key = key});
  return {.passage = EdgePassage::kMasked,
          .mask = static_cast<MaskId>(masks_.size() - 1),
          .sense = masks.sense};
}

void EdgeMasks::members(MaskId mask, const PivotSpace& space, std::vector<LaneId>& lanes) const {
  const RuleMasks& masks = rules_[masks_[mask].rule];
  const std::span<const Cell> key = masks.keys.key(masks_[mask].key);
  const auto take = [&](Cell cell) {
    const LaneId lane = space.lane_of(cell);
    if (lane < space.lanes()) lanes.push_back(lane);
  };
  std::span<const Cell> rest = key;
  if (masks.sense == MaskSense::kDropMembers) {
    for (const Test& test : masks.tests)
      if (const IntSet* set = set_of(test, rest)) walk_set(set->view(), take);
    return;
  }
  // What all positive tests have in common, then without what negated ones have.
  IntSet passing;
  std::vector<Cell> cells;
  bool is_first = true;
  for (const StepKind kind : {StepKind::kExists, StepKind::kAbsent}) {
    rest = key;
    for (const Test& test : masks.tests) {
      const IntSet* set = set_of(test, rest);
      if (test.step->kind != kind || set == nullptr) continue;
      cells.clear();
      if (kind == StepKind::kAbsent)
        subtract_sets(passing, *set, cells);
      else
        intersect_sets(std::exchange(is_first, false) ? *set : passing, *set, cells);
      passing.assign_sorted(cells);
    }
  }
  walk_set(passing.view(), take);
}

std::uint64_t EdgeMasks::memory_bytes() const {
  std::uint64_t bytes = masks_.capacity() * sizeof(Mask);
  for (const RuleMasks& rule : rules_)
    bytes += rule.keys.heap_bytes() + rule.of_key.capacity() * sizeof(EdgeMask);
  return bytes;
}

}  // namespace stratalog::datalog
