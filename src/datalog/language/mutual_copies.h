// SPDX-License-Identifier: Apache-2.0
// Relations that copy each other, as properties and their inverses do in ontologies:
// `member(y, x) :- memberOf(x, y)` and `memberOf(x, y) :- member(y, x)`, or
// `near(x, y) :- near(y, x)`. What comes back from a copy was there before, so that the rule that
// brings it back takes only what the copy has from elsewhere, or goes. What was a recursion for
// this alone is none then, and one for other reasons has fewer rules. Pure; local.
#pragma once

#include <set>
#include <vector>

#include "datalog/language/compile.h"
#include "datalog/language/declarations.h"
#include "datalog/language/plan_checks.h"
#include "datalog/language/stratify.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

// Rewrites recursions of relations that hold what their rules say, whenever they say it, and none
// of which is `bound` to follow another one pass by pass. The other rules stay in their order; of
// `planned` the places move along. New rules and `dependencies` come last, and those that hold no
// more go. Facts that a caller has for a copy go to Relation::facts_into. True if there were any:
// then strata are others. Requires a program without errors and its strata.
bool break_mutual_copies(const std::vector<Stratum>& strata, const std::set<RelationId>& bound,
                         OtherFacts other_facts, std::vector<PlannedRule>& planned,
                         std::vector<Rule>& rules, Declarations& declarations,
                         std::vector<Dependency>& dependencies);

}  // namespace stratalog::datalog::language
