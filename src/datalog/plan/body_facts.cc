// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/body_facts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "datalog/partial_functors.h"

namespace stratalog::datalog {
namespace {

VariableSet variable_set_of(const Literal& literal) {
  std::set<VariableId> result;
  collect_variables(literal, result);
  return VariableSet(result);
}

void add_risk(const Expression& e, Risk& risk) {
  if (e.kind != ExpressionKind::kFunctor) return;
  for (const Expression& argument : e.arguments) add_risk(argument, risk);
  if (!may_fail(e)) return;
  std::set<VariableId> variables;
  collect_variables(e, variables);
  risk.is_constant |= variables.empty();
  risk.variables.merge(variables);
}

Risk risk_of(const Literal& literal) {
  Risk risk;
  const auto look_at = [&risk](const Expression& e) { add_risk(e, risk); };
  if (literal.kind == LiteralKind::kComparison) {
    look_at(literal.left);
    look_at(literal.right);
  } else if (literal.kind == LiteralKind::kRange) {
    look_at(literal.range->from);
    look_at(literal.range->to);
    if (literal.range->has_step) look_at(literal.range->step);
  }
  return risk;
}

// Variables of positive atoms, and others that stand for the same value.
VariableSet held_by_atoms(const std::vector<Literal>& body) {
  std::set<VariableId> held;
  for (const Literal& literal : body)
    if (literal.kind == LiteralKind::kAtom) collect_variables(literal, held);
  for (std::size_t before = held.size() + 1; before != held.size();) {
    before = held.size();
    for (const Literal& literal : body) {
      if (!equates_variables(literal)) continue;
      if (held.contains(literal.left.variable)) held.insert(literal.right.variable);
      if (held.contains(literal.right.variable)) held.insert(literal.left.variable);
    }
  }
  return VariableSet(held);
}

// What must be known before a constraint is decided; of a comparison, where it assigns nothing.
VariableSet read_by(const Literal& literal) {
  if (literal.kind == LiteralKind::kAggregate)
    return VariableSet({literal.aggregate->outer.begin(), literal.aggregate->outer.end()});
  if (literal.kind != LiteralKind::kRange) return variable_set_of(literal);
  std::set<VariableId> limits;
  collect_variables(literal.range->from, limits);
  collect_variables(literal.range->to, limits);
  if (literal.range->has_step) collect_variables(literal.range->step, limits);
  return VariableSet(limits);
}

// By variable: what comparisons say that it is not. Texts have no bucket while plans are made.
using Exclusions = std::map<VariableId, std::vector<std::optional<std::uint32_t>>>;

Exclusions exclusions_of(const std::vector<Literal>& body) {
  Exclusions excluded;
  for (const Literal& literal : body) {
    if (literal.kind != LiteralKind::kComparison || literal.comparison != Comparison::kNotEqual)
      continue;
    for (const auto& [variable, constant] :
         {std::pair(&literal.left, &literal.right), std::pair(&literal.right, &literal.left)})
      if (variable->kind == ExpressionKind::kVariable && variable_set_of(*constant).empty())
        excluded[variable->variable].push_back(bucket_of_constant(*constant));
  }
  return excluded;
}

// A text that a variable is not is taken to be the one that most rows have: "-", "unknown".
std::vector<FrequentValue> without(std::vector<FrequentValue> values,
                                   const std::vector<std::optional<std::uint32_t>>& excluded) {
  for (const auto& bucket : excluded) {
    const auto found =
        bucket ? std::find_if(values.begin(), values.end(),
                              [&](const FrequentValue& value) { return value.bucket == *bucket; })
               : values.begin();
    if (found != values.end()) values.erase(found);
  }
  return values;
}

// Of a relation that grows, nobody knows what it will have most of.
void note_frequent(std::size_t l, const RelationStatistics& size, const Exclusions& excluded,
                   BodyFacts& facts) {
  if (!size.known) return;
  const std::vector<Argument>& arguments = facts.literals[l].atom.arguments;
  for (std::size_t c = 0; c < std::min(size.frequent.size(), arguments.size()); ++c) {
    std::vector<FrequentValue> values = size.frequent[c];
    if (arguments[c].kind == ArgumentKind::kVariable)
      if (const auto found = excluded.find(arguments[c].variable); found != excluded.end())
        values = without(std::move(values), found->second);
    if (!values.empty()) facts.frequent[{l, c}] = std::move(values);
  }
}

}  // namespace

VariableSet variable_set_of(const Expression& expression) {
  std::set<VariableId> result;
  collect_variables(expression, result);
  return VariableSet(result);
}

VariableSet constant_variables(const std::vector<Literal>& literals) {
  VariableSet constant;
  for (const Literal& literal : literals) {
    if (literal.kind != LiteralKind::kComparison || literal.comparison != Comparison::kEqual)
      continue;
    if (literal.left.kind == ExpressionKind::kVariable && variable_set_of(literal.right).empty())
      constant.insert(literal.left.variable);
    if (literal.right.kind == ExpressionKind::kVariable && variable_set_of(literal.left).empty())
      constant.insert(literal.right.variable);
  }
  return constant;
}

std::optional<std::uint32_t> bucket_of_constant(const Expression& constant) {
  const bool is_number =
      constant.kind == ExpressionKind::kConstant &&
      (constant.value_kind == ValueKind::kNumber || constant.value_kind == ValueKind::kUnsigned);
  if (!is_number || !is_narrow(constant.bits)) return std::nullopt;
  return value_bucket(narrow_cell(constant.bits));
}

bool equates_variables(const Literal& literal) {
  return literal.kind == LiteralKind::kComparison && literal.comparison == Comparison::kEqual &&
         literal.left.kind == ExpressionKind::kVariable &&
         literal.right.kind == ExpressionKind::kVariable;
}

BodyFacts::BodyFacts(const BodyToOrder& body)
    : literals(body.literals),
      statistics(body.statistics),
      relations(body.relations),
      growing(body.growing),
      bound(body.bound),
      held(held_by_atoms(body.literals)),
      constant(constant_variables(body.literals)) {
  if (body.read_after) read_after = VariableSet(*body.read_after);
  const Exclusions excluded = exclusions_of(literals);
  for (const Literal& literal : literals) {
    if (literal.kind == LiteralKind::kAggregate) computed.insert(literal.aggregate->result);
    if (literal.kind == LiteralKind::kRange) computed.insert(literal.range->variable);
    risks.push_back(risk_of(literal));
    read.push_back(read_by(literal));
    uses.push_back(variable_set_of(literal));
    left.push_back(variable_set_of(literal.left));
    right.push_back(variable_set_of(literal.right));
    if (literal.kind == LiteralKind::kAtom)
      note_frequent(read.size() - 1, statistics[literal.atom.relation], excluded, *this);
  }
}

}  // namespace stratalog::datalog
