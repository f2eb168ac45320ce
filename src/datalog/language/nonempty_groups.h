// SPDX-License-Identifier: Apache-2.0
// Aggregates of which the rule wants results of something only, as in
// `c(x, y, n) :- a(x), a(y), n = count : { e(x, y, _) }, n > 0.`: whatever a group needs to hold
// anything may be joined before groups are asked, `e(x, y, _)`, and where the rule alone would ask
// all pairs, few are left. Pure; local.
#pragma once

#include <vector>

#include "datalog/language/body_copy.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

// Whether the rule derives nothing for an empty group: there is no least value of it, or its count
// or sum, 0, is not what the rule compares it with.
bool wants_nonempty_groups(const Rule& rule, const Literal& aggregate);

// Atoms of the body, with `_` for what the aggregate keeps to itself, which tie variables of the
// rule that nothing else in it ties.
std::vector<Literal> group_atoms(const Rule& rule, const Literal& aggregate,
                                 const IsFinished& is_finished);

}  // namespace stratalog::datalog::language
