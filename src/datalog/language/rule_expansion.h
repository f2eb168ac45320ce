// SPDX-License-Identifier: Apache-2.0
// Disjunction and negation are written out: a body becomes the list of its conjunctions
// (disjunctive normal form), each a list of goals. Goals point into the syntax, nothing is copied.
// Bounded in size. Local.
#pragma once

#include <vector>

#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

enum class GoalKind : std::uint8_t { kAtom, kNegatedAtom, kComparison, kFalse };

struct Goal {
  GoalKind kind = GoalKind::kAtom;
  const Formula* formula = nullptr;
  Comparison comparison = Comparison::kEqual;  // after negation
};

using Conjunction = std::vector<Goal>;

inline constexpr std::size_t kMaxConjunctions = 4096;  // out of one rule
inline constexpr std::size_t kMaxGoals = 1024;  // in one conjunction

// `true` leaves no goal behind. Returns false after reporting a body that grows past the bounds.
bool expand_body(const Formula& body, DiagnosticSink& sink, std::vector<Conjunction>& result);

Comparison negated(Comparison comparison);

}  // namespace stratalog::datalog::language
