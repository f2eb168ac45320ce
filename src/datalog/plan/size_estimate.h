// SPDX-License-Identifier: Apache-2.0
// Guesses how large the relations are that rules fill, from the relations of facts whose sizes are
// known: the values of a derived column come from the columns that its variable stands in. Join
// orders need no more than the right order of magnitude. Pure; the same on every rank.
#pragma once

#include <cstdint>
#include <vector>

#include "datalog/plan/program_plan.h"

namespace stratalog::datalog {

// Rows assumed of a relation that rules fill, and distinct values of a column of which nothing is
// known.
inline constexpr std::uint64_t kUnknownRows = 1'000'000;
inline constexpr std::uint64_t kUnknownDistinct = 10'000;

// `known` may be shorter than the program's relations. Relations that are known stay as they are;
// the others get `distinct` and `rows`, and stay marked as unknown.
std::vector<RelationStatistics> estimate_sizes(const Program& program,
                                               std::vector<RelationStatistics> known);

// The same of the relations of one stratum, from all that its rules read beside them.
void estimate_members(const Program& program, const Stratum& stratum,
                      std::vector<RelationStatistics>& sizes);

}  // namespace stratalog::datalog
