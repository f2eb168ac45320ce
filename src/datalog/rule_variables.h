// SPDX-License-Identifier: Apache-2.0
// The variables that parts of a rule mention. Those that an aggregate keeps to itself are none of
// the rule's. Pure; local.
#pragma once

#include <set>
#include <vector>

#include "datalog/program.h"

namespace stratalog::datalog {

inline void collect_variables(const Expression& expression, std::set<VariableId>& into) {
  if (expression.kind == ExpressionKind::kVariable) into.insert(expression.variable);
  for (const Expression& argument : expression.arguments) collect_variables(argument, into);
}

inline void collect_variables(const Literal& literal, std::set<VariableId>& into) {
  switch (literal.kind) {
    case LiteralKind::kAtom:
    case LiteralKind::kNegatedAtom:
      for (const Argument& a : literal.atom.arguments)
        if (a.kind == ArgumentKind::kVariable) into.insert(a.variable);
      break;
    case LiteralKind::kComparison:
      collect_variables(literal.left, into);
      collect_variables(literal.right, into);
      break;
    case LiteralKind::kAggregate:
      into.insert(literal.aggregate->outer.begin(), literal.aggregate->outer.end());
      into.insert(literal.aggregate->result);
      break;
    case LiteralKind::kRange:
      into.insert(literal.range->variable);
      collect_variables(literal.range->from, into);
      collect_variables(literal.range->to, into);
      collect_variables(literal.range->step, into);
      break;
  }
}

inline std::set<VariableId> variables_of_body(const std::vector<Literal>& body) {
  std::set<VariableId> variables;
  for (const Literal& literal : body) collect_variables(literal, variables);
  return variables;
}

template <typename Part>
bool mentions(const Part& part, VariableId variable) {
  std::set<VariableId> variables;
  collect_variables(part, variables);
  return variables.contains(variable);
}

}  // namespace stratalog::datalog
