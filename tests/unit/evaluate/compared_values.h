// SPDX-License-Identifier: Apache-2.0
// compares: what an order, or equality, says of two values. For tests that hold what is found
// against a look at each value. Pure.
#pragma once

#include "datalog/program.h"

namespace stratalog::datalog {

template <typename Value>
bool compares(Comparison comparison, Value a, Value b) {
  switch (comparison) {
    case Comparison::kLess:
      return a < b;
    case Comparison::kLessEqual:
      return a <= b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kGreaterEqual:
      return a >= b;
    default:
      return a == b;
  }
}

}  // namespace stratalog::datalog
