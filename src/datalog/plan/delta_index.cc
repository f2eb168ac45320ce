// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/delta_index.h"

#include <algorithm>
#include <set>
#include <utility>

namespace stratalog::datalog {
namespace {

using DealtColumns = std::vector<std::uint32_t>;

bool searches_prefix(const Step& step) {
  return step.prefix_length > 0 &&
         (step.kind == StepKind::kSearch || step.kind == StepKind::kScanDelta ||
          step.kind == StepKind::kExists || step.kind == StepKind::kAbsent);
}

// The variables in some columns of an atom; nothing where one of them holds something else.
std::vector<VariableId> variables_in(const Atom& atom, const DealtColumns& columns) {
  std::vector<VariableId> variables;
  for (const std::uint32_t column : columns) {
    if (atom.arguments[column].kind != ArgumentKind::kVariable) return {};
    variables.push_back(atom.arguments[column].variable);
  }
  return variables;
}

// The same uses in the column order of another index. False where the index cannot serve: columns
// that are compared within the atom keep their order, and a carried column is the last.
bool reordered_by(const IndexPlan& index, const IndexPlan& former, Step& step) {
  std::vector<ColumnUse> declared(step.columns.size());
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (step.columns[i].role == ColumnRole::kMatchEarlier) return false;
    declared[former.order[i]] = step.columns[i];
  }
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const ColumnUse& use = declared[index.order[i]];
    if (use.role == ColumnRole::kCarry && i + 1 < declared.size()) return false;
  }
  for (std::size_t i = 0; i < declared.size(); ++i) step.columns[i] = declared[index.order[i]];
  return true;
}

// Indices of the stratum's relations that it needs for other reasons than new tuples.
std::set<std::pair<RelationId, std::uint32_t>> kept_indices(const ProgramPlan& plan,
                                                            const Stratum& stratum,
                                                            const StratumPlan& rules) {
  std::set<std::pair<RelationId, std::uint32_t>> kept;
  for (const RelationId r : stratum.relations) kept.emplace(r, plan.relations[r].primary);
  for (const auto* list : {&rules.once, &rules.rules_of_rounds(), &rules.reject, &rules.retire})
    for (const RulePlan& rule : *list)
      for (const Step& step : rule.steps)
        if (searches_prefix(step) && stratum.holds(step.relation))
          kept.emplace(step.relation, step.index);
  return kept;
}

}  // namespace

DealtColumns columns_of_all_searches(const IndexPlan& index) {
  std::size_t length = index.order.size() > 1 ? index.order.size() - 1 : 1;
  if (!index.searched_lengths.empty()) length = index.searched_lengths.front();
  DealtColumns columns(index.order.begin(),
                       index.order.begin() + static_cast<std::ptrdiff_t>(length));
  std::sort(columns.begin(), columns.end());
  return columns;
}

void choose_delta_indices(const Program& program, std::uint32_t s, ProgramPlan& plan) {
  const Stratum& stratum = program.strata[s];
  StratumPlan& rules = plan.strata[s];
  // Where a column is carried by all rules, all indices may be dealt by it.
  if (!stratum.is_recursive || rules.pivot) return;
  const auto kept = kept_indices(plan, stratum, rules);
  for (RulePlan& rule : rules.recursive) {
    Step& delta = rule.steps.front();
    if (delta.kind != StepKind::kScanDelta || delta.columns.empty()) continue;
    const auto next = std::find_if(rule.steps.begin() + 1, rule.steps.end(), [&](const Step& step) {
      return searches_prefix(step) && stratum.holds(step.relation);
    });
    if (next == rule.steps.end()) continue;
    const std::vector<Literal>& body = program.rules[rule.rule].body;
    const std::vector<VariableId> there =
        variables_in(body[next->literal].atom,
                     columns_of_all_searches(plan.relations[next->relation].indices[next->index]));
    if (there.empty()) continue;
    const std::vector<IndexPlan>& indices = plan.relations[delta.relation].indices;
    const auto fits = [&](std::uint32_t i) {
      return variables_in(body[delta.literal].atom, columns_of_all_searches(indices[i])) == there;
    };
    if (fits(delta.index)) continue;
    for (std::uint32_t i = 0; i < indices.size(); ++i) {
      if (!kept.contains({delta.relation, i}) || !fits(i) ||
          !reordered_by(indices[i], indices[delta.index], delta))
        continue;
      delta.index = i;
      break;
    }
  }
}

}  // namespace stratalog::datalog
