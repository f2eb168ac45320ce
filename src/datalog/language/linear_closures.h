// SPDX-License-Identifier: Apache-2.0
// Closures that join two of their own tuples, `p(x, z) :- p(x, y), p(y, z)`, perhaps with
// `p(x, y) :- p(y, x)`, become closures that join a tuple with a first one: all other rules fill a
// relation of first tuples, and `p(x, z) :- p(x, y), first(y, z)`. Both have the same tuples, as
// every path is a path and one more step (also one that is to end elsewhere than it begins, or
// whose inner nodes are tested), but only the latter carries a column unchanged, and finds a path
// as often as it has last steps and not as often as it has halves. Pure; local.
#pragma once

#include <vector>

#include "datalog/language/compile.h"
#include "datalog/language/declarations.h"
#include "datalog/language/plan_checks.h"
#include "datalog/language/stratify.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

// Rewrites closures that are a recursion of their own, of relations without input, `.plan` and
// whatever makes passes count. `rules` keep their places; new ones and their `dependencies` come
// last. Facts that a caller has for such a relation go to Relation::facts_into. True if there were
// any: then strata are others. Requires a program without errors.
bool linearise_closures(const std::vector<Stratum>& strata, const std::vector<PlannedRule>& planned,
                        OtherFacts other_facts, std::vector<Rule>& rules,
                        Declarations& declarations, std::vector<Dependency>& dependencies);

}  // namespace stratalog::datalog::language
