// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/set_comparison.h"

namespace stratalog::datalog {

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
  if (literal.kind != LiteralKind::kComparison) return {};
  const auto is_it = [&](const Expression& e) {
    return e.kind == ExpressionKind::kVariable && e.variable == variable;
  };
  const bool is_left = is_it(literal.left);
  if (is_left == is_it(literal.right)) return {};
  const Expression& other = is_left ? literal.right : literal.left;
  const ValueKind kind = (is_left ? literal.left : literal.right).value_kind;
  if (other.kind == ExpressionKind::kFunctor || other.value_kind != kind) return {};
  const bool is_number = kind == ValueKind::kNumber || kind == ValueKind::kUnsigned;
  const bool has_identity = is_number || kind == ValueKind::kSymbol || kind == ValueKind::kRecord;
  const bool fits = is_order(literal.comparison)
                        ? is_number
                        : literal.comparison == Comparison::kNotEqual && has_identity;
  if (!fits) return {};
  return SetComparison{.comparison = is_left ? literal.comparison : turned(literal.comparison),
                       .kind = kind,
                       .other = &other};
}

}  // namespace stratalog::datalog
