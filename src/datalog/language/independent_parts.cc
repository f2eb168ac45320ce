// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/independent_parts.h"

#include <algorithm>
#include <utility>

#include "datalog/language/variable_classes.h"
#include "datalog/partial_functors.h"

namespace stratalog::datalog::language {
namespace {

bool counts_iterations(const BoundTerm& term) {
  return (term.kind == BoundTermKind::kFunctor && term.functor == Functor::kIteration) ||
         std::any_of(term.arguments.begin(), term.arguments.end(), counts_iterations);
}

using Variables = std::vector<VariableId>;

void append_variables(const BoundTerm& term, Variables& into) {
  if (term.kind == BoundTermKind::kVariable) into.push_back(term.variable);
  for (const BoundTerm& argument : term.arguments) append_variables(argument, into);
}

// Variables by which a literal is tied to others; those of an aggregate alone are not.
Variables tied_variables(const BoundLiteral& literal) {
  Variables result;
  for (const BoundTerm& argument : literal.atom.arguments) append_variables(argument, result);
  append_variables(literal.left, result);
  append_variables(literal.right, result);
  if (literal.aggregate) {
    result.push_back(literal.aggregate->result);
    result.insert(result.end(), literal.aggregate->outer.begin(), literal.aggregate->outer.end());
  }
  if (literal.range) {
    result.push_back(literal.range->variable);
    for (const BoundTerm& bound : literal.range->bounds) append_variables(bound, result);
  }
  return result;
}

bool is_nonzero(const BoundTerm& term) {
  return term.kind == BoundTermKind::kConstant &&
         term.constant->text.find_first_of("123456789") != std::string::npos;
}

// Whether there may be values for which it is an error, which ends the run.
bool can_fail(const BoundTerm& term) {
  for (const BoundTerm& argument : term.arguments)
    if (can_fail(argument)) return true;
  return term.kind == BoundTermKind::kFunctor && is_partial(term.functor) &&
         (term.arguments.size() == 1 || !is_nonzero(term.arguments[1]));
}

// By itself it would, though the rest of the rule has no bindings.
bool can_fail(const BoundLiteral& literal) {
  return can_fail(literal.left) || can_fail(literal.right) ||
         (literal.range && std::any_of(literal.range->bounds.begin(), literal.range->bounds.end(),
                                       [](const BoundTerm& bound) { return can_fail(bound); })) ||
         (literal.aggregate &&
          std::any_of(literal.aggregate->body.begin(), literal.aggregate->body.end(),
                      [](const BoundLiteral& inner) { return can_fail(inner); }));
}

// What changes from pass to pass must be asked in every pass.
bool depends_on_the_pass(const BoundLiteral& literal) {
  if (counts_iterations(literal.left) || counts_iterations(literal.right)) return true;
  if (literal.range &&
      std::any_of(literal.range->bounds.begin(), literal.range->bounds.end(), counts_iterations)) {
    return true;
  }
  return literal.aggregate && std::any_of(literal.aggregate->body.begin(),
                                          literal.aggregate->body.end(), depends_on_the_pass);
}

}  // namespace

std::vector<BoundRule> split_off_independent_parts(BoundRule& rule, Declarations& declarations) {
  VariableClasses classes(rule.variables.size() + 1);
  const auto head = static_cast<VariableId>(rule.variables.size());
  Variables in_head;
  for (const BoundTerm& term : rule.head_arguments) append_variables(term, in_head);
  for (const VariableId variable : in_head) classes.unite(variable, head);
  std::vector<Variables> variables;
  for (const BoundLiteral& literal : rule.body) {
    variables.push_back(tied_variables(literal));
    classes.unite_all(variables.back());
    if (depends_on_the_pass(literal) && !variables.back().empty())
      classes.unite(variables.back().front(), head);
  }
  // The literals of each class that is worth a relation: several, with an atom among them.
  std::vector<std::vector<std::size_t>> parts(rule.variables.size() + 1);
  for (std::size_t i = 0; i < rule.body.size(); ++i) {
    if (!variables[i].empty()) parts[classes.find(variables[i].front())].push_back(i);
  }
  parts[classes.find(head)].clear();
  std::vector<BoundRule> result;
  std::vector<bool> is_taken(rule.body.size(), false);
  for (const std::vector<std::size_t>& part : parts) {
    const bool has_atom = std::any_of(part.begin(), part.end(), [&](std::size_t i) {
      return rule.body[i].kind == LiteralKind::kAtom;
    });
    const bool fails = std::any_of(part.begin(), part.end(),
                                   [&](std::size_t i) { return can_fail(rule.body[i]); });
    if (part.size() < 2 || !has_atom || fails || part.size() == rule.body.size()) continue;
    BoundRule& own = result.emplace_back();
    own.head =
        add_made_relation(declarations.relations[rule.head].name, rule.head_span, declarations);
    own.head_span = rule.head_span;
    own.span = rule.span;
    own.variables = rule.variables;
    own.names_inside_aggregates = rule.names_inside_aggregates;
    own.never_fires = rule.never_fires;
    for (const std::size_t i : part) {
      own.body.push_back(std::move(rule.body[i]));
      is_taken[i] = true;
    }
  }
  if (result.empty()) return result;
  std::vector<BoundLiteral> rest;
  for (std::size_t i = 0; i < rule.body.size(); ++i) {
    if (!is_taken[i]) rest.push_back(std::move(rule.body[i]));
  }
  for (const BoundRule& part : result) {
    BoundLiteral& literal = rest.emplace_back();
    literal.kind = LiteralKind::kAtom;
    literal.span = part.body.front().span;
    literal.atom.relation = part.head;
    literal.atom.span = literal.span;
  }
  rule.body = std::move(rest);
  return result;
}

}  // namespace stratalog::datalog::language
