// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/set_comparison.h"

#include <algorithm>

namespace stratalog::datalog {
namespace {

bool is_whole(ValueKind kind) { return kind == ValueKind::kNumber || kind == ValueKind::kUnsigned; }

// The literal as a comparison of the variable, which is one side of it alone.
std::optional<SetComparison> sides_of(const Literal& literal, VariableId variable) {
  if (literal.kind != LiteralKind::kComparison) return {};
  const auto is_it = [&](const Expression& e) {
    return e.kind == ExpressionKind::kVariable && e.variable == variable;
  };
  const bool is_left = is_it(literal.left);
  if (is_left == is_it(literal.right)) return {};
  const Expression& other = is_left ? literal.right : literal.left;
  const ValueKind kind = (is_left ? literal.left : literal.right).value_kind;
  if (other.value_kind != kind) return {};
  return SetComparison{.comparison = is_left ? literal.comparison : turned(literal.comparison),
                       .kind = kind,
                       .other = &other};
}

bool is_sum_without(const Expression& e, VariableId variable) {
  if (e.kind == ExpressionKind::kConstant) return true;
  if (e.kind == ExpressionKind::kVariable) return e.variable != variable;
  return e.kind == ExpressionKind::kFunctor &&
         (e.functor == Functor::kAdd || e.functor == Functor::kSubtract ||
          e.functor == Functor::kNegate) &&
         std::ranges::all_of(e.arguments,
                             [&](const Expression& a) { return is_sum_without(a, variable); });
}

}  // namespace

Comparison turned(Comparison comparison) {
  switch (comparison) {
    case Comparison::kLess:
      return Comparison::kGreater;
    case Comparison::kLessEqual:
      return Comparison::kGreaterEqual;
    case Comparison::kGreater:
      return Comparison::kLess;
    case Comparison::kGreaterEqual:
      return Comparison::kLessEqual;
    default:
      return comparison;
  }
}

std::optional<SetComparison> set_comparison(const Literal& literal, VariableId variable) {
  const auto compared = sides_of(literal, variable);
  if (!compared || compared->other->kind == ExpressionKind::kFunctor) return {};
  if (is_order(compared->comparison)) return is_whole(compared->kind) ? compared : std::nullopt;
  const bool has_identity = is_whole(compared->kind) || compared->kind == ValueKind::kSymbol ||
                            compared->kind == ValueKind::kRecord;
  return compared->comparison == Comparison::kNotEqual && has_identity ? compared : std::nullopt;
}

std::optional<SetComparison> bound_of_values(const Literal& literal, VariableId variable) {
  const auto compared = bound_of_numbers(literal, variable);
  return compared && is_whole(compared->kind) ? compared : std::nullopt;
}

std::optional<SetComparison> bound_of_numbers(const Literal& literal, VariableId variable) {
  const auto compared = sides_of(literal, variable);
  const bool bounds = compared && is_order(compared->comparison) &&
                      (is_whole(compared->kind) || compared->kind == ValueKind::kFloat) &&
                      is_sum_without(*compared->other, variable);
  return bounds ? compared : std::nullopt;
}

}  // namespace stratalog::datalog
