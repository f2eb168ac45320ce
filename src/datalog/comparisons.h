// SPDX-License-Identifier: Apache-2.0
// What comparisons are to each other. Pure; local.
#pragma once

#include "datalog/program.h"

namespace stratalog::datalog {

// a `comparison` b as b `turned(comparison)` a. Requires an order or (in)equality.
constexpr Comparison turned(Comparison comparison) {
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

constexpr bool is_order(Comparison comparison) {
  return comparison == Comparison::kLess || comparison == Comparison::kLessEqual ||
         comparison == Comparison::kGreater || comparison == Comparison::kGreaterEqual;
}

}  // namespace stratalog::datalog
