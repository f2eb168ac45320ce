// SPDX-License-Identifier: Apache-2.0
// set_comparison, bound_of_values: which comparisons restrict a whole set of values at once: those
// of its elements with one other value, where cells tell. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datalog/comparisons.h"
#include "datalog/program.h"

namespace stratalog::datalog {

// What an element goes through before it is compared.
struct ElementStep {
  enum class Kind : std::uint8_t {
    kAdd,  // element + by
    kSubtract,  // element - by
    kSubtractFrom,  // by - element
    kDivide,  // element / by, a constant above zero
  };
  Kind kind = Kind::kAdd;
  const Expression* by = nullptr;  // part of the literal; null: 0
};

// element `comparison` other
struct SetComparison {
  Comparison comparison = Comparison::kNotEqual;
  ValueKind kind = ValueKind::kNumber;
  const Expression* other = nullptr;  // part of the literal
  std::vector<ElementStep> steps = {};  // of the element before, the first one first
};

// How the literal compares the values of `variable` with a constant or another variable; nothing
// where it does not, and where cells do not tell: the order of texts, and floats.
std::optional<SetComparison> set_comparison(const Literal& literal, VariableId variable);

// How it bounds their order: also by what is computed from constants and other variables, where
// nothing can go wrong, and where the element is part of a sum or a difference, or divided by a
// constant, which may be equal to something as well (`x / 50 = y / 50`). Of whole numbers only.
std::optional<SetComparison> bound_of_values(const Literal& literal, VariableId variable);

// The same of floats, too, whose order cells do not tell, and which are bounded as they are only.
std::optional<SetComparison> bound_of_numbers(const Literal& literal, VariableId variable);

}  // namespace stratalog::datalog
