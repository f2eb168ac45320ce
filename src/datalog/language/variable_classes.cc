// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/variable_classes.h"

#include <set>

#include "datalog/rule_variables.h"

namespace stratalog::datalog::language {
namespace {

// Whether bindings of one of its variables are few for each of another one: not of `x < y`.
bool ties(const Literal& literal) {
  switch (literal.kind) {
    case LiteralKind::kNegatedAtom:
      return false;
    case LiteralKind::kComparison:
      return literal.comparison == Comparison::kEqual;
    case LiteralKind::kAtom:
    case LiteralKind::kAggregate:
    case LiteralKind::kRange:
      return true;
  }
  return true;
}

}  // namespace

VariableClasses tied_classes(const std::vector<Literal>& body, std::size_t variables,
                             const Literal* but) {
  VariableClasses classes(variables);
  for (const Literal& literal : body) {
    if (!ties(literal) || &literal == but) continue;
    std::set<VariableId> tied;
    collect_variables(literal, tied);
    classes.unite_all(tied);
  }
  return classes;
}

}  // namespace stratalog::datalog::language
