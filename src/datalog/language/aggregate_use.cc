// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/aggregate_use.h"

#include "datalog/language/scope_grounding.h"

namespace stratalog::datalog::language {
namespace {

bool mentions(const Term& term, const std::string& name) {
  NameSet names;
  collect_names(term, names);
  return names.contains(name);
}

bool mentions_anywhere(const Formula& formula, const std::string& name) {
  NameSet names;
  collect_all_names(formula, names);
  return names.contains(name);
}

// Whether a comparison stays true as its operand number `operand` goes on.
bool stays_true(Comparison comparison, std::size_t operand, Direction direction) {
  const bool wants_more =
      comparison == Comparison::kGreater || comparison == Comparison::kGreaterEqual;
  const bool wants_less = comparison == Comparison::kLess || comparison == Comparison::kLessEqual;
  const bool is_up = direction == Direction::kUp;
  return operand == 0 ? (is_up ? wants_more : wants_less) : (is_up ? wants_less : wants_more);
}

// `value` on one side of a comparison, and no aggregate on the other.
bool is_bound_of(const Goal& goal, const std::string& value, Direction direction) {
  if (goal.kind != GoalKind::kComparison || has_generator(*goal.formula)) return false;
  const std::vector<Term>& operands = goal.formula->operands;
  for (std::size_t side = 0; side < 2; ++side)
    if (operands[side].kind == TermKind::kVariable && operands[side].text == value)
      return !mentions(operands[1 - side], value) && stays_true(goal.comparison, side, direction);
  return false;
}

}  // namespace

Direction direction_of(AggregateFunction function) {
  return function == AggregateFunction::kMin ? Direction::kDown : Direction::kUp;
}

bool goes(const LatticeSyntax& lattice, Direction direction) {
  const Functor wanted = direction == Direction::kUp ? Functor::kMax : Functor::kMin;
  return lattice.lub && lattice.lub->kind == TermKind::kFunctor && lattice.lub->functor == wanted;
}

AggregateUse find_use(const AtomSyntax& head, const Conjunction& body, AggregatePlace place,
                      const LatticeOfRelation& lattices) {
  AggregateUse use;
  const Goal& goal = body[place.goal];
  const Term& aggregate = goal.formula->operands[place.operand];
  const Term& other = goal.formula->operands[1 - place.operand];
  const Direction direction = direction_of(aggregate.aggregate->function);
  if (stays_true(goal.comparison, place.operand, direction)) {
    use.is_monotone = other.kind != TermKind::kAggregate && other.kind != TermKind::kRange;
    return use;
  }
  if (goal.comparison != Comparison::kEqual || other.kind != TermKind::kVariable) return use;
  use.variable = other.text;
  if (mentions_anywhere(aggregate.aggregate->body, use.variable)) return use;
  for (std::size_t g = 0; g < body.size(); ++g)
    if (g != place.goal && mentions_anywhere(*body[g].formula, use.variable) &&
        !is_bound_of(body[g], use.variable, direction))
      return use;
  for (std::size_t i = 0; i < head.arguments.size(); ++i) {
    if (!mentions(head.arguments[i], use.variable)) continue;
    const auto lattice = lattices.find(head.relation.name);
    if (i + 1 != head.arguments.size() || lattice == lattices.end() ||
        !goes(*lattice->second, direction))
      return use;
  }
  use.is_monotone = true;
  return use;
}

}  // namespace stratalog::datalog::language
