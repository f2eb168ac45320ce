// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/lattice_terms.h"

#include <algorithm>
#include <utility>

namespace stratalog::datalog::language {

Term variable_term(std::string name, Span span) {
  Term term;
  term.kind = TermKind::kVariable;
  term.text = std::move(name);
  term.span = span;
  return term;
}

Formula compare_terms(Comparison comparison, Term left, Term right) {
  Formula formula;
  formula.kind = FormulaKind::kComparison;
  formula.comparison = comparison;
  formula.span = left.span;
  formula.operands.push_back(std::move(left));
  formula.operands.push_back(std::move(right));
  return formula;
}

Formula atom_formula(AtomSyntax atom) {
  Formula formula;
  formula.kind = FormulaKind::kAtom;
  formula.span = atom.span;
  formula.atom = std::move(atom);
  return formula;
}

Formula all_of(std::vector<Formula> children, Span span) {
  if (children.size() == 1) return std::move(children[0]);
  Formula formula;
  formula.kind = FormulaKind::kAnd;
  formula.span = span;
  formula.children = std::move(children);
  return formula;
}

Formula goal_formula(const Goal& goal) {
  Formula formula = *goal.formula;
  if (goal.kind == GoalKind::kComparison) formula.comparison = goal.comparison;
  if (goal.kind == GoalKind::kFalse) {
    formula.kind = FormulaKind::kTruth;
    formula.truth = false;
  }
  if (goal.kind != GoalKind::kNegatedAtom) return formula;
  Formula negation;
  negation.kind = FormulaKind::kNot;
  negation.span = formula.span;
  negation.children.push_back(std::move(formula));
  return negation;
}

bool takes_two(const Term& operation) {
  return operation.kind == TermKind::kFunctor && operation.arguments.size() == 2 &&
         std::ranges::all_of(operation.arguments,
                             [](const Term& term) { return term.kind == TermKind::kWildcard; });
}

Term applied(const Term& operation, Term first, Term second) {
  Term term = operation;
  term.span = first.span;
  term.depth = 1 + std::max(first.depth, second.depth);
  term.arguments[0] = std::move(first);
  term.arguments[1] = std::move(second);
  return term;
}

}  // namespace stratalog::datalog::language
