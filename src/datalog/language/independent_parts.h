// SPDX-License-Identifier: Apache-2.0
// Parts of a body that share no variable with the head or the rest only ask whether there is a
// match at all: `a(x) :- b(x), c(y), d(y).` Each such part of several literals becomes the rule of
// a relation without columns, which is evaluated once instead of once for each match of the rest.
// Local.
#pragma once

#include <vector>

#include "datalog/language/bound_rule.h"
#include "datalog/language/declarations.h"

namespace stratalog::datalog::language {

// Takes the parts out of `rule`, declares their relations and returns their rules. Names of such
// relations end in `#` and a number, which no program can write.
std::vector<BoundRule> split_off_independent_parts(BoundRule& rule, Declarations& declarations);

}  // namespace stratalog::datalog::language
