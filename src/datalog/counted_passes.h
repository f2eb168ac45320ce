// SPDX-License-Identifier: Apache-2.0
// Whether something depends on the pass over the recursive rules in which it is evaluated
// (`recursive_iteration_cnt()`): then it matters when tuples come, not only which. Pure; local.
#pragma once

#include <algorithm>

#include "datalog/program.h"

namespace stratalog::datalog {

inline bool counts_passes(const Expression& e) {
  return (e.kind == ExpressionKind::kFunctor && e.functor == Functor::kIteration) ||
         std::any_of(e.arguments.begin(), e.arguments.end(),
                     [](const Expression& argument) { return counts_passes(argument); });
}

inline bool counts_passes(const Literal& literal) {
  if (literal.kind == LiteralKind::kComparison)
    return counts_passes(literal.left) || counts_passes(literal.right);
  if (literal.kind == LiteralKind::kRange)
    return counts_passes(literal.range->from) || counts_passes(literal.range->to) ||
           counts_passes(literal.range->step);
  if (literal.kind != LiteralKind::kAggregate) return false;
  return counts_passes(literal.aggregate->target) ||
         std::any_of(literal.aggregate->body.begin(), literal.aggregate->body.end(),
                     [](const Literal& inner) { return counts_passes(inner); });
}

inline bool counts_passes(const Rule& rule) {
  return std::any_of(rule.head_arguments.begin(), rule.head_arguments.end(),
                     [](const Expression& e) { return counts_passes(e); }) ||
         std::any_of(rule.body.begin(), rule.body.end(),
                     [](const Literal& literal) { return counts_passes(literal); });
}

}  // namespace stratalog::datalog
