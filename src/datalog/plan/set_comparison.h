// SPDX-License-Identifier: Apache-2.0
// set_comparison, bound_of_values: which comparisons restrict a whole set of values at once: those
// of its elements with one other value, where cells tell. Pure.
#pragma once

#include <optional>

#include "datalog/program.h"

namespace stratalog::datalog {

// element `comparison` other
struct SetComparison {
  Comparison comparison = Comparison::kNotEqual;
  ValueKind kind = ValueKind::kNumber;
  const Expression* other = nullptr;  // part of the literal
};

// How the literal compares the values of `variable` with a constant or another variable; nothing
// where it does not, and where cells do not tell: the order of texts, and floats.
std::optional<SetComparison> set_comparison(const Literal& literal, VariableId variable);

// How it bounds their order: also by sums and differences of constants and other variables, which
// nothing can go wrong with. Of whole numbers only.
std::optional<SetComparison> bound_of_values(const Literal& literal, VariableId variable);

// The same of floats, too, whose order cells do not tell.
std::optional<SetComparison> bound_of_numbers(const Literal& literal, VariableId variable);

// a `comparison` b as b `turned(comparison)` a. Requires an order or (in)equality.
Comparison turned(Comparison comparison);

inline bool is_order(Comparison comparison) {
  return comparison == Comparison::kLess || comparison == Comparison::kLessEqual ||
         comparison == Comparison::kGreater || comparison == Comparison::kGreaterEqual;
}

}  // namespace stratalog::datalog
