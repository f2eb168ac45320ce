// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/scope_grounding.h"

#include <algorithm>

namespace stratalog::datalog::language {
namespace {

bool is_evaluable_in_scope(const Term& term, const NameSet& grounded,
                           const AggregateSyntax* excluded) {
  switch (term.kind) {
    case TermKind::kVariable:
      return grounded.contains(term.text);
    case TermKind::kWildcard:
      return false;
    case TermKind::kAggregate:
      return term.aggregate.get() != excluded;
    default:
      break;
  }
  return std::all_of(term.arguments.begin(), term.arguments.end(), [&](const Term& argument) {
    return is_evaluable_in_scope(argument, grounded, excluded);
  });
}

// Grounds the variable that `term` is, also through casts, which keep the bits, and records, which
// are taken apart.
bool ground(const Term& term, NameSet& grounded) {
  if (term.kind == TermKind::kRecord || term.kind == TermKind::kBranch) {
    bool changed = false;
    for (const Term& field : term.arguments) changed = ground(field, grounded) || changed;
    return changed;
  }
  if (term.kind == TermKind::kVariable) return grounded.insert(term.text).second;
  if (term.kind == TermKind::kCast) return ground(term.arguments[0], grounded);
  return false;
}

void collect_all_names(const Term& term, NameSet& names) {
  if (term.kind == TermKind::kVariable) names.insert(term.text);
  for (const Term& argument : term.arguments) collect_all_names(argument, names);
  if (term.kind != TermKind::kAggregate) return;
  if (term.aggregate->target) collect_all_names(*term.aggregate->target, names);
  language::collect_all_names(term.aggregate->body, names);
}

bool is_or_has_generator(const Term& term) {
  return term.kind == TermKind::kAggregate || term.kind == TermKind::kRange ||
         std::any_of(term.arguments.begin(), term.arguments.end(), is_or_has_generator);
}

bool adds_a_known_name(const Term& term, NameSet& seen) {
  if (term.kind == TermKind::kVariable && !seen.insert(term.text).second) return true;
  return std::any_of(term.arguments.begin(), term.arguments.end(),
                     [&](const Term& argument) { return adds_a_known_name(argument, seen); });
}

}  // namespace

NameSet grounded_names(const Conjunction& conjunction, const NameSet& known,
                       const AggregateSyntax* aggregate, const Goal* goal) {
  NameSet grounded = known;
  for (const Goal& each : conjunction) {
    if (&each == goal || each.kind != GoalKind::kAtom) continue;
    for (const Term& argument : each.formula->atom.arguments) ground(argument, grounded);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Goal& each : conjunction) {
      if (&each == goal || each.kind != GoalKind::kComparison ||
          each.comparison != Comparison::kEqual)
        continue;
      const Term& left = each.formula->operands[0];
      const Term& right = each.formula->operands[1];
      if (is_evaluable_in_scope(right, grounded, aggregate)) changed |= ground(left, grounded);
      if (is_evaluable_in_scope(left, grounded, aggregate)) changed |= ground(right, grounded);
    }
  }
  return grounded;
}

void collect_names(const Term& term, NameSet& names) {
  if (term.kind == TermKind::kVariable) names.insert(term.text);
  for (const Term& argument : term.arguments) collect_names(argument, names);
}

void collect_names(const Conjunction& conjunction, NameSet& names) {
  for (const Goal& goal : conjunction) {
    for (const Term& term : goal.formula->atom.arguments) collect_names(term, names);
    for (const Term& term : goal.formula->operands) collect_names(term, names);
  }
}

bool has_generator(const Formula& formula) {
  return std::any_of(formula.atom.arguments.begin(), formula.atom.arguments.end(),
                     is_or_has_generator) ||
         std::any_of(formula.operands.begin(), formula.operands.end(), is_or_has_generator);
}

bool repeats_a_name(const AtomSyntax& atom) {
  NameSet seen;
  return std::any_of(atom.arguments.begin(), atom.arguments.end(),
                     [&](const Term& argument) { return adds_a_known_name(argument, seen); });
}

void collect_all_names(const Formula& formula, NameSet& names) {
  for (const Term& term : formula.atom.arguments) collect_all_names(term, names);
  for (const Term& term : formula.operands) collect_all_names(term, names);
  for (const Formula& child : formula.children) collect_all_names(child, names);
}

}  // namespace stratalog::datalog::language
