// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/aggregate_body.h"

#include <algorithm>

#include "datalog/language/scope_grounding.h"

namespace stratalog::datalog::language {
namespace {

bool is_written_alike(const Term& a, const Term& b) {
  if (a.kind == TermKind::kAggregate || a.kind == TermKind::kCast || a.kind == TermKind::kBranch ||
      a.kind != b.kind || a.text != b.text || a.functor != b.functor)
    return false;
  return std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(),
                    is_written_alike);
}

}  // namespace

void drop_repeated_atoms(Conjunction& body) {
  const auto repeats = [](const Goal& a, const Goal& b) {
    const AtomSyntax& one = a.formula->atom;
    const AtomSyntax& other = b.formula->atom;
    return a.kind == GoalKind::kAtom && b.kind == GoalKind::kAtom &&
           one.relation.name == other.relation.name &&
           std::equal(one.arguments.begin(), one.arguments.end(), other.arguments.begin(),
                      other.arguments.end(), is_written_alike);
  };
  for (auto goal = body.begin(); goal != body.end();) {
    const bool is_known =
        std::any_of(body.begin(), goal, [&](const Goal& before) { return repeats(before, *goal); });
    goal = is_known ? body.erase(goal) : goal + 1;
  }
}

bool counts_tuples(const Conjunction& body) {
  const Formula* atom = nullptr;
  for (const Goal& goal : body) {
    if (goal.kind == GoalKind::kAtom && atom != nullptr) return false;
    if (goal.kind == GoalKind::kAtom) atom = goal.formula;
    if (has_generator(*goal.formula)) return false;
  }
  return atom == nullptr || !repeats_a_name(atom->atom);
}

void add_outer_of_nested(BoundAggregate& aggregate, std::vector<VariableId> inherited) {
  std::sort(inherited.begin(), inherited.end());
  for (const BoundLiteral& literal : aggregate.body) {
    if (literal.kind != LiteralKind::kAggregate) continue;
    for (const VariableId variable : literal.aggregate->outer) {
      if (std::binary_search(inherited.begin(), inherited.end(), variable)) {
        aggregate.outer.push_back(variable);
      }
    }
  }
  std::sort(aggregate.outer.begin(), aggregate.outer.end());
  aggregate.outer.erase(std::unique(aggregate.outer.begin(), aggregate.outer.end()),
                        aggregate.outer.end());
}

}  // namespace stratalog::datalog::language
