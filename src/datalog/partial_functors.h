// SPDX-License-Identifier: Apache-2.0
// Functors that are not defined for all arguments: of some they are an error, which ends the run.
// What computes them waits for whatever may leave no such arguments. Pure; local.
#pragma once

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

}  // namespace stratalog::datalog
