// SPDX-License-Identifier: Apache-2.0
// set_comparison: which comparisons restrict a whole set of values at once: those of its elements
// with one other value, where cells tell. Pure.
#pragma once

#include <optional>

#include "datalog/program.h"

namespace stratalog::datalog {

// element `comparison` other
struct SetComparison {
  Comparison comparison = Comparison::kNotEqual;
  ValueKind kind = ValueKind::kNumber;
  const Expression* other = nullptr;  // a constant or another variable; part of the literal
};

// How the literal compares the values of `variable`; nothing where it does not, where the other
// side has to be computed or holds the variable itself, and where cells do not tell: the order of
// texts, and floats.
std::optional<SetComparison> set_comparison(const Literal& literal, VariableId variable);

// a `comparison` b as b `turned(comparison)` a. Requires an order or (in)equality.
Comparison turned(Comparison comparison);

inline bool is_order(Comparison comparison) {
  return comparison == Comparison::kLess || comparison == Comparison::kLessEqual ||
         comparison == Comparison::kGreater || comparison == Comparison::kGreaterEqual;
}

}  // namespace stratalog::datalog
