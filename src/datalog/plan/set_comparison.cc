// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/set_comparison.h"

#include <algorithm>
#include <utility>

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

bool is_constant_above_zero(const Expression& e) {
  return e.kind == ExpressionKind::kConstant && e.bits != 0 &&
         (e.value_kind == ValueKind::kUnsigned || e.bits >> 63 == 0);
}

// What nothing can go wrong with.
bool is_known_without(const Expression& e, VariableId variable) {
  if (e.kind == ExpressionKind::kConstant) return true;
  if (e.kind == ExpressionKind::kVariable) return e.variable != variable;
  if (e.kind != ExpressionKind::kFunctor) return false;
  const bool is_taken = e.functor == Functor::kAdd || e.functor == Functor::kSubtract ||
                        e.functor == Functor::kNegate || e.functor == Functor::kMultiply ||
                        ((e.functor == Functor::kDivide || e.functor == Functor::kModulo) &&
                         is_constant_above_zero(e.arguments[1]));
  return is_taken && std::ranges::all_of(e.arguments, [&](const Expression& a) {
           return is_known_without(a, variable);
         });
}

// What is done to the variable, of which the rest is known, to make `e` of it.
bool find_steps(const Expression& e, VariableId variable, ValueKind kind,
                std::vector<ElementStep>& steps) {
  if (e.value_kind != kind) return false;
  if (e.kind == ExpressionKind::kVariable) return e.variable == variable;
  if (e.kind != ExpressionKind::kFunctor || e.arguments.empty()) return false;
  const auto append = [&](const Expression& inner, ElementStep::Kind step, const Expression* by) {
    if ((by != nullptr && !is_known_without(*by, variable)) ||
        !find_steps(inner, variable, kind, steps))
      return false;
    steps.push_back({.kind = step, .by = by});
    return true;
  };
  const Expression& first = e.arguments.front();
  if (e.functor == Functor::kNegate)
    return append(first, ElementStep::Kind::kSubtractFrom, nullptr);
  if (e.arguments.size() != 2) return false;
  const Expression& second = e.arguments.back();
  switch (e.functor) {
    case Functor::kAdd:
      return append(first, ElementStep::Kind::kAdd, &second) ||
             append(second, ElementStep::Kind::kAdd, &first);
    case Functor::kSubtract:
      return append(first, ElementStep::Kind::kSubtract, &second) ||
             append(second, ElementStep::Kind::kSubtractFrom, &first);
    case Functor::kDivide:
      return is_constant_above_zero(second) && append(first, ElementStep::Kind::kDivide, &second);
    default:
      return false;
  }
}

}  // namespace

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
  if (literal.kind != LiteralKind::kComparison) return {};
  // `side` is made of the variable.
  const auto bound = [&](const Expression& side, const Expression& other,
                         Comparison comparison) -> std::optional<SetComparison> {
    SetComparison found{.comparison = comparison, .kind = side.value_kind, .other = &other};
    if (other.value_kind != found.kind || !is_known_without(other, variable) ||
        !find_steps(side, variable, found.kind, found.steps))
      return {};
    const bool is_as_it_is = found.steps.empty();
    const bool bounds = is_order(comparison) || (comparison == Comparison::kEqual && !is_as_it_is);
    const bool has_order = is_whole(found.kind) || (found.kind == ValueKind::kFloat && is_as_it_is);
    return bounds && has_order ? std::optional(std::move(found)) : std::nullopt;
  };
  if (auto left = bound(literal.left, literal.right, literal.comparison)) return left;
  return bound(literal.right, literal.left, turned(literal.comparison));
}

}  // namespace stratalog::datalog
