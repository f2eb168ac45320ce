// SPDX-License-Identifier: Apache-2.0
// `.plan`: an order that cannot be that of its rule is an error, as in Soufflé; the others become
// the join orders of the rule. Rules must be stratified first: version V of a rule is the one that
// reads new tuples at the V-th atom, from 0, of its own recursion. Local.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "datalog/language/bound_rule.h"
#include "datalog/language/diagnostic_sink.h"

namespace stratalog::datalog::language {

// A rule with a plan, as it is evaluated: one for each head and conjunction.
struct PlannedRule {
  const std::vector<PlanOrderSyntax>* plan = nullptr;  // in the syntax, not empty
  RelationId head = 0;
  std::vector<RelationId> atoms;  // of the body, not negated
  std::shared_ptr<const std::vector<NoteDraft>> origin;
  std::optional<std::uint32_t> rule;  // in Program::rules, once it is there
};

PlannedRule planned_rule(const BoundRule& rule, const RuleSyntax& syntax,
                         std::shared_ptr<const std::vector<NoteDraft>> origin);

// `needed` says of which relations anything is asked, `fillable` which ones may hold tuples
// (needed_relations.h). Plans of rules for or with the others may be anything, as Soufflé forgets
// them first; they are taken out of `rules`.
void check_plans(std::vector<PlannedRule>& rules, const std::vector<Stratum>& strata,
                 const std::vector<bool>& needed, const std::vector<bool>& fillable,
                 DiagnosticSink& sink);

// Fills Rule::join_orders. Requires plans without errors.
void set_join_orders(const std::vector<PlannedRule>& rules, Program& program);

}  // namespace stratalog::datalog::language
