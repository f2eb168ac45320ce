// SPDX-License-Identifier: Apache-2.0
// What Soufflé makes of the body of an aggregate: which atoms count, whether `_` does, and what
// nested aggregates take from further out. Pure; local.
#pragma once

#include <vector>

#include "datalog/language/bound_rule.h"
#include "datalog/language/rule_expansion.h"

namespace stratalog::datalog::language {

// As Soufflé does first: an atom that was there already, letter by letter, is not another one.
void drop_repeated_atoms(Conjunction& body);

// Soufflé's rule: over a single plain atom an aggregate sees every tuple; otherwise what `_` stands
// for is projected away first.
bool counts_tuples(const Conjunction& body);

// What a nested aggregate takes from further out passes through this one, which has `inherited`.
void add_outer_of_nested(BoundAggregate& aggregate, std::vector<VariableId> inherited);

}  // namespace stratalog::datalog::language
