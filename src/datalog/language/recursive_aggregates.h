// SPDX-License-Identifier: Apache-2.0
// Aggregates in recursion that only grow (`count`, `sum`, `max`) or only fall (`min`), in rules
// that take no notice of the values on their way: `t > e` for a sum, or the value of a relation
// over a lattice that keeps the greatest. Soufflé refuses them. A rule
//   h(x, t) :- b(x), t = sum s : { c(x, y, s) }.
// becomes
//   terms(x, y, s) :- c(x, y, s).   h(x, t) :- b(x), total(x, t).   h(x, t) :- b(x), t = 0.
// where the engine fills `total` with the sums of the last column of `terms` (Relation::sums), of
// which it keeps the greatest of each key; `terms` does so as well where the values come from a
// lattice. `min` and `max` are values of a relation that keeps the best. All else stays as it is,
// and is refused where strata are made. Works on syntax, before lattices are written out. Local.
#pragma once

#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

// The rules stay, to be checked; those instead of them, and their relations, are added.
void expand_recursive_aggregates(ProgramSyntax& program);

}  // namespace stratalog::datalog::language
