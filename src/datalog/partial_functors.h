// SPDX-License-Identifier: Apache-2.0
// Functors that are not defined for all arguments: of some they are an error, which ends the run.
// What computes them waits for whatever may leave no such arguments. Pure; local.
#pragma once

#include <algorithm>

#include "datalog/program.h"

namespace stratalog::datalog {

// Divisions (of integers, by zero), and conversions (of texts that are no numbers), which have one
// argument.
constexpr bool is_partial(Functor functor) {
  switch (functor) {
    case Functor::kDivide:
    case Functor::kModulo:
    case Functor::kToNumber:
    case Functor::kToUnsigned:
    case Functor::kToFloat:
      return true;
    default:
      return false;
  }
}

inline bool is_integer(const Expression& e) {
  return e.value_kind == ValueKind::kNumber || e.value_kind == ValueKind::kUnsigned;
}

// Whether there may be arguments of which the functor itself is an error.
inline bool may_fail(const Expression& e) {
  if (e.kind != ExpressionKind::kFunctor || !is_partial(e.functor)) return false;
  if (e.arguments.size() == 1) return e.arguments[0].value_kind == ValueKind::kSymbol;
  const Expression& divisor = e.arguments[1];
  return is_integer(e) && (divisor.kind != ExpressionKind::kConstant || divisor.bits == 0);
}

// Whether it has a value whatever its variables are, and may be asked as often as one likes.
inline bool cannot_fail(const Expression& e) {
  return !may_fail(e) && (e.kind != ExpressionKind::kFunctor || e.functor != Functor::kExternal) &&
         std::all_of(e.arguments.begin(), e.arguments.end(),
                     [](const Expression& argument) { return cannot_fail(argument); });
}

}  // namespace stratalog::datalog
