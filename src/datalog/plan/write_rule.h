// SPDX-License-Identifier: Apache-2.0
// write_rule: the steps of a rule whose literals are in order, over the indices that were chosen:
// which index serves a step, what each column of it is for, what is needed afterwards, and whether
// whole sets move. Pure; local.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datalog/plan/program_plan.h"
#include "datalog/plan/rule_draft.h"

namespace stratalog::datalog {

// What is settled when steps are written.
struct PlanChoices {
  const Program& program;
  const std::vector<RelationStatistics>& statistics;  // of all relations
  const PivotColumns& pivot_column;
  std::vector<RelationPlan>& relations;  // learns what lengths filters search for
  // Only indices of its relations may learn it; null: those of all.
  const Stratum* changing = nullptr;
};

RulePlan write_rule(const RuleDraft& draft, const PlanChoices& choices);

}  // namespace stratalog::datalog
