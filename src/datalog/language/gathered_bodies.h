// SPDX-License-Identifier: Apache-2.0
// Aggregates whose bodies join what the rule around them does not, as in
// `c(x, y, n) :- a(x), a(y), n = count : { e(x, z), e(y, z) }.`: each pair would make the join
// anew, most of them in vain. The body becomes the rule of a relation of its own, restricted by
// what the rule says of its outer variables, `body(x, y, z) :- a(x), a(y), e(x, z), e(y, z)`, which
// is joined once in whatever order is best, and the aggregate reads that. The same is done where
// the rule says what the body says (body_copy.h): there the relation may take the place of the
// rule's own atoms as well. Pure; local.
#pragma once

#include <vector>

#include "datalog/language/declarations.h"
#include "datalog/language/plan_checks.h"
#include "datalog/language/stratify.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

// Rewrites aggregates of `rules`, which keep their places; new rules and their `dependencies` come
// last. Rules that are `planned` keep their atoms. True if there were any: then strata are others.
// Names of the relations end in `#` and a number, which no program can write. Requires a program
// without errors and its strata.
bool gather_aggregate_bodies(const std::vector<Stratum>& strata,
                             const std::vector<PlannedRule>& planned, std::vector<Rule>& rules,
                             Declarations& declarations, std::vector<Dependency>& dependencies);

}  // namespace stratalog::datalog::language
