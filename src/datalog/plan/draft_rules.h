// SPDX-License-Identifier: Apache-2.0
// draft_rules: the rules of a stratum with their literals in order, once for each way in which they
// are evaluated: as they stand, for the new tuples of each recursive atom, as edges of a sweep, or
// to find what is subsumed. Pure; local.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/status.h"
#include "datalog/plan/best_value.h"
#include "datalog/plan/program_plan.h"
#include "datalog/plan/rule_draft.h"

namespace stratalog::datalog {

// The order of atoms that a version of a rule had in an earlier plan.
struct FormerOrder {
  std::vector<std::uint32_t> atoms;
  bool carries = false;  // whole sets moved
  std::set<std::uint32_t> bounded;  // atoms that were read between bounds (Step::bounds_next)
  // Of aggregates that are not in others: the atoms of their bodies, and whether whole sets were
  // counted (Step::counted).
  struct Body {
    std::vector<std::uint32_t> atoms;
    bool counts_sets = false;
  };
  std::map<std::uint32_t, Body> aggregates;  // by literal
};

struct FormerOrders {
  struct Version {
    std::uint32_t rule = 0;
    std::optional<std::uint32_t> delta_literal;
    auto operator<=>(const Version&) const = default;
  };
  std::map<Version, FormerOrder> of;
};

// What is settled before.
struct DraftGround {
  const Program& program;
  const PlanOptions& options;
  const std::vector<RelationStatistics>& statistics;
  const BestValues& best;
  const PivotColumns& pivot_column;
  // PivotFinding::masks of all strata.
  const std::map<std::uint32_t, std::vector<std::uint32_t>>& masks;
  // Kept where no other order is much better; null for a first plan.
  const FormerOrders* former = nullptr;
  // With former orders: which indices there are.
  const std::vector<RelationPlan>* relations = nullptr;
};

// Whether a rule of the stratum can find nothing, because a finished relation that it reads is
// empty.
bool reads_nothing(const Rule& rule, const Stratum& stratum,
                   const std::vector<RelationStatistics>& statistics);

enum class RulesWithout : std::uint8_t { kKept, kLeftOut };  // those of which reads_nothing()

// Appends to `drafts`.
Status draft_rules(const DraftGround& ground, std::uint32_t stratum, Strategy strategy,
                   RulesWithout idle, std::vector<RuleDraft>& drafts);

}  // namespace stratalog::datalog
