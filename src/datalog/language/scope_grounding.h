// SPDX-License-Identifier: Apache-2.0
// Which names of a conjunction are grounded, judged on the syntax, before variables have numbers:
// needed to tell an aggregate's own variables from those it takes from outside. Pure. Local.
#pragma once

#include <set>
#include <string>

#include "datalog/language/rule_expansion.h"

namespace stratalog::datalog::language {

using NameSet = std::set<std::string>;

// `known` are grounded from the start. The result of every aggregate counts as grounded, except
// that of `aggregate`; the goal `goal` is left out. Either may be null.
NameSet grounded_names(const Conjunction& conjunction, const NameSet& known,
                       const AggregateSyntax* aggregate, const Goal* goal);

// Adds the variable names of `term`, without those inside aggregates.
void collect_names(const Term& term, NameSet& names);

// The same for all goals.
void collect_names(const Conjunction& conjunction, NameSet& names);

// Whether an aggregate or a range stands somewhere in the formula.
bool has_generator(const Formula& formula);

// Whether some variable occurs twice among the arguments, expressions included.
bool repeats_a_name(const AtomSyntax& atom);

// Adds all variable names of `formula`, with those inside aggregates.
void collect_all_names(const Formula& formula, NameSet& names);

}  // namespace stratalog::datalog::language
