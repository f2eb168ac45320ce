// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/nonempty_groups.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>

#include "datalog/comparisons.h"
#include "datalog/language/variable_classes.h"
#include "datalog/rule_variables.h"

namespace stratalog::datalog::language {
namespace {

// `value` against 0, as the kind compares.
int order_to_zero(std::uint64_t bits, ValueKind kind) {
  if (kind == ValueKind::kFloat) {
    const auto value = std::bit_cast<double>(bits);
    return value > 0 ? 1 : value < 0 ? -1 : 0;
  }
  if (bits == 0) return 0;
  return kind == ValueKind::kNumber && static_cast<std::int64_t>(bits) < 0 ? -1 : 1;
}

// Whether `0 comparison constant` is false, where the constant is above 0 (1), 0, or below it (-1).
bool excludes_zero(Comparison comparison, int constant) {
  switch (comparison) {
    case Comparison::kEqual:
      return constant != 0;
    case Comparison::kNotEqual:
      return constant == 0;
    case Comparison::kLess:
      return constant <= 0;
    case Comparison::kLessEqual:
      return constant < 0;
    case Comparison::kGreater:
      return constant >= 0;
    case Comparison::kGreaterEqual:
      return constant > 0;
    default:
      return false;
  }
}

bool is_nan(const Expression& constant) {
  if (constant.value_kind != ValueKind::kFloat) return false;
  const auto value = std::bit_cast<double>(constant.bits);
  return value != value;
}

// Variables that the rule says are the same.
VariableClasses equal_variables(const Rule& rule) {
  VariableClasses names(rule.variables.size());
  for (const Literal& each : rule.body)
    if (each.kind == LiteralKind::kComparison && each.comparison == Comparison::kEqual &&
        each.left.kind == ExpressionKind::kVariable && each.right.kind == ExpressionKind::kVariable)
      names.unite(each.left.variable, each.right.variable);
  return names;
}

bool refuses_zero(const Literal& literal, VariableId result, VariableClasses& names) {
  if (literal.kind != LiteralKind::kComparison) return false;
  const auto is_result = [&](const Expression& e) {
    return e.kind == ExpressionKind::kVariable && names.find(e.variable) == names.find(result);
  };
  const bool is_left = is_result(literal.left);
  if (!is_left && !is_result(literal.right)) return false;
  const Expression& other = is_left ? literal.right : literal.left;
  if (other.kind != ExpressionKind::kConstant || is_nan(other)) return false;
  return excludes_zero(is_left ? literal.comparison : turned(literal.comparison),
                       order_to_zero(other.bits, other.value_kind));
}

}  // namespace

bool wants_nonempty_groups(const Rule& rule, const Literal& aggregate) {
  switch (aggregate.aggregate->function) {
    case AggregateFunction::kMin:
    case AggregateFunction::kMax:
      return true;
    case AggregateFunction::kCount:
    case AggregateFunction::kSum: {
      VariableClasses names = equal_variables(rule);
      return std::any_of(rule.body.begin(), rule.body.end(), [&](const Literal& each) {
        return refuses_zero(each, aggregate.aggregate->result, names);
      });
    }
    case AggregateFunction::kMean:
    case AggregateFunction::kFold:
      return false;
  }
  return false;
}

std::vector<Literal> group_atoms(const Rule& rule, const Literal& aggregate,
                                 const IsFinished& is_finished) {
  const std::set<VariableId> outer(aggregate.aggregate->outer.begin(),
                                   aggregate.aggregate->outer.end());
  VariableClasses classes = tied_classes(rule.body, rule.variables.size(), &aggregate);
  std::vector<Literal> found;
  for (const Literal& each : aggregate.aggregate->body) {
    if (each.kind != LiteralKind::kAtom || !is_finished(each.atom.relation)) continue;
    Literal atom = each;
    std::set<VariableId> parts;
    for (Argument& argument : atom.atom.arguments) {
      if (argument.kind != ArgumentKind::kVariable) continue;
      if (outer.contains(argument.variable))
        parts.insert(classes.find(argument.variable));
      else
        argument = {};
    }
    if (parts.size() > 1) found.push_back(std::move(atom));
  }
  return found;
}

}  // namespace stratalog::datalog::language
