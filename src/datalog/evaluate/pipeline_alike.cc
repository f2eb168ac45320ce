// SPDX-License-Identifier: Apache-2.0
// Bindings of a Pipeline that are alike: they differ in variables that no later step reads. One
// stands for all; if they carry sets, those are united before a search that would take each of them
// to several places. It is the projection of a join made as early as it can be. See pipeline.h.
#include <algorithm>

#include "datalog/evaluate/pipeline_stage.h"

namespace stratalog::datalog {
namespace {

// Sets with so many elements together are united without a look at what that spares.
constexpr std::uint64_t kUnitedInAnyCase = 64;

}  // namespace

// Whether the step before bound or passed a variable that nobody reads after it: then bindings that
// differed in it alone arrive one after the other, and are alike.
bool Pipeline::loses_variable(std::size_t s) const {
  if (s == 0) return false;
  const std::vector<VariableId>& left = definition_.steps[s - 1].live_after;
  const auto is_lost = [&](VariableId v) {
    return std::find(left.begin(), left.end(), v) == left.end();
  };
  return std::ranges::any_of(stages_[s - 1]->arriving, is_lost) ||
         std::ranges::any_of(definition_.steps[s - 1].columns, [&](const ColumnUse& use) {
           return use.role == ColumnRole::kBind && is_lost(use.variable);
         });
}

bool Pipeline::is_worth_filtering(std::size_t s) const {
  const auto makes_more = [](const Step& step) {
    return step.kind == StepKind::kScan || step.kind == StepKind::kSearch ||
           step.kind == StepKind::kRange || step.kind == StepKind::kAggregate;
  };
  const Step& step = definition_.steps[s];
  // Membership tests and heads take no longer than to look for what is repeated.
  const auto takes_long = [&](const Step& later) {
    return makes_more(later) || later.kind == StepKind::kFilter || later.kind == StepKind::kAssign;
  };
  if (definition_.counts || definition_.tagged || step.live_after.empty() ||
      !(makes_more(step) || step.kind == StepKind::kScanDelta) ||
      std::none_of(definition_.steps.begin() + static_cast<std::ptrdiff_t>(s) + 1,
                   definition_.steps.end(), takes_long))
    return false;
  return loses_variable(s + 1) || std::ranges::any_of(step.columns, [](const ColumnUse& use) {
           return use.role == ColumnRole::kIgnore;
         });
}

std::uint32_t Pipeline::end_of_alike(const Stage& stage, const Batch& in, std::uint32_t row) const {
  std::uint32_t end = row + 1;
  const auto is_alike = [&](VariableId v) { return in.columns[v][end] == in.columns[v][row]; };
  while (end < in.rows && std::ranges::all_of(stage.arriving, is_alike)) ++end;
  return end;
}

Status Pipeline::visit_alike(std::size_t s, const Batch& in, std::uint32_t row, std::uint32_t end,
                             const Index& index, std::span<const RowId> found) {
  Stage& stage = *stages_[s];
  const auto visit = [&](std::uint32_t r) { return visit_rows(s, in, r, index, found); };
  const bool has_sets = stage.passes_sets && in.sets[row] != nullptr;
  // Of bindings that differ in nothing one stands for all.
  if (end - row == 1 || !has_sets) return visit(row);
  if (!is_worth_uniting(stage, in, row, end, index, found)) {
    for (std::uint32_t r = row; r < end; ++r) STRATALOG_RETURN_IF_ERROR(visit(r));
    return {};
  }
  STRATALOG_RETURN_IF_ERROR(unite_carried(s, in, row, end));
  const Status status = visit(row);
  stage.united = nullptr;
  return status;
}

// Uniting takes as long as the sets are large, once; what it spares is as much for each value that
// the step binds, save for the union itself, which is at least as large as the largest set.
bool Pipeline::is_worth_uniting(const Stage& stage, const Batch& in, std::uint32_t row,
                                std::uint32_t end, const Index& index,
                                std::span<const RowId> found) const {
  if (!definition_.release_sets || found.empty()) return false;
  const ColumnUse& last = stage.step->columns.back();
  const bool binds_last =
      stage.step->prefix_length < stage.step->columns.size() && last.role == ColumnRole::kBind;
  if (found.size() == 1 && (!binds_last || index.total(found[0]).size() < 2)) return false;
  std::uint64_t sum = 0;
  std::uint64_t largest = 0;
  for (std::uint32_t r = row; r < end; ++r) {
    const std::uint64_t size = in.sets[r]->size();
    sum += size;
    largest = std::max(largest, size);
  }
  return sum <= kUnitedInAnyCase || 2 * (sum - largest) >= largest;
}

// So that sets can be united for step `s` before more than enough are.
Status Pipeline::make_room_for_union(std::size_t s) {
  Stage& stage = *stages_[s];
  if (stage.united_bytes <= definition_.most_united_bytes) return {};
  STRATALOG_RETURN_IF_ERROR(flush_from(s));
  definition_.release_sets();
  stage.united_sets.clear();
  stage.united_bytes = 0;
  return {};
}

// What the scratch has, until it is released.
const IntSet* Pipeline::take_union(Stage& stage) const {
  static const IntSet kNothing{};
  stage.cells.clear();
  definition_.scratch->take_new(kNothing, stage.cells);
  IntSet& united = stage.united_sets.emplace_back();
  united.assign_sorted(stage.cells);
  stage.united_bytes += sizeof(IntSet) + united.heap_bytes();
  return &united;
}

Status Pipeline::unite_carried(std::size_t s, const Batch& in, std::uint32_t row,
                               std::uint32_t end) {
  Stage& stage = *stages_[s];
  STRATALOG_RETURN_IF_ERROR(make_room_for_union(s));
  for (std::uint32_t r = row; r < end; ++r) definition_.scratch->add(*in.sets[r]);
  stage.united = take_union(stage);
  return {};
}

}  // namespace stratalog::datalog
